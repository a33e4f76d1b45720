// Package landscape brings up, and takes down again, a small world for Allotment's operators on one machine: a garden, a control
// plane and some shoots, all real API servers on loopback.
package landscape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"allotment/landscape/internal/certs"
	"allotment/landscape/internal/process"

	"golang.org/x/sync/errgroup"
)

// A start takes seconds; one that has taken this long will not get anywhere.
const startTimeout = 120 * time.Second

// API servers close their watches and connections on SIGTERM. All data is thrown away, so nothing is lost when one is slower.
const stopGrace = 5 * time.Second

// Lines of a dead server's log that are shown. A Go panic of the one goroutine that matters fits.
const shownLogLines = 30

// Options of one landscape.
type Options struct {
	Dir    string // empty: a new temporary one
	Shoots int
	Keep   bool
	Ready  func(Report) error // called once, when everything answers
	Talk   io.Writer          // progress and errors for a person
}

// Landscape is everything that runs.
type Landscape struct {
	*site
	options      Options
	garden       *Garden
	controlPlane *Cluster
	shoots       []*Cluster
}

// Run brings a landscape up, keeps it until stop is done, and takes it down again. It returns nil after a stop that was asked
// for, at whatever moment.
func Run(stop context.Context, options Options) (err error) {
	dir, err := ClaimDirectory(options.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean(dir, options)) }()
	site, err := newSite(dir)
	if err != nil {
		return err
	}
	l := &Landscape{site: site, options: options}
	defer l.stop()
	if err := l.startOrGiveUp(stop); err != nil || stop.Err() != nil {
		return err
	}
	report := l.report(time.Since(l.began))
	if err := report.write(dir.File("landscape.json")); err != nil {
		return err
	}
	if err := options.Ready(report); err != nil {
		return err
	}
	select {
	case <-stop.Done():
		return nil
	case dead := <-l.group.Died():
		return l.obituary(dead)
	}
}

// startOrGiveUp returns nil when the landscape is ready or when it was asked to stop before.
func (l *Landscape) startOrGiveUp(stop context.Context) error {
	ctx, cancel := context.WithTimeoutCause(stop, startTimeout, fmt.Errorf("not ready after %v", startTimeout))
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- l.start(ctx) }()
	select {
	case err := <-started:
		if err == nil || stop.Err() != nil {
			return nil
		}
		return l.explain(err)
	case dead := <-l.group.Died():
		cancel()
		<-started
		return l.obituary(dead)
	}
}

// start lets everything that can happen at the same time happen at the same time.
func (l *Landscape) start(ctx context.Context) error {
	if err := os.Symlink(l.group.Executable(), l.dir.File("kubectl")); err != nil {
		return err
	}
	var work errgroup.Group
	work.Go(func() error { return startEtcd(ctx, l.site) })
	work.Go(func() (err error) {
		l.garden, err = newGarden(l.site)
		return err
	})
	work.Go(func() (err error) {
		l.controlPlane, err = newCluster(l.site, "control-plane", certs.New)
		return err
	})
	l.shoots = make([]*Cluster, l.options.Shoots)
	for i := range l.shoots {
		work.Go(func() (err error) {
			l.shoots[i], err = newCluster(l.site, fmt.Sprintf("shoot-%d", i), certs.NewRSA)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	return l.startClusters(ctx)
}

// startClusters starts all API servers at once.
func (l *Landscape) startClusters(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return l.garden.start(ctx) })
	work.Go(func() error { return l.controlPlane.start(ctx) })
	for _, shoot := range l.shoots {
		work.Go(func() error { return startShoot(ctx, shoot) })
	}
	return work.Wait()
}

// stop ends the servers so that none loses what it depends on before it has ended itself.
func (l *Landscape) stop() {
	l.note("stopping")
	l.group.Stop(stopGrace, "kube-controller-manager", "gardener-apiserver", "kube-apiserver", "etcd")
	l.note("stopped")
}

// clean leaves nothing behind, unless the directory is to be looked at.
func clean(dir Directory, options Options) error {
	if options.Keep {
		fmt.Fprintf(options.Talk, "landscape: logs and keys are kept in %s\n", dir.Path)
		return nil
	}
	return dir.Remove()
}

// obituary is the error for a server that ended by itself.
func (l *Landscape) obituary(dead *process.Process) error {
	fmt.Fprintf(l.options.Talk, "landscape: last lines of %s:\n%s\n", dead.Name, dead.Tail(shownLogLines))
	return dead.Err()
}

// explain shows what every server said last, for a start that failed while all of them were running.
func (l *Landscape) explain(err error) error {
	for _, running := range l.group.Processes() {
		fmt.Fprintf(l.options.Talk, "landscape: last lines of %s:\n%s\n", running.Name, running.Tail(shownLogLines/3))
	}
	return err
}
