package command

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/manual"
)

// LikeCommand reports whether the first of several arguments looks like a misspelled command rather than like a
// file.
func LikeCommand(c *cli.Context) bool {
	word := c.Args().First()
	_, err := os.Stat(word)
	return err != nil && !strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "-")
}

// NoSuchWord returns an error for a first argument that is not a file: it was probably meant as a command, a flag, or
// a task.
func NoSuchWord(c *cli.Context, word string) error {
	var known []string
	for _, cmd := range manual.Of(c.App).Commands {
		known = append(known, cmd.Name)
	}
	meant := manual.Meant(word, known)
	if slices.ContainsFunc(c.App.Flags, func(f cli.Flag) bool { return f.Names()[0] == word }) {
		meant = "did you mean --" + word + "?"
	}
	if meant != "" {
		return Usagef("%q is neither a command nor a requirements file; %s", word, meant)
	}
	return Usagef("%q is neither a command nor a requirements file: give a task with --task", word)
}

// NoSuchCommand returns an error for an unknown subcommand.
func NoSuchCommand(c *cli.Context) error {
	var known []string
	for _, sub := range c.Command.Subcommands {
		known = append(known, sub.Name)
	}
	text := "use one of " + strings.Join(known, ", ")
	if meant := manual.Meant(c.Args().First(), known); meant != "" {
		text = meant
	}
	return Usagef("%s has no command %q: %s", c.Command.Name, c.Args().First(), text)
}

func IsFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }
