package settings

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// UsageProblem rewrites an error of the flag parser in plain words.
func UsageProblem(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	known := map[string]command.Flag{}
	for _, doc := range command.Flags(c.Command) {
		known["--"+doc.Name] = doc
	}
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		meant := command.Meant("--"+name, slices.Sorted(maps.Keys(known)))
		return command.Usagef("unknown flag %s%s", dashed(name), strings.TrimSuffix("; "+meant, "; "))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return command.Usagef("--%s needs a value: %s", name, known["--"+name].Value)
	}
	if m := badVariable().FindStringSubmatch(text); m != nil {
		return command.Usagef("$%s %q: use %s", m[2], m[1], wanted(c.Command.Flags, m[3]))
	}
	text, unread := strings.CutSuffix(text, ": parse error") // it does not say of what kind the flag is
	text, large := strings.CutSuffix(text, ": value out of range")
	text, name, _ := strings.Cut(strings.Replace(text, " for -", " for flag -", 1), " for flag -")
	if name, twice := strings.CutSuffix(name, ": "+errGivenTwice.Error()); twice {
		return command.Usagef("--%s is given twice: give it once, or put a long task into a requirements file", name)
	}
	value, quoted := strings.CutPrefix(strings.Replace(text, " boolean", "", 1), "invalid value ")
	switch {
	case large && quoted:
		return command.Usagef("--%s %s: the number is too large", name, value)
	case !unread || !quoted:
		return command.Usagef("%v", err)
	}
	return command.Usagef("--%s %s: use %s", name, value, wanted(c.Command.Flags, name))
}

// badVariable matches the parser's error about an environment variable.
var badVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^could not parse "(.*)" as .* from environment variable "(\w+)" for flag ([a-z-]+): `)
})

// wanted describes the value that a flag takes.
func wanted(flags []cli.Flag, name string) string {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name })
	if i < 0 {
		return "another value"
	}
	switch flags[i].(type) {
	case *cli.BoolFlag:
		return KindBool.Article()
	case *cli.DurationFlag:
		return KindDuration.Article()
	case *cli.IntFlag:
		return kindInt.Article()
	}
	return kindNumber.Article()
}

// dashed returns a flag as it was typed, as far as the parser says.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Command lines in messages work as printed: in the same directory and environment, regardless of the flags that
// started the run.

// ResumeLine returns the command that resumes a run of a state directory. face is a frontend flag with a trailing
// space, or empty.
func ResumeLine(frontend, run, state string) string {
	return command.Program() + " " + frontend + "--resume --session " + command.ShortID(run) + StateForResume(state)
}

// StateForResume returns the flag that makes arbiter, without a subcommand, use a state directory. It has a leading
// space, and is empty if arbiter uses that directory anyway.
func StateForResume(state string) string { return leads(state, stateByItself) }

// StateForCommand is the same for subcommands such as logs, which read no configuration.
func StateForCommand(state string) string {
	return leads(state, func() (string, error) { return command.StatePath(os.Getenv("ARBITER_STATE_DIR")) })
}

func leads(state string, found func() (string, error)) string {
	if dir, err := found(); err == nil && command.SameDir(dir, state) {
		return ""
	}
	return " --state-dir " + words.Quote(state)
}

// stateByItself returns the state directory that arbiter uses in the current directory without a flag: from its
// variable, or else from the configuration, or else the default.
func stateByItself() (dir string, err error) {
	app := &cli.App{
		Flags: Flags(), HideHelp: true, HideVersion: true, Writer: io.Discard, ErrWriter: io.Discard,
		ExitErrHandler: func(*cli.Context, error) {}, // the default one calls os.Exit
		Action: func(c *cli.Context) error {
			place, err := command.Workspace(c)
			if err != nil {
				return err
			}
			if _, err := ApplyConfig(c, place, trustedForConfig(c, place)); err != nil {
				return err
			}
			dir, err = command.StatePath(c.String("state-dir"))
			return err
		},
	}
	err = app.Run([]string{"arbiter"})
	return dir, err
}

// trustedForConfig reports whether the configuration of a workspace would be read. It does not create the state
// directory, which may not be used at all.
func trustedForConfig(c *cli.Context, place string) bool {
	state, err := command.StatePath(c.String("state-dir"))
	if err != nil {
		return false
	}
	for _, path := range []string{filepath.Join(place, ".arbiter", "config.yaml"), filepath.Join(state, "trust")} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	t, err := TrustOf(c, place)
	return err == nil && t.Trusted
}

func StateDirFlag() cli.Flag { return FlagOf("state-dir") }
