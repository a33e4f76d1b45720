package landscape

import (
	"context"
	"fmt"
	"net/http"
	"strings"

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
	if err := makeHistory(ctx, clientURL); err != nil {
		return err
	}
	s.etcdURL = clientURL
	s.note("etcd ready")
	return nil
}

// historyLength is enough for the first revisions, which tests use as versions that are long gone, to be told from
// those that API servers give.
const historyLength = 10

// makeHistory writes a key that nobody reads. An API server that starts at the first revision forgets nothing of its
// beginnings for a while, which no server that has been in use does.
func makeHistory(ctx context.Context, url string) error {
	for range historyLength {
		if err := write(ctx, url); err != nil {
			return fmt.Errorf("write to etcd: %w", err)
		}
	}
	return nil
}

func write(ctx context.Context, url string) error {
	body := strings.NewReader(`{"key":"aGlzdG9yeQ==","value":""}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v3/kv/put", body)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", answer.Status)
	}
	return nil
}
