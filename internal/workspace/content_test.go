package workspace_test

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestContent: a changed file is read in its old and its new version; long content is cut.
func TestContent(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "one\n"})
	r := d.Open(nil)
	base := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("a", "one\ntwo\n")
	end := testkit.Must(r.Again(ctx, "end"))(d)
	changes, err := r.Changes(ctx, base.Commit.ID, end.Commit.ID)
	testkit.Need(t, err == nil && len(changes) == 1, "%+v, %v", changes, err)
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
		testkit.Check(t, string(text) == x.want && cut == x.cut && err == nil,
			"%+v, %d bytes: %q, %v, %v", x.entry, x.most, text, cut, err)
	}
}
