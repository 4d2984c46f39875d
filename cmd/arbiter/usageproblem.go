package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

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
		return usagef("unknown flag %s%s", dashed(name), strings.TrimSuffix("; "+meant, "; "))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef("--%s needs a value: %s", name, known["--"+name].Value)
	}
	if m := badVariable().FindStringSubmatch(text); m != nil {
		return usagef("$%s %q: use %s", m[2], m[1], wanted(c.Command.Flags, m[3]))
	}
	text, unread := strings.CutSuffix(text, ": parse error") // of what kind the flag is, it does not say
	text, name, _ := strings.Cut(strings.Replace(text, " for -", " for flag -", 1), " for flag -")
	if name, twice := strings.CutSuffix(name, ": "+errGivenTwice.Error()); twice {
		return usagef("--%s is given twice: give it once, or put a long task into a requirements file", name)
	}
	value, quoted := strings.CutPrefix(strings.Replace(text, " boolean", "", 1), "invalid value ")
	if !unread || !quoted {
		return usagef("%v", err)
	}
	return usagef("--%s %s: use %s", name, value, wanted(c.Command.Flags, name))
}

// badVariable is how the parser refuses an environment variable.
var badVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^could not parse "(.*)" as .* from environment variable "(\w+)" for flag ([a-z-]+): `)
})

// wanted names what a flag takes.
func wanted(flags []cli.Flag, name string) string {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name })
	if i < 0 {
		return "another value"
	}
	switch flags[i].(type) {
	case *cli.BoolFlag:
		return kindBool.article()
	case *cli.DurationFlag:
		return kindDuration.article()
	case *cli.IntFlag:
		return kindInt.article()
	}
	return kindNumber.article()
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
		return usagef("%q is neither a command nor a requirements file; %s", word, meant)
	}
	return usagef("%q is neither a command nor a requirements file: a task needs --task", word)
}

// noSuchCommand refuses a word behind a command that has commands of its own.
func noSuchCommand(c *cli.Context) error {
	var known []string
	for _, sub := range c.Command.Subcommands {
		known = append(known, sub.Name)
	}
	text := "use one of " + strings.Join(known, ", ")
	if meant := manual.Meant(c.Args().First(), known); meant != "" {
		text = meant
	}
	return usagef("%s has no command %q: %s", c.Command.Name, c.Args().First(), text)
}
