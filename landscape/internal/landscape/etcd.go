package landscape

import (
	"context"
	"net/http"

	"allotment/landscape/internal/ports"
)

// startEtcd runs the one store behind all API servers; each has a prefix of its own.
func startEtcd(ctx context.Context, s *site) error {
	client, err := ports.Reserve()
	if err != nil {
		return err
	}
	peer, err := ports.Reserve()
	if err != nil {
		return err
	}
	clientURL, peerURL := "http://"+client.Address(), "http://"+peer.Address()
	err = s.group.Start("etcd", "etcd",
		"--name=landscape",
		"--data-dir="+s.dir.File("etcd"),
		"--listen-client-urls="+clientURL,
		"--advertise-client-urls="+clientURL,
		// Nobody ever joins, but etcd listens for peers all the same: without this on a fixed port.
		"--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=landscape="+peerURL,
		// The data ends with the landscape. Waiting for a disk would only make everything slower.
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	if err != nil {
		return err
	}
	if err := awaitOK(ctx, http.DefaultClient, clientURL+"/health"); err != nil {
		return err
	}
	s.etcdURL = clientURL
	s.note("etcd ready")
	return nil
}
