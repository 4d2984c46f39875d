package host

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestOneRunInADirectory: only one run works in a directory, until its storage is closed.
func TestOneRunInADirectory(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	var notices notice
	open := func() storage {
		s, err := openStorage(root, journal.Options{}, &notices)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.store.Close() })
		return s
	}
	first, second := open(), open()
	if err := first.lockPlace(dir, "11111111-aaaa"); err != nil {
		t.Fatal(err)
	}
	if err := second.lockPlace(dir, "22222222-bbbb"); err == nil || !strings.Contains(err.Error(), "run 11111111") {
		t.Errorf("the second run: %v", err)
	}
	first.close(nil)
	if err := second.lockPlace(dir, "22222222-bbbb"); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
	second.close(nil)
	if notices.String() != "" {
		t.Errorf("said %q", notices.String())
	}
}

// TestFinish: the journal records how a run ended, and which runs may be resumed.
func TestFinish(t *testing.T) {
	s, err := openStorage(t.TempDir(), journal.Options{}, &notice{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.store.Close()
	for n, c := range []struct {
		ending   *supervisor.Ending
		status   string
		finished bool
	}{
		{nil, "", false},
		{&supervisor.Ending{Said: true, Status: contract.StatusComplete}, runstore.NeverBegan, true},
	} {
		if err := s.create(journal.Meta{Run: "run-" + string(rune('a'+n))}); err != nil {
			t.Fatal(err)
		}
		state := &supervisor.State{}
		state.Ending = c.ending
		if err := s.finish(t.Context(), state); err != nil {
			t.Error(err)
		}
		if m := s.journal.Meta(); m.Status != c.status || m.Finished != c.finished {
			t.Errorf("%+v: status %q, finished %v", c.ending, m.Status, m.Finished)
		}
		s.close(nil)
	}
}
