package transcript

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// No kind of file in a transcript's place blocks the reader.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"fifo":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"device": func(path string) error { return os.Symlink(os.DevNull, path) },
		"self":   func(path string) error { return os.Symlink(path, path) },
	} {
		path := filepath.Join(dir, name+".jsonl")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadDeliveries(context.Background(), path, []string{"A"}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		if n := Size(path); n != 0 {
			t.Errorf("%s has a size of %d", name, n)
		}
	}
	sparse := filepath.Join(dir, "sparse.jsonl")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	if _, err := ReadDeliveries(context.Background(), sparse, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a terabyte: %v", err)
	}
}
