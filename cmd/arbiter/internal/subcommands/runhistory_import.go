package subcommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func ImportCommand(io command.Env) *cli.Command {
	e := historyEnv{io}
	return &cli.Command{
		Name: "import", Usage: "add a run from an archive", ArgsUsage: "FILE|-",
		Description: strings.TrimSpace(`
Prints the id of the run, which continues in the current directory, or in --cwd. Nothing is changed unless the whole
archive is good. An existing run is never replaced. If the archive has files, the directory must be of a
clone that has the commit which the run began with; files that you changed are never overwritten. An archive can hold
any command and any permission: import only what you exported.

  arbiter sessions import run.tar.gz
  arbiter --resume --task "The answer to its question"

Exit codes: 0 imported; 1 the archive is refused: damaged, of another version, the run is there already, or files are in
the way; 2 bad usage, no such file; 5 the state directory or files cannot be written.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "cwd", TakesFile: true,
				Usage: "the run continues in `DIR` (default: the current directory)"},
			&cli.BoolFlag{Name: "no-files", Usage: "write no files: the directory has them already"},
		},
		Action: e.importSession,
	}
}

func (e historyEnv) importSession(c *cli.Context) error {
	name := c.Args().First()
	if c.NArg() != 1 || name == "" {
		return command.Usagef("sessions import: give one FILE, or - for stdin")
	}
	place, err := command.Workspace(c)
	if err != nil {
		return err
	}
	in := e.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return command.Usagef("cannot read %s: %v", name, command.WithoutPath(err))
		}
		defer f.Close()
		in = f
	}
	if name == "-" {
		name = "stdin"
	}
	archive, err := runstore.NewReader(in)
	if err != nil {
		return importError(name, "", err)
	}
	if v := archive.Manifest.State; v != supervisor.StateVersion {
		return Refused("%s was exported by arbiter %s, whose runs this version cannot read: import it with that "+
			"version", name, sanitize.Line(archive.Manifest.Arbiter, 60))
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	message, err := takeArchive(c.Context, store, archive, place, !c.Bool("no-files"))
	if err != nil {
		return importError(name, archive.Manifest.Run, err)
	}
	if message != "" {
		fmt.Fprintln(e.Stderr, message)
	}
	fmt.Fprintln(e.Stdout, archive.Manifest.Run)
	return nil
}

// importError explains why an archive was not imported.
func importError(name, run string, err error) error {
	var bad *runstore.ArchiveError
	var other *runstore.OtherError
	var damaged *journal.DamagedError
	var held *journal.HeldError
	var files *filesError
	switch {
	case errors.Is(err, syscall.EISDIR):
		return command.Usagef("%s is a directory: give the FILE that arbiter sessions export wrote", name)
	case errors.As(err, &bad):
		return Refused("%s is refused: %s; nothing was imported", name, bad.Reason)
	case errors.Is(err, journal.ErrExists):
		return Refused("run %s exists already, and was not changed: continue it (arbiter --resume --session "+
			"%[1]s), or remove it first (arbiter sessions rm %[1]s)", command.ShortID(run))
	case errors.As(err, &other), errors.As(err, &damaged):
		return Refused("%s is refused: %v; nothing was imported", name, err)
	case errors.As(err, &files):
		return Refused("the files of run %s are not written: %v; or use --no-files, if the directory has them "+
			"already",
			command.ShortID(run), files.error)
	case errors.As(err, &held):
		return command.Environmentf("import %s: another import is under way (process %d): try again", name, held.PID)
	}
	return command.Environmentf("import %s: %v", name, err)
}

// takeArchive imports a run completely or not at all. It returns a message for the user.
func takeArchive(
	ctx context.Context, store *runstore.Runs, archive *runstore.ArchiveReader, place string, files bool,
) (message string, err error) {
	m := archive.Manifest
	staged, err := store.Stage(m.Run)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	err = archive.Each(func(f runstore.ArchiveFile, content io.Reader) error {
		return staged.Add(strings.TrimPrefix(f.Path, runstore.RunDir+"/"), content)
	})
	if err != nil {
		return "", err
	}
	config := runstore.ClaudeConfig(runconfig.Options{CWD: place})
	if _, err := runstore.CheckArchive(filepath.Join(staged.Path(), runstore.ProjectsDir), config); err != nil {
		return "", err
	}
	err = staged.Commit(func(m *journal.Meta) { m.CWD, m.Workspace = place, "" }, func() (err error) {
		if !m.HasBundle() {
			return nil
		}
		bundle := filepath.Join(staged.Path(), runstore.ArchiveBundle)
		if files {
			message, err = unpackFiles(ctx, m, place, bundle)
		}
		return errors.Join(err, os.Remove(bundle))
	})
	return message, err
}

// unpackFiles writes the files of a run into a directory, and returns a message about its commits.
func unpackFiles(ctx context.Context, m runstore.ArchiveManifest, place, bundle string) (message string, err error) {
	repo, err := workspaces.Open(ctx, workspaces.Options{Dir: place, Run: m.Run})
	if err != nil {
		return "", &filesError{err}
	}
	head, err := workspaces.UnpackRun(ctx, repo, bundle, m.Base)
	if err != nil {
		return "", &filesError{err}
	}
	if now, err := repo.Commit(ctx, "HEAD"); err != nil || head == m.Base || head == now.ID {
		return "", err
	}
	return fmt.Sprintf("The run had committed its work up to %s. To have these commits on the branch here: git reset "+
		"%[1]s", head), nil
}

// filesError says why the files of a run were not written.
type filesError struct{ error }

func (e *filesError) Unwrap() error { return e.error }
