package test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// State of a listening socket in /proc/net/tcp.
const listening = "0A"

// 127.0.0.1, as /proc/net/tcp writes it on a little-endian machine.
const loopback = "0100007F"

func listensOnLoopback(t *testing.T, r *running) {
	sockets := socketsOf(t, r.pids)
	found := 0
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for scanner := bufio.NewScanner(file); scanner.Scan(); {
			fields := strings.Fields(scanner.Text())
			if len(fields) < 10 || fields[3] != listening || !sockets[fields[9]] {
				continue
			}
			found++
			if address, _, _ := strings.Cut(fields[1], ":"); address != loopback {
				t.Errorf("%s: a server listens on %s", table, fields[1])
			}
		}
	}
	// etcd for clients and for peers, gardener-apiserver, three kube-apiservers; nothing else.
	if found != 6 {
		t.Errorf("%d listening sockets, want 6", found)
	}
}

func socketsOf(t *testing.T, pids []int) map[string]bool {
	t.Helper()
	inodes := map[string]bool{}
	for _, pid := range pids {
		links, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			target, err := os.Readlink(link)
			if inode, is := strings.CutPrefix(target, "socket:["); err == nil && is {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return inodes
}
