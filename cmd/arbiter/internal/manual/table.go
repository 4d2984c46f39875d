package manual

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Root returns the program itself as a command. HelpName is the path of each command, such as arbiter sessions show.
func Root(app *cli.App) *cli.Command {
	app.Setup() // it would change the names later
	root := &cli.Command{
		Name: app.Name, HelpName: app.Name, Usage: app.Usage, UsageText: app.UsageText, Description: app.Description,
		ArgsUsage: app.ArgsUsage, Flags: app.Flags, Subcommands: app.Commands,
	}
	for _, c := range root.Subcommands {
		c.HelpName = root.Name + " " + c.Name
		for _, sub := range c.Subcommands {
			sub.HelpName = c.HelpName + " " + sub.Name
		}
	}
	return root
}

// All returns the program and its commands, each before its subcommands.
func All(app *cli.App) []*cli.Command {
	list := []*cli.Command{Root(app)}
	for _, c := range list[0].VisibleCommands() {
		list = append(append(list, c), c.VisibleCommands()...)
	}
	return list
}

// Synopsis returns the possible invocations of a command.
func Synopsis(c *cli.Command) []string {
	list := []string{strings.TrimSpace(c.HelpName + " [flags] " + c.ArgsUsage)}
	if c.UsageText != "" {
		list = strings.Split(c.UsageText, "\n")
	} else if len(c.Subcommands) > 0 {
		list = append(list, c.HelpName+" COMMAND [flags]")
	}
	return list
}

// Flag has the documentation of a flag.
type Flag struct {
	Name     string
	Value    string // placeholder: RUN, DIR, on|auto|off; empty: it takes no value
	About    string
	Default  string // empty: no default, or About has it
	Env      string
	Category string
	Repeats  bool
}

var helpFlag = Flag{Name: "help", About: "show this help"}

// Flags returns the flags of a command.
func Flags(c *cli.Command) (list []Flag) {
	for _, f := range c.VisibleFlags() {
		list = append(list, FlagDoc(f))
	}
	return list
}

// FlagDoc reads the documentation of a flag, which must be one of urfave/cli. If the usage begins with the
// placeholder and a colon, both are removed from About.
func FlagDoc(flag cli.Flag) Flag {
	d := flag.(interface {
		cli.DocGenerationFlag
		cli.CategorizableFlag
	})
	t := Flag{Name: flag.Names()[0], About: d.GetUsage(), Category: d.GetCategory()}
	if s, ok := flag.(cli.DocGenerationSliceFlag); ok {
		t.Repeats = s.IsSliceFlag()
	}
	if len(d.GetEnvVars()) > 0 {
		t.Env = d.GetEnvVars()[0]
	}
	if !d.TakesValue() {
		return t
	}
	t.Value, t.Default = "TEXT", strings.Trim(d.GetDefaultText(), `"`)
	switch f := flag.(type) {
	case *cli.IntFlag, *cli.Float64Flag:
		t.Value = "N"
	case *cli.DurationFlag:
		t.Value, t.Default = "TIME", brief(f.Value.String())
	}
	if before, rest, ok := strings.Cut(t.About, "`"); ok {
		value, after, _ := strings.Cut(rest, "`")
		t.Value, t.About = value, before+value+after
		if text, ok := strings.CutPrefix(after, ": "); ok && before == "" {
			t.About = text
		}
	}
	return t
}

// brief formats a duration without zero parts: 10m, not 10m0s.
func brief(d string) string {
	if s, ok := strings.CutSuffix(d, "m0s"); ok {
		d = s + "m"
	}
	if s, ok := strings.CutSuffix(d, "h0m"); ok {
		d = s + "h"
	}
	return d
}

// Choices returns the words that a value must be one of; nil: any value.
func Choices(value string) []string {
	if !strings.Contains(value, "|") || value != strings.ToLower(value) {
		return nil
	}
	return strings.Split(value, "|")
}
