package settings

import (
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Command lines in messages work as printed: in the same directory and environment, regardless of the flags that
// started the run.

// ResumeLine returns the command that resumes a run of a state directory. face is a frontend flag with a trailing
// space, or empty.
func ResumeLine(frontend, run, state string) string {
	return "arbiter " + frontend + "--resume --session " + command.ShortID(run) + StateForResume(state)
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
