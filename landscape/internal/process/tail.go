package process

import (
	"os"
	"strings"
)

// Enough to hold the last lines of any server's log: kube-apiserver prints its longest lines, panics, in well under this.
const tailBytes = 64 << 10

// Tail returns the last lines that the server logged.
func (p *Process) Tail(lines int) string {
	file, err := os.Open(p.LogPath)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	start := max(0, info.Size()-tailBytes)
	content := make([]byte, info.Size()-start)
	read, _ := file.ReadAt(content, start)
	all := strings.Split(strings.TrimRight(string(content[:read]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
