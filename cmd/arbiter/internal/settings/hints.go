package settings

import (
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/placetrust"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Command lines in messages work as they are printed: in the same directory and
// with the same environment, whatever flags led to the run.

// ResumeLine resumes a run of a state directory. The frontend is a flag with a space
// behind it, or nothing.
func ResumeLine(face, run, state string) string {
	return "arbiter " + face + "--resume --session " + command.ShortID(run) + StateForResume(state)
}

// StateForResume is what leads arbiter without a command to a state directory, with a space
// before it; empty where it goes there without one.
func StateForResume(state string) string { return leads(state, stateByItself) }

// StateForCommand is the same for a command, such as logs. Those read no configuration.
func StateForCommand(state string) string {
	return leads(state, func() (string, error) { return command.StatePath(os.Getenv("ARBITER_STATE_DIR")) })
}

func leads(state string, found func() (string, error)) string {
	if dir, err := found(); err == nil && command.SameDir(dir, state) {
		return ""
	}
	return " --state-dir " + words.Quote(state)
}

// stateByItself is the state directory that arbiter finds in the current directory without
// a flag: by its variable, else as the configuration has it, else the usual one.
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

// trustedForConfig reports whether the configuration of a workspace would be read. To look
// makes no state directory: it may be one that is not used.
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
	t, err := placetrust.Of(c, place)
	return err == nil && t.Trusted
}

func StateDirFlag() cli.Flag { return FlagOf("state-dir") }
