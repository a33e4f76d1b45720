// Command landscape runs real API servers on loopback for tests and for people who want to try Allotment: a garden, a control
// plane and shoots. See README.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"allotment/landscape/internal/components"
	"allotment/landscape/internal/process"
)

const usage = `A garden, a control plane and shoots on this machine, for tests and for trying things out.

Usage:
  landscape up [flags]            bring everything up, and take it down on Ctrl-C (landscape up --help)
  landscape kubectl ...           the kubectl that fits; also answers to the name kubectl, as a link
  landscape etcd|kube-apiserver|kube-controller-manager|gardener-apiserver ...
                                  one server by itself, with its own flags

Example:
  landscape up --dir /tmp/garden --shoots 2 --person
`

func main() {
	// Called as `kubectl`, through the link in the landscape's directory.
	if run, known := components.All[filepath.Base(os.Args[0])]; known {
		run()
		return
	}
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	if run, known := components.All[command]; known {
		process.HoldLifeline()
		os.Args = os.Args[1:] // a component reads its flags from here, as if it had been called by its own name
		run()
		return
	}
	switch command {
	case "up":
		os.Exit(up(os.Args[2:]))
	case "help", "-h", "--help":
		fmt.Print(usage)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}
