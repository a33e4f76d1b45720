// Package ports reserves loopback ports for servers that are about to start.
package ports

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Reservation keeps one port of 127.0.0.1 for a server, from before the server starts until after it has ended.
//
// Picking a port by binding to port 0 and closing the socket again leaves a gap in which anybody may get the same port: another
// landscape, or an outgoing connection. This holds the socket instead. Linux lets a second socket listen on a port that is bound
// but not listened on when both have SO_REUSEADDR, and Go sets that on every listener. The option is set here only after the
// bind, so that the kernel never hands the port of one reservation to another.
type Reservation struct {
	Port   int
	socket int
}

// Reserve finds a free port and keeps it.
func Reserve() (*Reservation, error) {
	// CLOEXEC: a server that inherited the socket would keep the port taken after the landscape is gone.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	port, err := bind(socket)
	if err != nil {
		_ = syscall.Close(socket)
		return nil, fmt.Errorf("reserve a port on 127.0.0.1: %w", err)
	}
	return &Reservation{Port: port, socket: socket}, nil
}

// Address is what the server listens on.
func (r *Reservation) Address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port))
}

// Release gives the port back.
func (r *Reservation) Release() {
	_ = syscall.Close(r.socket)
}

func bind(socket int) (int, error) {
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("unexpected address %v", name)
	}
	return address.Port, nil
}
