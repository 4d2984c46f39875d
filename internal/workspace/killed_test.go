package workspace_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

var carryOperations = gittest.Operations{"unpack": func(step func(string), args []string) error {
	r, err := workspace.Open(context.Background(), gittest.Options(args[0], step))
	if err != nil {
		return err
	}
	_, err = workspace.UnpackRun(context.Background(), r, args[1], args[2])
	return err
}}

// TestUnpackKilled after each step: a second call finishes the work.
func TestUnpackKilled(t *testing.T) {
	from, to, base, file := workedCarry(t, nil)
	want := from.Files()
	delete(want, "ignored")
	n := 1
	for ; ; n++ {
		c := to.Copy()
		if !gittest.Killed(t, "unpack", n, c.Path, file, base) {
			break
		}
		if gittest.Killed(t, "unpack", 1000, c.Path, file, base) {
			t.Fatal("killed twice")
		}
		if diff := cmp.Diff(want, c.Files()); diff != "" {
			t.Errorf("killed after step %d: files (-there +here):\n%s", n, diff)
		}
		refs := "refs/arbiter/" + gittest.RUN8
		if diff := cmp.Diff(from.Git("for-each-ref", refs), c.Git("for-each-ref", refs)); diff != "" {
			t.Errorf("killed after step %d: references (-there +here):\n%s", n, diff)
		}
	}
	if n < 4 {
		t.Errorf("%d steps", n-1)
	}
}
