package manual

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Command is one command, or the program itself.
type Command struct {
	Path        []string // such as arbiter sessions show
	Usage       string   // one line
	Synopsis    []string // the possible invocations, one per line
	Description string
	Args        string // the part of the synopsis after the flags
	Flags       []cli.Flag
	Commands    []*cli.Command // visible subcommands
}

// Name returns the path as one string.
func (c Command) Name() string { return strings.Join(c.Path, " ") }

// Of returns the program itself.
func Of(app *cli.App) Command {
	return Command{
		Path: []string{app.Name}, Usage: app.Usage, Synopsis: strings.Split(app.UsageText, "\n"),
		Description: app.Description, Args: app.ArgsUsage, Flags: shown(app.Flags), Commands: visible(app.Commands),
	}
}

// Below returns a subcommand.
func (c Command) Below(name string) (Command, bool) {
	i := slices.IndexFunc(c.Commands, func(b *cli.Command) bool { return b.HasName(name) })
	if i < 0 {
		return Command{}, false
	}
	b := c.Commands[i]
	path := append(slices.Clone(c.Path), b.Name)
	synopsis := []string{strings.TrimSpace(strings.Join(path, " ") + " [flags] " + b.ArgsUsage)}
	if b.UsageText != "" {
		synopsis = strings.Split(b.UsageText, "\n")
	} else if len(b.Subcommands) > 0 {
		synopsis = append(synopsis, strings.Join(path, " ")+" COMMAND [flags]")
	}
	return Command{
		Path: path, Usage: b.Usage, Synopsis: synopsis, Description: b.Description, Args: b.ArgsUsage,
		Flags: shown(b.Flags), Commands: visible(b.Subcommands),
	}, true
}

// All returns the program and its commands, each before its subcommands.
func All(app *cli.App) []Command {
	var list []Command
	var walk func(Command)
	walk = func(c Command) {
		list = append(list, c)
		for _, b := range c.Commands {
			below, _ := c.Below(b.Name)
			walk(below)
		}
	}
	walk(Of(app))
	return list
}

// At returns the innermost command that the words of a command line name. It skips flags.
func At(app *cli.App, words []string) Command {
	h := Read(app, words, "")
	return h.Command
}

func visible(list []*cli.Command) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(list), func(c *cli.Command) bool { return c.Hidden || c.Name == "help" })
}

// shown removes hidden flags, and the help flag, which the parser adds to some commands.
func shown(list []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(list), func(f cli.Flag) bool {
		v, ok := f.(cli.VisibleFlag)
		return ok && !v.IsVisible() || f.Names()[0] == "help"
	})
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

// FlagDocs returns the flags of a command.
func (c Command) FlagDocs() []Flag {
	list := make([]Flag, len(c.Flags))
	for i, f := range c.Flags {
		list[i] = FlagDoc(f)
	}
	return list
}

// FlagDoc reads the documentation of a flag. If the usage begins with the placeholder and a colon, both are removed
// from About.
func FlagDoc(f cli.Flag) Flag {
	t := Flag{Name: f.Names()[0]}
	if c, ok := f.(cli.CategorizableFlag); ok {
		t.Category = c.GetCategory()
	}
	if s, ok := f.(cli.DocGenerationSliceFlag); ok {
		t.Repeats = s.IsSliceFlag()
	}
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return t
	}
	t.About = d.GetUsage()
	if len(d.GetEnvVars()) > 0 {
		t.Env = d.GetEnvVars()[0]
	}
	if !d.TakesValue() {
		return t
	}
	t.Value = "TEXT"
	switch f := f.(type) {
	case *cli.IntFlag, *cli.Float64Flag:
		t.Value = "N"
	case *cli.DurationFlag:
		t.Value = "TIME"
		t.Default = brief(f.Value.String())
	}
	if t.Default == "" {
		t.Default = strings.Trim(d.GetDefaultText(), `"`)
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
	if d != "0s" {
		d = strings.TrimSuffix(d, "0s")
		if strings.HasSuffix(d, "h0m") {
			d = strings.TrimSuffix(d, "0m")
		}
		if d[len(d)-1] >= '0' && d[len(d)-1] <= '9' { // for 10s
			d += "0s"
		}
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
