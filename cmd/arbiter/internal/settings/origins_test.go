package settings

import (
	"testing"

	"github.com/urfave/cli/v2"
)

// TestSetFlagsAreThoseThatCLISays: setFlags agrees with urfave/cli about each flag.
func TestSetFlagsAreThoseThatCLISays(t *testing.T) {
	t.Setenv("ARBITER_MAX_FAILURES", "7")
	t.Setenv("ARBITER_CLAUDE", "")
	for _, args := range [][]string{
		{},
		{"--json", "--task", ""},
		{"--max-exchanges", "3", "--allow", "Read", "--allow", "Edit"},
		{"--cwd", "/a", "doctor"},
		{"doctor", "--cwd", "/b"},
		{"--claude", "/c", "doctor", "--cwd", "/b"},
	} {
		compared := false
		compare := func(c *cli.Context) error {
			compared = true
			set := setFlags(c)
			for _, s := range Table {
				if got, want := set[s.Name], c.IsSet(s.Name); got != want {
					t.Errorf("%q: --%s is set: %v, urfave/cli says %v", args, s.Name, got, want)
				}
			}
			return nil
		}
		app := &cli.App{Name: "arbiter", Flags: Flags(), Action: compare, Commands: []*cli.Command{
			{Name: "doctor", Flags: []cli.Flag{FlagOf("cwd"), FlagOf("claude")}, Action: compare},
		}}
		if err := app.Run(append([]string{"arbiter"}, args...)); err != nil || !compared {
			t.Errorf("%q: %v, compared %v", args, err, compared)
		}
	}
}
