package workspace_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

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
	for n, c := range to.EachKill("unpack", 1, 4, file, base) {
		testkit.Need(t, !gittest.Killed(t, "unpack", 1000, c.Path, file, base), "killed twice")
		testkit.Same(t, fmt.Sprintf("killed after step %d: files", n), want, c.Files())
		refs := "refs/arbiter/" + gittest.RUN8
		testkit.Same(t, fmt.Sprintf("killed after step %d: references", n), from.Git("for-each-ref", refs),
			c.Git("for-each-ref", refs))
	}
}
