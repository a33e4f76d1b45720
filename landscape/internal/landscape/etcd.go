package landscape

import (
	"context"
	"net/http"

	"allotment/landscape/internal/ports"
	"allotment/landscape/internal/process"
)

// etcd is the one store behind all API servers; each has a prefix of its own.
type etcd struct {
	client *ports.Reservation
	peer   *ports.Reservation
}

func startEtcd(ctx context.Context, group *process.Group, dir Directory) (*etcd, error) {
	e := &etcd{}
	var err error
	if e.client, err = ports.Reserve(); err != nil {
		return nil, err
	}
	if e.peer, err = ports.Reserve(); err != nil {
		return nil, err
	}
	peerURL := "http://" + e.peer.Address()
	err = group.Start("etcd", "etcd",
		"--name=landscape",
		"--data-dir="+dir.File("etcd"),
		"--listen-client-urls="+e.url(),
		"--advertise-client-urls="+e.url(),
		// Nobody ever joins, but etcd listens for peers all the same: without this on a fixed port.
		"--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=landscape="+peerURL,
		// The data ends with the landscape. Waiting for a disk would only make everything slower.
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	if err != nil {
		return nil, err
	}
	return e, awaitOK(ctx, http.DefaultClient, e.url()+"/health")
}

func (e *etcd) url() string {
	return "http://" + e.client.Address()
}
