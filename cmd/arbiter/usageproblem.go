package main

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/manual"
)

// usageProblem makes words of what the parser of flags refuses.
func usageProblem(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	known := map[string]manual.Flag{}
	for _, f := range c.Command.Flags {
		told := manual.Tell(f)
		known["--"+told.Name] = told
	}
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		meant := manual.Meant("--"+name, slices.Sorted(maps.Keys(known)))
		return usagef("there is no flag %s%s", dashed(name), strings.TrimSuffix("; "+meant, "; "))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef("--%s needs a value: %s", name, known["--"+name].Value)
	}
	text, unread := strings.CutSuffix(text, ": parse error") // of what kind the flag is, it does not say
	text, name, _ := strings.Cut(strings.Replace(text, " for -", " for flag -", 1), " for flag -")
	if name, twice := strings.CutSuffix(name, ": "+errGivenTwice.Error()); twice {
		return usagef("--%s is given twice: give it once, or put what is longer into a requirements file", name)
	}
	what := "a number"
	switch i := slices.IndexFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name }); {
	case !unread || i < 0:
		return usagef("%v", err)
	case known["--"+name].Value == "":
		what = "true or false"
	case known["--"+name].Value == "TIME":
		what = "a number with its unit, such as 90s, 15m or 2h,"
	default:
		if _, whole := c.Command.Flags[i].(*cli.IntFlag); whole {
			what = "a whole number"
		}
	}
	return usagef("%s for --%s: %s is wanted", text, name, what)
}

// dashed is a flag as it was typed, as far as the parser says.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// suggestion reports whether the first of several arguments looks like a command that is none,
// rather than like a file.
func suggestion(c *cli.Context) bool {
	word := c.Args().First()
	_, err := os.Stat(word)
	return err != nil && !strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "-")
}

// noSuchWord refuses a first argument that is no file: more likely it was to be a command,
// a flag, or a task.
func noSuchWord(c *cli.Context, word string) error {
	var known []string
	for _, cmd := range manual.Of(c.App).Commands {
		known = append(known, cmd.Name)
	}
	meant := manual.Meant(word, known)
	if slices.ContainsFunc(c.App.Flags, func(f cli.Flag) bool { return f.Names()[0] == word }) {
		meant = "did you mean --" + word + "?"
	}
	if meant != "" {
		return usagef("%s: no such requirements file or command; %s", word, meant)
	}
	return usagef("%s: no such requirements file or command (a task goes into --task \"…\")", word)
}

// noSuchCommand refuses a word behind a command that has commands of its own.
func noSuchCommand(c *cli.Context) error {
	var known []string
	for _, sub := range c.Command.Subcommands {
		known = append(known, sub.Name)
	}
	text := "use " + strings.Join(known, ", ")
	if meant := manual.Meant(c.Args().First(), known); meant != "" {
		text = meant
	}
	return usagef("%s: no command %q: %s", c.Command.Name, c.Args().First(), text)
}
