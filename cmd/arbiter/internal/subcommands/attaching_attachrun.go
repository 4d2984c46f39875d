package subcommands

import (
	"regexp"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
)

// agentID matches the id of an agent; any other argument of arbiter attach names a run.
var agentID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arbiter|orch-\d+)$`)
})

// attachRun opens the screen of a live run: the named one, or the one of this directory.
func attachRun(c *cli.Context, app *cli.App, named string) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	info, err := runstore.FindLive(store, named)
	_ = store.Close() // it was only read
	if err != nil {
		return err
	}
	args := []string{"arbiter", "--session", info.Run}
	if dir := c.String("state-dir"); dir != "" {
		args = append(args, "--state-dir", dir)
	}
	return app.RunContext(c.Context, args)
}
