package landscape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingDirectoryIsMadeAndRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "landscape")
	directory, err := ClaimDirectory(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into it: %v", info.Mode().Perm())
	}
	if err := directory.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}

func TestEmptyDirectoryIsEmptiedButKept(t *testing.T) {
	path := t.TempDir()
	directory, err := ClaimDirectory(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(directory.File("logs", "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := directory.Remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatalf("somebody else's directory was removed: %v", err)
	}
	if len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestDirectoryWithContentIsRefused(t *testing.T) {
	path := t.TempDir()
	precious := filepath.Join(path, "thesis.txt")
	if err := os.WriteFile(precious, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ClaimDirectory(path)
	if err == nil || !strings.Contains(err.Error(), "not empty") || !strings.Contains(err.Error(), path) {
		t.Fatalf("want a refusal that says why and names the directory, got: %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryIsPickedWhenNoneIsGiven(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	directory, err := ClaimDirectory("")
	if err != nil {
		t.Fatal(err)
	}
	if err := directory.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(directory.Path); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}
