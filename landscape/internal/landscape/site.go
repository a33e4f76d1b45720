package landscape

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"allotment/landscape/internal/process"
)

// site is what all clusters of a landscape share.
type site struct {
	dir     Directory
	group   *process.Group
	etcdURL string // empty until etcd answers
	began   time.Time

	mutex   sync.Mutex
	journal io.Writer
}

func newSite(dir Directory) (*site, error) {
	if err := os.Mkdir(dir.File("logs"), 0o700); err != nil {
		return nil, err
	}
	journal, err := os.OpenFile(dir.File("logs", "landscape.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	group, err := process.NewGroup(dir.File("logs"))
	if err != nil {
		return nil, err
	}
	return &site{dir: dir, group: group, began: time.Now(), journal: journal}, nil
}

// note writes a step of the start and when it was done, beside the logs of the servers. It answers why a start was slow.
func (s *site) note(format string, arguments ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	fmt.Fprintf(s.journal, "%6.2f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, arguments...))
}
