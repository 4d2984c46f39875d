package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

func TestFlagsGoFirst(t *testing.T) {
	app := env{}.app()
	for _, c := range []struct{ words, want string }{
		{"replay RUN --decisions", "replay --decisions RUN"},
		{"replay RUN --decisions --only 1,2 --json", "replay --decisions --only 1,2 --json RUN"},
		{"decide --explain RUN --number 3", "decide --explain --number 3 RUN"},
		{"decide RUN --number=3", "decide --number=3 RUN"},
		{"decide --input -", "decide --input -"},
		{"decide - --json", "decide --json -"},
		{"sessions show RUN --json", "sessions show --json RUN"},
		{"sessions --json ls", "sessions ls --json"},
		{"sessions --json --state-dir ls ls --state-dir x", "sessions ls --json --state-dir ls --state-dir x"},
		{"memory --json edit FILE", "memory --json edit FILE"}, // edit has no such flag
		{"--state-dir replay replay RUN --decisions", "replay --state-dir replay --decisions RUN"},
		{"--task x --cwd w grants --state-dir=s rm 1", "--task x grants rm --cwd w --state-dir=s 1"},
		{"--debug replay RUN --unknown x", "replay --debug --unknown RUN x"},
		{"replay RUN -- --decisions", "replay RUN -- --decisions"},
		{"replay RUN --only", "replay --only"}, // a value is missing, and the error says so
		{"--json --task decide", "--json --task decide"},
		{"REQUIREMENTS.md --json", "REQUIREMENTS.md --json"}, // no command: refused with a reason
		{"", ""},
		{"--task", "--task"},
	} {
		got := command.ReadLine(app, strings.Fields(c.words)).Ordered()
		if text := strings.Join(got[1:], " "); text != c.want {
			t.Errorf("%q becomes %q, want %q", c.words, text, c.want)
		}
	}
}

// TestFlagsBeforeACommand: a command gets its flags even if they stand before it.
func TestFlagsBeforeACommand(t *testing.T) {
	values := func(f cli.Flag) (given []string, want string) {
		name := "--" + f.Names()[0]
		switch f := f.(type) {
		case *cli.BoolFlag:
			return []string{name}, "true"
		case *cli.IntFlag:
			return []string{name, "7"}, "7"
		case *cli.Float64Flag:
			return []string{name, "2.5"}, "2.5"
		case *cli.DurationFlag:
			return []string{name, "90s"}, "1m30s"
		case *cli.StringSliceFlag:
			return []string{name, "a=b"}, "[a=b]"
		case *cli.StringFlag:
			return []string{name, "text"}, "text"
		default:
			t.Fatalf("%s is of type %T", name, f)
			return nil, ""
		}
	}
	tried := 0
	try := func(before, behind []string, outer, inner []cli.Flag) {
		for _, f := range inner {
			if !slices.ContainsFunc(outer, func(o cli.Flag) bool { return o.Names()[0] == f.Names()[0] }) {
				continue
			}
			given, want := values(f)
			app := env{}.app()
			got := "nothing"
			note := func(c *cli.Context) error {
				got = fmt.Sprint(c.Value(f.Names()[0]))
				if list, ok := c.Value(f.Names()[0]).(cli.StringSlice); ok {
					got = fmt.Sprint(list.Value())
				}
				return nil
			}
			for _, c := range app.Commands {
				for _, c := range append(c.Subcommands, c) {
					c.Action = note
				}
			}
			line := slices.Concat(before, given, behind)
			if err := app.Run(command.ReadLine(app, line).Ordered()); err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", strings.Join(line, " "), got, err, want)
			}
			tried++
		}
	}
	app := env{}.app()
	for _, c := range app.Commands {
		if c.SkipFlagParsing {
			continue
		}
		try(nil, []string{c.Name}, app.Flags, c.Flags)
		for _, sub := range c.Subcommands {
			try(nil, []string{c.Name, sub.Name}, app.Flags, sub.Flags)
			try([]string{c.Name}, []string{sub.Name}, c.Flags, sub.Flags)
		}
	}
	if tried < 30 {
		t.Errorf("only %d flags tried", tried)
	}
}

func TestHelpIsAskedForByAWord(t *testing.T) {
	for words, want := range map[string]string{
		"help":             "arbiter COMMAND",
		"help attach":      "arbiter attach - ",
		"help grants rm":   "arbiter grants rm - ",
		"grants rm --help": "NUMBER|RULE",
		"logs --help":      "--verify FILE",
	} {
		var out, errs strings.Builder
		if code := run(append([]string{"arbiter"}, strings.Fields(words)...), strings.NewReader(""), &out,
			&errs); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s%s", words, code, out.String(), errs.String())
		}
	}
}
