package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// flagsFirst moves a command's flags between its name and its arguments, wherever they were written. The flag
// parser stops at the first argument; and if a flag stands before a command that has the same flag, the parser
// would give the command the default. Flags that the command does not have, and the arguments of arbiter
// without a command, stay where they are.
func flagsFirst(args []string, app *cli.App) []string {
	done, words := slices.Clone(args[:min(1, len(args))]), args[min(1, len(args)):]
	flags, commands := app.Flags, app.Commands
	for {
		n := 0
		for n < len(words) && command.IsFlag(words[n]) {
			n += taken(words[n:], flags)
		}
		i := -1
		if n < len(words) {
			i = slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(words[n]) })
		}
		if i < 0 {
			break
		}
		c := commands[i]
		takers := c.Flags
		if below := named(c.Subcommands, words[n+1:]); below != nil {
			takers = slices.Concat(takers, below.Flags)
		}
		stay, move := parted(words[:n], flags, takers)
		done = append(append(done, stay...), words[n])
		words = append(move, words[n+1:]...)
		if c.SkipFlagParsing {
			return append(done, words...)
		}
		flags, commands = slices.Concat(c.Flags, flags), c.Subcommands // also known: the moved flags
	}
	if len(done) == 1 {
		return args
	}
	return append(done, sorted(words, flags)...)
}

// named returns the command that the first word that is not a flag names, or nil.
func named(list []*cli.Command, words []string) *cli.Command {
	for _, word := range words {
		if command.IsFlag(word) {
			continue
		}
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(word) })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	return nil
}

// parted splits the flags that stand before a command: move has those that the command or its subcommand has
// too, stay the others.
func parted(words []string, flags, takers []cli.Flag) (stay, move []string) {
	for len(words) > 0 {
		n := taken(words, flags)
		name, _, _ := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
		if slices.ContainsFunc(takers, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			move = append(move, words[:n]...)
		} else {
			stay = append(stay, words[:n]...)
		}
		words = words[n:]
	}
	return stay, move
}

// sorted returns the same words with the flags and their values first.
func sorted(words []string, flags []cli.Flag) []string {
	var first, rest []string
	for len(words) > 0 {
		if words[0] == "--" {
			rest = append(rest, words...)
			break
		}
		if !command.IsFlag(words[0]) {
			rest, words = append(rest, words[0]), words[1:]
			continue
		}
		n := taken(words, flags)
		if n > len(words) { // a value is missing; the words before it are not values
			return append(first, words...)
		}
		first, words = append(first, words[:n]...), words[n:]
	}
	return append(first, rest...)
}

// taken returns how many words the flag at the beginning uses: itself, and its value if it has one.
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
	return 1 // help, or an unknown flag, which the parser will refuse
}
