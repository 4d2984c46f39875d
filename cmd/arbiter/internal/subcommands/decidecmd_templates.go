package subcommands

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// printTemplate prints a built-in template, as a start for a user's own.
func (e decideEnv) printTemplate(c *cli.Context) error {
	if c.NArg() > 0 || c.IsSet("explain") || c.IsSet("number") || c.IsSet("at") || c.IsSet("input") {
		return command.Usagef("decide --template takes no other flag and no argument")
	}
	text, ok := decider.PromptSource(c.String("template"))
	if !ok {
		return command.Usagef("--template %q: use one of %s", c.String("template"), strings.Join(decider.PromptNames(), ", "))
	}
	_, err := io.WriteString(e.Stdout, text)
	return err
}
