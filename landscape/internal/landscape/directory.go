package landscape

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Directory is the place where one landscape keeps everything it writes.
type Directory struct {
	Path    string
	created bool
}

// ClaimDirectory takes a directory that is empty or does not exist yet. It refuses one with content: that may be another
// landscape, or something that nobody wants removed afterwards.
func ClaimDirectory(path string) (Directory, error) {
	if path == "" {
		made, err := os.MkdirTemp("", "landscape-")
		return Directory{Path: made, created: true}, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Directory{}, err
	}
	if err := os.MkdirAll(filepath.Dir(absolute), 0o755); err != nil {
		return Directory{}, err
	}
	// Mkdir, not MkdirAll: of two landscapes that start at once on the same directory only one may think it made it.
	err = os.Mkdir(absolute, 0o700)
	if err == nil {
		return Directory{Path: absolute, created: true}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return Directory{}, err
	}
	entries, err := os.ReadDir(absolute)
	if err != nil {
		return Directory{}, err
	}
	if len(entries) > 0 {
		return Directory{}, fmt.Errorf("directory %s is not empty: give one that is empty or does not exist, it is removed again afterwards", absolute)
	}
	return Directory{Path: absolute}, os.Chmod(absolute, 0o700)
}

// Remove takes away what the landscape wrote, and the directory itself if the landscape made it.
func (d Directory) Remove() error {
	if d.created {
		return os.RemoveAll(d.Path)
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return err
	}
	var failures []error
	for _, entry := range entries {
		failures = append(failures, os.RemoveAll(filepath.Join(d.Path, entry.Name())))
	}
	return errors.Join(failures...)
}

// File is the path of a file or folder in the directory.
func (d Directory) File(elements ...string) string {
	return filepath.Join(append([]string{d.Path}, elements...)...)
}
