package ports

import (
	"net"
	"testing"
)

func TestServerListensOnReservedPort(t *testing.T) {
	reservation, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer reservation.Release()
	listener, err := net.Listen("tcp", reservation.Address())
	if err != nil {
		t.Fatalf("a server cannot listen on its reserved port: %v", err)
	}
	defer listener.Close()
	if second, err := net.Listen("tcp", reservation.Address()); err == nil {
		second.Close()
		t.Fatal("two servers listen on the same port")
	}
}

func TestReservationsNeverShareAPort(t *testing.T) {
	// Enough to make a repeat likely if the kernel could hand out a reserved port again, by reservation or by port 0.
	const count = 2000
	seen := map[int]bool{}
	for range count {
		reservation, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer reservation.Release()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		for _, port := range []int{reservation.Port, listener.Addr().(*net.TCPAddr).Port} {
			if seen[port] {
				t.Fatalf("port %d was given out twice", port)
			}
			seen[port] = true
		}
	}
}

func TestReleaseFreesThePort(t *testing.T) {
	reservation, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	reservation.Release()
	listener, err := net.Listen("tcp", reservation.Address())
	if err != nil {
		t.Fatalf("port is still taken after its release: %v", err)
	}
	listener.Close()
}
