package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stop has four grace periods of five seconds at the very worst.
const stopWithin = 30 * time.Second

// etcd, three API servers with a controller manager each, gardener-apiserver, and `up` itself.
const processesOfOneShoot = 1 + 3*2 + 1 + 1

func TestStartAndStopLeavesNothingBehind(t *testing.T) {
	rounds := 2
	if wanted := os.Getenv("LANDSCAPE_ROUNDS"); wanted != "" {
		var err error
		if rounds, err = strconv.Atoi(wanted); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		began := time.Now()
		r := start(t)
		ready := time.Since(began)
		if len(r.pids) != processesOfOneShoot {
			t.Errorf("%d processes have the directory on their command line, want %d", len(r.pids), processesOfOneShoot)
		}
		memory := residentMegabytes(t, r.pids)
		began = time.Now()
		if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := r.awaitExit(t, stopWithin); code != 0 {
			t.Errorf("exit code %d\n%s", code, r.stderr)
		}
		t.Logf("round %d: ready after %.2f s, stopped after %.2f s, %d MB resident", round+1, ready.Seconds(), time.Since(began).Seconds(), memory)
		r.awaitNothingLeft(t, 0)
		gone(t, r.Dir)
		if t.Failed() {
			return
		}
	}
}

func TestKilledLandscapeTakesItsServersAlong(t *testing.T) {
	r := start(t)
	if err := r.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.awaitNothingLeft(t, 10*time.Second)
	t.Logf("all gone after %.2f s", time.Since(began).Seconds())
}

func TestEndOfStdinStops(t *testing.T) {
	r := start(t, "--shoots", "0")
	if len(r.Shoots) != 0 {
		t.Errorf("shoots that nobody asked for: %v", r.Shoots)
	}
	if err := r.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := r.awaitExit(t, stopWithin); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}
	r.awaitNothingLeft(t, 0)
	gone(t, r.Dir)
}

func TestDeathOfParentStops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "landscape")
	// The shell is the parent; it does not become the landscape, because it has something left to do.
	shell := exec.Command("sh", "-c", `"$0" up --dir "$1" --shoots 0; true`, binary, dir)
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, 60*time.Second, "landscape is ready", func() bool {
		_, err := os.Stat(filepath.Join(dir, "landscape.json"))
		return err == nil
	})
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = shell.Wait()
	await(t, stopWithin, "everything is gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(processesWith(t, dir)) == 0
	})
}

func TestStopWhileStarting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "landscape")
	command := exec.Command(binary, "up", "--dir", dir)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, 30*time.Second, "the first API server has started", func() bool {
		_, err := os.Stat(filepath.Join(dir, "logs", "garden-apiserver.log"))
		return err == nil
	})
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("a stop that was asked for is no failure: %v", err)
	}
	if left := processesWith(t, dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	gone(t, dir)
}

func TestDeathOfAServerIsReported(t *testing.T) {
	r := start(t)
	var victim int
	for _, pid := range r.pids {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if strings.Contains(string(line), "\x00gardener-apiserver\x00") {
			victim = pid
		}
	}
	if victim == 0 {
		t.Fatal("no gardener-apiserver found")
	}
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := r.awaitExit(t, stopWithin); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, wanted := range []string{"gardener-apiserver ended: signal: killed", "last lines of gardener-apiserver"} {
		if !strings.Contains(r.stderr.String(), wanted) {
			t.Errorf("stderr does not say %q:\n%s", wanted, r.stderr)
		}
	}
	r.awaitNothingLeft(t, 0)
	gone(t, r.Dir)
}

func TestTwoLandscapesAtOnce(t *testing.T) {
	one, two := spawn(t, "--shoots", "0"), spawn(t, "--shoots", "0")
	one.awaitReady(t)
	two.awaitReady(t)
	for _, r := range []*running{one, two} {
		if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*running{one, two} {
		if code := r.awaitExit(t, stopWithin); code != 0 {
			t.Errorf("exit code %d\n%s", code, r.stderr)
		}
		r.awaitNothingLeft(t, 0)
	}
}

func TestDirectoryWithContentIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(binary, "up", "--dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "is not empty") {
		t.Errorf("want a refusal, got %v: %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
		t.Error(err)
	}
}

func await(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", within, what)
		}
	}
}

func residentMegabytes(t *testing.T, pids []int) int {
	t.Helper()
	pages := 0
	for _, pid := range pids {
		content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
		if err != nil {
			t.Fatal(err)
		}
		resident, err := strconv.Atoi(strings.Fields(string(content))[1])
		if err != nil {
			t.Fatal(err)
		}
		pages += resident
	}
	return pages * os.Getpagesize() >> 20
}
