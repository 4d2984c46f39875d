package subcommands

// This part of the package has the commands that read the record of a run (its story, its audit, its events,
// its agents and messages), and the commands that export and import runs as archives.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func ExportCommand(io command.Env) *cli.Command {
	e := historyEnv{io}
	return &cli.Command{
		Name: "export", Usage: "write a run to an archive, to continue it elsewhere", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. The archive has the journal of the run, the images of its
messages, the transcripts of its sessions and, in a Git repository, the files that differ from the last commit before
the run, for arbiter sessions import. Transcripts are as Claude Code wrote them, secrets included: anyone with
the archive can read them, and can continue the run.

  arbiter sessions export --output run.tar.gz

Exit codes: 0 written; 1 the run cannot be exported; 2 bad usage, no such run, or the run is live; 5 the archive cannot
be written, or the run cannot be read.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "output", TakesFile: true,
				Usage: "write to `FILE`, as a whole or not at all; - is stdout (default: arbiter-RUN8.tar.gz)"},
		},
		Action: e.exportSession,
	}
}

func (e historyEnv) exportSession(c *cli.Context) error {
	file := c.String("output")
	switch {
	case c.IsSet("output") && strings.TrimSpace(file) == "":
		return command.Usagef("--output is empty: name a file, or - for stdout")
	case file == "-" && command.OnTerminal(command.Raw(e.Stdout)):
		return command.Usagef("an archive cannot be written to a terminal: name a file with --output")
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := NamedOrLatest(store, c.Args().First())
	if err != nil {
		return err
	}
	kept, err := store.Keep(info.Run)
	var held *journal.HeldError
	if errors.As(err, &held) {
		return command.Usagef("run %s is still running (process %d): end it first", command.ShortID(info.Run), held.PID)
	}
	if err != nil {
		return command.Environmentf("export run %s: %v", command.ShortID(info.Run), err)
	}
	defer kept.Close()
	manifest, files, err := filesToExport(store, kept)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "arbiter-export-*")
	if err != nil {
		return command.Environmentf("export run %s: %v", command.ShortID(info.Run), err)
	}
	defer os.RemoveAll(temp)
	bundle := filepath.Join(temp, runstore.ArchiveBundle)
	if manifest.Base, err = packFiles(c.Context, store.Root, info, bundle); err != nil {
		return command.Environmentf("export run %s: its files: %v", command.ShortID(info.Run), err)
	}
	if manifest.Base != "" {
		files = append(files, runstore.ArchiveLocal(runstore.ArchiveBundle, bundle))
	}
	if file == "" {
		file = "arbiter-" + command.ShortID(info.Run) + ".tar.gz"
	}
	if err := e.writeArchive(file, manifest, files); err != nil {
		return command.Environmentf("export run %s: write %s: %v", command.ShortID(info.Run), file, command.WithoutPath(err))
	}
	if file != "-" {
		fmt.Fprintln(e.Stdout, file)
	}
	return nil
}

// filesToExport lists the files for the archive of a run.
func filesToExport(
	store *runstore.Runs,
	kept *journal.Kept,
) (runstore.ArchiveManifest, []runstore.ArchiveSource, error) {
	m := kept.Meta()
	run := command.ShortID(m.Run)
	manifest := runstore.ArchiveManifest{Arbiter: command.Version(), State: supervisor.StateVersion, Run: m.Run,
		Workspace: m.CWD}
	state, recovery, err := runstore.LastState(store, m.Run)
	if err != nil {
		return manifest, nil, command.Environmentf("read run %s: %v", run, err)
	}
	work, err := store.HasWork(m.Run)
	if err != nil {
		return manifest, nil, command.Environmentf("read run %s: %v", run, err)
	}
	_, waiting := os.Lstat(filepath.Join(store.Dir(m.Run), runstore.ProjectsDir))
	switch {
	case waiting == nil:
		return manifest, nil, Refused("run %s was imported and has not continued since: use the archive that "+
			"it came from", run)
	case m.Rehearsal:
		return manifest, nil, Refused("run %s is a rehearsal: its directory and its model exist on this machine only",
			run)
	case recovery.Harmed():
		return manifest, nil, Refused("the journal of run %s is damaged (%s): it can be read here (arbiter logs), "+
			"and not be exported", run, recovery.Damage[0])
	case !state.Reached():
		return manifest, nil, Refused("run %s has nothing to continue: it never started an agent", run)
	case work:
		return manifest, nil, Refused("run %s has work in directories of its Orchestrators, which an archive does "+
			"not carry: complete it here (arbiter --resume --session %[1]s) and land the result (arbiter land %[1]s), or "+
			"begin runs that are to be exported with --isolation %s", run, runconfig.IsolationShared)
	}
	names, err := kept.Files()
	if err != nil {
		return manifest, nil, command.Environmentf("read run %s: %v", run, err)
	}
	var files []runstore.ArchiveSource
	for _, name := range names {
		files = append(files, runstore.ArchiveSource{Path: runstore.RunDir + "/" + name,
			Open: func() (io.ReadCloser, int64, error) { return kept.Open(name) }})
	}
	shown, err := imagesOf(store.Dir(m.Run))
	if err != nil {
		return manifest, nil, command.Environmentf("read the images of run %s: %v", run, command.WithoutPath(err))
	}
	files = append(files, shown...)
	config := runstore.ClaudeConfig(state.Options)
	for _, a := range state.Agents {
		found, err := runstore.Transcripts(config, a.SessionID)
		if err != nil {
			return manifest, nil, command.Environmentf("export run %s: the session of %s: %v", run, a.ID, err)
		}
		files = append(files, found...)
	}
	return manifest, files, nil
}

// imagesOf lists the images of a run's messages, without temporary files that were never renamed. The caller must
// hold the lock of the run.
func imagesOf(dir string) ([]runstore.ArchiveSource, error) {
	entries, err := os.ReadDir(filepath.Join(dir, runstore.ImagesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []runstore.ArchiveSource
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.Contains(e.Name(), ".") {
			files = append(files, runstore.ArchiveLocal(path.Join(runstore.RunDir, runstore.ImagesDir, e.Name()),
				filepath.Join(dir, runstore.ImagesDir, e.Name())))
		}
	}
	return files, err
}

// packFiles writes the files of a run to a Git bundle, and returns the commit that the bundle builds on. If the run
// has recorded no files, base is empty and there is no bundle.
func packFiles(ctx context.Context, stateDir string, info journal.Info, file string) (base string, err error) {
	repo, err := runstore.PastWork(ctx, stateDir, info)
	if err == nil {
		base, err = workspaces.PackRun(ctx, repo, file)
	}
	none := []error{workspaces.ErrNoGit, workspaces.ErrNoCommit, workspaces.ErrNoSnapshot, os.ErrNotExist}
	if slices.ContainsFunc(none, func(target error) bool { return errors.Is(err, target) }) {
		return "", nil
	}
	return base, err
}

// writeArchive writes an archive that only the user can read. A file is written atomically.
func (e historyEnv) writeArchive(file string, m runstore.ArchiveManifest, files []runstore.ArchiveSource) error {
	if file == "-" {
		return runstore.WriteArchive(command.Raw(e.Stdout), m, files)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return errors.New("it exists and is not a regular file")
	}
	return statedir.WriteWhole(file, 0o600, func(f *os.File) error { return runstore.WriteArchive(f, m, files) })
}
