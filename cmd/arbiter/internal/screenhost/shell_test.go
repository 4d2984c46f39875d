package screenhost

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// lockedBuffer is an output that can be read while it is being written.
type lockedBuffer struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // has a value after a write
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.wrote <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestShell: a line runs in its directory with the user's shell and environment, without a terminal.
func TestShell(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	t.Setenv("OF_THE_USER", "is kept")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := &lockedBuffer{}
	code, err := New(command.Env{}, settings.Choices{}).Shell(t.Context(), dir,
		`pwd; echo "$OF_THE_USER" >&2; read line; (: </dev/tty) 2>/dev/null || echo no terminal; exit 3`, out)
	if want := dir + "\nis kept\nno terminal\n"; err != nil || code != 3 || out.String() != want {
		t.Errorf("exit code %d, %v, said %q, want %q", code, err, out.String(), want)
	}
	if _, err := New(command.Env{}, settings.Choices{}).Shell(t.Context(), filepath.Join(dir, "gone"), "true",
		out); err == nil {
		t.Error("a line ran in a directory that is not there")
	}
}
