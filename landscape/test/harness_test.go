// Package test runs the landscape binary as its users do: as a process, through its JSON line.
package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"allotment/landscape/internal/landscape"
)

// binary is LANDSCAPE_BIN, or what the build script makes of the source beside this test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if binary = os.Getenv("LANDSCAPE_BIN"); binary == "" {
		dir, err := os.MkdirTemp("", "landscape-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "landscape")
		if output, err := exec.Command("../build", binary).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", output, err)
			return 1
		}
	}
	return m.Run()
}

// running is a landscape under test.
type running struct {
	landscape.Report
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  *bytes.Buffer
	exit    chan struct{} // closed when it has ended
	pids    []int         // of everything that has the directory on its command line
}

// start brings a landscape up in a directory that does not exist yet and waits for its line.
func start(t *testing.T, flags ...string) *running {
	t.Helper()
	r := spawn(t, flags...)
	r.awaitReady(t)
	return r
}

func spawn(t *testing.T, flags ...string) *running {
	t.Helper()
	r := &running{stderr: &bytes.Buffer{}, exit: make(chan struct{})}
	r.Dir = filepath.Join(t.TempDir(), "landscape")
	r.command = exec.Command(binary, append([]string{"up", "--dir", r.Dir, "--watch-stdin"}, flags...)...)
	r.command.Stderr = r.stderr
	var err error
	if r.stdin, err = r.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if r.stdout, err = r.command.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.stdin.Close()
		r.awaitExit(t, stopWithin) // or the directory would be removed from two sides
	})
	return r
}

func (r *running) awaitReady(t *testing.T) {
	t.Helper()
	dir := r.Dir
	line, err := bufio.NewReader(r.stdout).ReadBytes('\n')
	// Only now: Wait closes the pipe that the line comes through.
	go func() {
		_ = r.command.Wait()
		close(r.exit)
	}()
	if err != nil {
		r.awaitExit(t, stopWithin)
		t.Fatalf("no line on stdout: %v\n%s", err, r.stderr)
	}
	if err := json.Unmarshal(line, &r.Report); err != nil {
		t.Fatalf("line is not JSON: %v: %s", err, line)
	}
	if r.Dir != dir || r.PID != r.command.Process.Pid {
		t.Errorf("line is about directory %s and process %d, not %s and %d", r.Dir, r.PID, dir, r.command.Process.Pid)
	}
	r.pids = processesWith(t, dir)
}

// awaitExit returns the exit code.
func (r *running) awaitExit(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-r.exit:
		return r.command.ProcessState.ExitCode()
	case <-time.After(within):
		t.Fatalf("still running after %v", within)
		return -1
	}
}

// awaitNothingLeft checks that no process and no listener of the landscape is there any more.
func (r *running) awaitNothingLeft(t *testing.T, within time.Duration) {
	t.Helper()
	await(t, within, "no process is left", func() bool { return len(processesWith(t, r.Dir)) == 0 })
	for _, address := range r.addresses(t) {
		// A process that is ending loses its command line a moment before its sockets.
		await(t, within, address+" is free", func() bool {
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return false
			}
			return listener.Close() == nil
		})
	}
}

func (r *running) addresses(t *testing.T) []string {
	t.Helper()
	urls := []string{r.Garden.URL, r.ControlPlane.URL}
	for _, shoot := range r.Shoots {
		urls = append(urls, shoot.URL)
	}
	var addresses []string
	for _, raw := range urls {
		parsed, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, parsed.Host)
	}
	return addresses
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is left behind", path)
	}
}

// processesWith finds processes by the directory on their command line, zombies excepted: those have none.
func processesWith(t *testing.T, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), dir) {
			found = append(found, pid)
		}
	}
	return found
}
