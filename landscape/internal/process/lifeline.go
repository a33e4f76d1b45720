package process

import (
	"io"
	"os"
	"syscall"
)

// Where a server finds the pipe from the landscape that started it: the first descriptor after stdin, stdout and stderr.
const lifelineFD = 3

// Tells a server that descriptor 3 is a lifeline, because a person may start `landscape etcd` with some other file open there.
const lifelineVariable = "LANDSCAPE_LIFELINE"

// HoldLifeline ends this process as soon as the landscape that started it is gone, however that came about.
//
// The landscape holds the only write end of a pipe and never writes. The kernel closes it when the landscape ends, even by
// SIGKILL, and the read below returns. PR_SET_PDEATHSIG would not do: it fires when the *thread* that started the child ends, and
// Go ends threads as it likes.
//
// It does nothing in a process that was not started by a landscape.
func HoldLifeline() {
	if os.Getenv(lifelineVariable) == "" {
		return
	}
	_ = os.Unsetenv(lifelineVariable)
	syscall.CloseOnExec(lifelineFD)
	pipe := os.NewFile(lifelineFD, "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		os.Exit(1)
	}()
}
