package subcommands

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// WorkCommands returns the commands about the changes of a run.
func WorkCommands(io command.Env) []*cli.Command {
	e := workEnv{io}
	return []*cli.Command{e.reportCommand(), e.usageCommand(), e.diffCommand(), e.undoCommand(), e.landCommand()}
}

// maxWarning bounds a warning about the repository, in bytes.
const maxWarning = 4000

// openWork finds a run (without a name, the last one in this directory), and opens the files that it worked on. It
// warns of what an agent may have planted there.
func (e workEnv) openWork(c *cli.Context, name string) (*workspaces.Repo, journal.Info, error) {
	store, err := runstore.Open(c)
	if err != nil {
		return nil, journal.Info{}, err
	}
	defer store.Close()
	info, err := NamedOrLatest(store, name)
	if err != nil {
		return nil, info, err
	}
	r, err := runstore.PastWork(c.Context, store.Root, info)
	if errors.Is(err, os.ErrNotExist) {
		return nil, info, command.Environmentf("the directory of run %s: %v", command.ShortID(info.Run),
			command.WithoutPath(err))
	}
	if err != nil {
		return nil, info, command.Environmentf("%s: %v", runstore.WorkDir(info), err)
	}
	planted, err := r.Planted(c.Context)
	if err != nil {
		return nil, info, command.Environmentf("%s: %v", runstore.WorkDir(info), err)
	}
	for _, text := range []string{planted, r.Notice()} {
		if text != "" {
			fmt.Fprintf(e.Stderr, "arbiter: %s\n", sanitize.Line(text, maxWarning))
		}
	}
	return r, info, nil
}

// NamedOrLatest finds a run by its name; without a name, the last one in this directory.
func NamedOrLatest(store *runstore.Runs, name string) (journal.Info, error) {
	if name != "" {
		return runstore.Find(store.Store, name)
	}
	place, err := os.Getwd()
	if err != nil {
		return journal.Info{}, command.Environmentf("the current directory cannot be read: %v", err)
	}
	info, err := store.Latest(place, nil)
	if errors.Is(err, journal.ErrNotFound) {
		err = command.Usagef("no run has worked in %s: name a RUN (arbiter sessions lists the runs)", place)
	}
	return info, err
}

// WorkError explains why there is nothing to compare.
func WorkError(info journal.Info, err error) error {
	if errors.Is(err, workspaces.ErrNoSnapshot) {
		return Refused("run %s has no snapshot in %s: it worked without Git, or the references below refs/arbiter "+
			"were removed",
			command.ShortID(info.Run), info.CWD)
	}
	return command.Environmentf("run %s: %v", command.ShortID(info.Run), err)
}

// printFiles prints text of files unchanged; on a terminal, without control characters.
func printFiles(w io.Writer, text string) error {
	w = command.Raw(w)
	if command.OnTerminal(w) {
		text = sanitize.Text(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// FileName returns a path as one printable line.
func FileName(path string) string {
	return sanitize.Line(path, 0)
}

// workEnv has the standard streams, and the commands of this package as methods.
type workEnv struct{ command.Env }
