package landscape

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// startShoot brings up an API server as Gardener hands it to its users: the groups that an adminkubeconfig or a viewerkubeconfig
// puts its holder into have their roles. Which Shoot it belongs to is for the fake gardenlet to say.
func startShoot(ctx context.Context, shoot *Cluster) error {
	work, ctx := errgroup.WithContext(ctx)
	if err := shoot.startServer(ctx); err != nil {
		return err
	}
	if err := shoot.startController(); err != nil {
		return err
	}
	work.Go(func() error { return shoot.awaitController(ctx) })
	work.Go(func() error {
		client, err := shoot.dynamic()
		if err != nil {
			return err
		}
		return applyFolder(ctx, client, "shoot-access")
	})
	return work.Wait()
}
