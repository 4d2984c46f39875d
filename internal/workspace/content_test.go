package workspace_test

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestContent: a changed file is read in its old and its new version; long content is cut.
func TestContent(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "one\n"})
	r := d.Open(nil)
	base, err := r.Once(ctx, "base")
	d.Must(err)
	d.Write("a", "one\ntwo\n")
	end, err := r.Again(ctx, "end")
	d.Must(err)
	changes, err := r.Changes(ctx, base.Commit.ID, end.Commit.ID)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	for _, x := range []struct {
		entry workspace.Entry
		most  int
		want  string
		cut   bool
	}{
		{changes[0].From, 100, "one\n", false}, {changes[0].To, 100, "one\ntwo\n", false},
		{changes[0].To, 5, "one\nt", true}, {workspace.Entry{}, 100, "", false},
	} {
		text, cut, err := r.Content(t.Context(), x.entry, x.most)
		if string(text) != x.want || cut != x.cut || err != nil {
			t.Errorf("%+v, %d bytes: %q, %v, %v", x.entry, x.most, text, cut, err)
		}
	}
}
