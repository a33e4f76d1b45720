// Package process runs the servers of a landscape: it starts them, notices when one ends, and leaves none behind.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Group is the set of servers of one landscape. All of them are this same binary under different subcommands.
type Group struct {
	executable string
	logDir     string
	lifeline   *os.File // read end, inherited by every server
	hold       *os.File // write end, held by this process alone
	died       chan *Process

	mutex     sync.Mutex
	processes []*Process
	stopping  bool
}

// Process is one running server.
type Process struct {
	Name      string
	LogPath   string
	component string
	command   *exec.Cmd
	ended     chan struct{}
	err       error // valid once ended is closed
}

// NewGroup prepares to run servers whose output goes to files in logDir.
func NewGroup(logDir string) (*Group, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the landscape binary: %w", err)
	}
	lifeline, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &Group{executable: executable, logDir: logDir, lifeline: lifeline, hold: hold, died: make(chan *Process, 1)}, nil
}

// Executable is the binary that every server is started from.
func (g *Group) Executable() string {
	return g.executable
}

// Died delivers the first server that ended without being asked to.
func (g *Group) Died() <-chan *Process {
	return g.died
}

// Start runs `landscape <component> <flags>` as a server called name.
func (g *Group) Start(name, component string, flags ...string) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.stopping {
		return fmt.Errorf("start %s: the landscape is stopping", name)
	}
	logPath := filepath.Join(g.logDir, name+".log")
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	command := exec.Command(g.executable, append([]string{component}, flags...)...)
	command.Stdout = logFile
	command.Stderr = logFile
	command.Env = append(environment(), lifelineVariable+"=1")
	command.ExtraFiles = []*os.File{g.lifeline}
	// A process group of its own: Ctrl-C in a terminal goes to the whole foreground group, and would end the servers in any order
	// before the landscape can end them in the right one.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	process := &Process{Name: name, LogPath: logPath, component: component, command: command, ended: make(chan struct{})}
	g.processes = append(g.processes, process)
	go g.await(process)
	return nil
}

// Stop ends all servers, one component after the other in the order given: politely first and, after the grace period, by
// force. Servers of a component that is not named are ended by force at the end. It returns when all are gone.
func (g *Group) Stop(grace time.Duration, components ...string) {
	g.mutex.Lock()
	g.stopping = true
	left := g.processes
	g.mutex.Unlock()
	for _, component := range components {
		var some []*Process
		for _, process := range left {
			if process.component == component {
				some = append(some, process)
			}
		}
		end(grace, some)
	}
	end(0, left)
	_ = g.hold.Close()
	_ = g.lifeline.Close()
}

// Processes are all servers that were started, in that order.
func (g *Group) Processes() []*Process {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return slices.Clone(g.processes)
}

// Err says how the server ended.
func (p *Process) Err() error {
	<-p.ended
	if p.err == nil {
		return fmt.Errorf("%s ended by itself", p.Name)
	}
	return fmt.Errorf("%s ended: %w", p.Name, p.err)
}

func (p *Process) signal(signal syscall.Signal) {
	select {
	case <-p.ended:
	default:
		// An error means that it ended in between, which is what is wanted.
		_ = p.command.Process.Signal(signal)
	}
}

func (g *Group) await(process *Process) {
	process.err = process.command.Wait()
	close(process.ended)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.stopping {
		return
	}
	select {
	case g.died <- process:
	default: // an earlier death is being dealt with already
	}
}

// environment is ours without the variables that etcd reads in place of flags: it refuses to start when it gets both.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "ETCD_") })
}

func end(grace time.Duration, processes []*Process) {
	for _, process := range processes {
		process.signal(syscall.SIGTERM)
	}
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	for _, process := range processes {
		select {
		case <-process.ended:
		case <-timeout.C:
			// The timer fires once: from here on nobody gets any more time.
			for _, late := range processes {
				late.signal(syscall.SIGKILL)
			}
			<-process.ended
		}
	}
}
