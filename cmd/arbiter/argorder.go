package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst puts a command's flags before its arguments, wherever they were written:
// the flag parser ends at the first argument. What stands before the command, and the
// arguments of arbiter without one, stay as they are.
func flagsFirst(args []string, app *cli.App) []string {
	at := 1
	for at < len(args) && isFlag(args[at]) {
		at += taken(args[at:], app.Flags)
	}
	commands := app.Commands
	for {
		if at >= len(args) {
			return args
		}
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 || commands[i].SkipFlagParsing {
			return args
		}
		c := commands[i]
		at++
		if at < len(args) && slices.ContainsFunc(c.Subcommands, func(s *cli.Command) bool { return s.HasName(args[at]) }) {
			commands = c.Subcommands
			continue
		}
		return append(slices.Clone(args[:at]), sorted(args[at:], c.Flags)...)
	}
}

// sorted are the same words, flags with their values first.
func sorted(words []string, flags []cli.Flag) []string {
	var first, rest []string
	for len(words) > 0 {
		if words[0] == "--" {
			rest = append(rest, words...)
			break
		}
		if !isFlag(words[0]) {
			rest, words = append(rest, words[0]), words[1:]
			continue
		}
		n := taken(words, flags)
		if n > len(words) { // a value is missing: what stood before it is none
			return append(first, words...)
		}
		first, words = append(first, words[:n]...), words[n:]
	}
	return append(first, rest...)
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// taken is how many words the flag at their beginning takes: itself, and its value.
func taken(words []string, flags []cli.Flag) int {
	name := strings.TrimLeft(words[0], "-")
	if strings.Contains(name, "=") {
		return 1
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			if _, is := f.(*cli.BoolFlag); is {
				return 1
			}
			return 2
		}
	}
	return 1 // help, or one that is refused in a moment
}
