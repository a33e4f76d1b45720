package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"allotment/landscape/internal/landscape"
)

const upUsage = `Brings a landscape up and prints one line of JSON on stdout when everything answers. It runs until SIGTERM, SIGINT, SIGHUP or the
end of the process that started it, then stops all servers and removes what it wrote.

Usage:
  landscape up [--dir DIR] [--shoots N] [--person] [--watch-stdin] [--keep] [--outlive-parent]

Examples:
  landscape up --person
  landscape up --dir /tmp/garden --shoots 2
  sleep infinity | landscape up --dir /tmp/garden --watch-stdin     # ends with the sleep

Flags:
`

// The parent is asked for this often. A landscape whose parent is gone has nobody left who waits for it to end.
const parentPause = 250 * time.Millisecond

// up runs `landscape up` and returns its exit code: 0 after a stop that was asked for, 1 after a failure, 2 for wrong flags.
func up(arguments []string) int {
	options := landscape.Options{Talk: os.Stderr, Ready: printLine}
	flags := flag.NewFlagSet("landscape up", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), upUsage)
		flags.PrintDefaults()
	}
	flags.StringVar(&options.Dir, "dir", "", "directory for keys, data and logs; must be empty or not exist (default a new temporary one)")
	flags.IntVar(&options.Shoots, "shoots", 1, "number of shoot API servers")
	flags.BoolVar(&options.Keep, "keep", false, "leave the directory behind, to look at the logs")
	person := flags.Bool("person", false, "say on stderr what to try, instead of printing JSON")
	watchStdin := flags.Bool("watch-stdin", false, "stop when stdin ends; for test harnesses, which hold the other end of a pipe")
	outlive := flags.Bool("outlive-parent", false, "keep running after the process that started it has ended")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || options.Shoots < 0 {
		fmt.Fprintln(os.Stderr, "landscape: up takes flags only, and --shoots is not negative; see landscape up --help")
		return 2
	}
	if *person {
		options.Ready = tellPerson
		fmt.Fprintln(os.Stderr, "landscape: starting, this takes some seconds")
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer cancel()
	if *watchStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	if !*outlive {
		go awaitParentsEnd(os.Getppid(), cancel)
	}
	if err := landscape.Run(stop, options); err != nil {
		fmt.Fprintf(os.Stderr, "landscape: %v\n", err)
		return 1
	}
	return 0
}

// awaitParentsEnd notices the end of the parent *process*. PR_SET_PDEATHSIG would notice the end of the thread that started this
// one, which in a program with a thread pool comes at any moment.
func awaitParentsEnd(parent int, then func()) {
	for os.Getppid() == parent {
		time.Sleep(parentPause)
	}
	then()
}

func printLine(report landscape.Report) error {
	line, err := report.Line()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(line)
	return err
}

func tellPerson(report landscape.Report) error {
	fmt.Fprintf(os.Stderr, `
Ready after %.1f s. In another terminal:

  alias kubectl=%s
  export KUBECONFIG=%s

  kubectl get cloudprofiles
  kubectl -n %s get credentialsbindings --show-labels
  kubectl -n %s get shoots

A Shoot that this garden accepts:

  kubectl create -f - <<'END'
%sEND

The control plane, where operators and their resources live:

  kubectl --kubeconfig %s get namespaces

`, report.ReadySeconds, report.Kubectl, report.Garden.Kubeconfig, report.Namespace, report.Namespace, landscape.SmallShoot,
		report.ControlPlane.Kubeconfig)
	for _, shoot := range report.Shoots {
		fmt.Fprintf(os.Stderr, "  kubectl --kubeconfig %s get namespaces    # %s\n", shoot.Kubeconfig, shoot.Name)
	}
	fmt.Fprintf(os.Stderr, "\nLogs are in %s/logs. Ctrl-C stops everything and removes it.\n", report.Dir)
	return nil
}
