package subcommands

// This part of the package has the commands that read the record of a run (its story, its audit, its events,
// its agents and messages), and the commands that export and import runs as archives.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// audit prints or verifies an audit.
func (e Env) audit(c *cli.Context, store *runstore.Runs) error {
	if c.IsSet("verify") {
		return e.verifyAudit(c, store)
	}
	info, err := runstore.NamedOrLatest(c, store, c.Args().First())
	if err != nil {
		return err
	}
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		return err
	}
	defer log.Close()
	w := bufio.NewWriter(e.Stdout)
	emit := func(l supervisor.AuditLine) error { return supervisor.PrintAudit(w, l) }
	if c.Bool("json") {
		emit = func(l supervisor.AuditLine) error {
			_, err := w.Write(append(contract.AppendSafe(nil, l.Raw), '\n'))
			return err
		}
	}
	err = supervisor.AuditOf(c.Context, log, info.Run, c.Bool("text"), emit)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return command.Environmentf("audit run %s: %v", command.ShortID(info.Run), err)
	}
	return nil
}

// verifyAudit verifies an audit file. A break in it is an error with the line number.
func (e Env) verifyAudit(c *cli.Context, store *runstore.Runs) error {
	if c.NArg() > 1 || c.Bool("json") || c.Bool("text") {
		return command.Usagef("logs --verify FILE: give at most one RUN, without --json and --text")
	}
	f, err := os.Open(c.String("verify"))
	if err != nil {
		return command.Usagef("--verify %s: %v", c.String("verify"), command.WithoutPath(err))
	}
	defer f.Close()
	a, err := supervisor.ReadAudit(f)
	if err != nil {
		return brokenf(err)
	}
	if c.NArg() == 1 && !strings.HasPrefix(a.Run, c.Args().First()) {
		return command.Failedf("the audit is of run %s", command.ShortID(a.Run))
	}
	with := "its run is not here: nothing but the chain was checked"
	switch _, err := store.Find(a.Run); {
	case err == nil:
		log, err := store.OpenEventLog(a.Run)
		if err != nil {
			return err
		}
		defer log.Close()
		if err := a.Against(c.Context, log); err != nil {
			return brokenf(err)
		}
		with = "it agrees with the journal"
	case !errors.Is(err, journal.ErrNotFound):
		return command.Environmentf("find run %s: %v", command.ShortID(a.Run), err)
	}
	fmt.Fprintf(e.Stdout, "%d lines of run %s hold; %s\n", a.Len(), command.ShortID(a.Run), with)
	return nil
}

// brokenf returns the error for an audit that is broken or cannot be read.
func brokenf(err error) error {
	if broken, ok := errors.AsType[*supervisor.Broken](err); ok {
		return command.Failedf("the audit does not hold: %s", broken.Error())
	}
	return command.Environmentf("verify: %v", err)
}

func (e Env) ExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a run to an archive, to continue it elsewhere", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. The archive has the run's journal, images, transcripts and, in a
Git repository, the files that differ from the commit before the run. Transcripts contain secrets that agents read:
anyone with the archive can read them, and can continue the run.

  arbiter sessions export --output run.tar.gz

Exit code 1: the run cannot be exported.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "output", TakesFile: true,
				Usage: "write to `FILE`, as a whole or not at all; - is stdout (default: arbiter-RUN8.tar.gz)"},
		},
		Action: e.exportSession,
	}
}

func (e Env) exportSession(c *cli.Context) error {
	file := c.String("output")
	switch {
	case c.IsSet("output") && strings.TrimSpace(file) == "":
		return command.Usagef("--output is empty: name a file, or - for stdout")
	case file == "-" && command.OnTerminal(command.Raw(e.Stdout)):
		return command.Usagef("an archive cannot be written to a terminal: name a file with --output")
	}
	ctx := c.Context
	if file != "-" { // a part of an archive, with its secrets, must not stay
		var stop func()
		ctx, stop = command.Interruptible(ctx, false)
		defer stop()
	}
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	kept, err := store.Keep(info.Run)
	if held, ok := errors.AsType[*journal.HeldError](err); ok && !held.Gone {
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
	manifest.Base, err = e.packFiles(ctx, store.Root, info, bundle)
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Environmentf("export run %s: its files: %v", command.ShortID(info.Run), err)
	}
	if manifest.Base != "" {
		files = append(files, runstore.ArchiveLocal(runstore.ArchiveBundle, bundle))
	}
	if file == "" {
		file = "arbiter-" + command.ShortID(info.Run) + ".tar.gz"
	}
	switch err := e.writeArchive(ctx, file, manifest, files); {
	case ctx.Err() != nil && err != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Environmentf("export run %s: write %s: %v", command.ShortID(info.Run), file, command.WithoutPath(err))
	}
	if file != "-" {
		fmt.Fprintln(e.Stdout, file)
	}
	return nil
}

// filesToExport lists the files for the archive of a run.
func filesToExport(
	store *runstore.Runs, kept *journal.Kept,
) (runstore.ArchiveManifest, []runstore.ArchiveSource, error) {
	m := kept.Meta
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
	resume := "arbiter --resume --session " + run + settings.StateForResume(store.Root)
	_, waiting := os.Lstat(filepath.Join(store.Dir(m.Run), runstore.ProjectsDir))
	_, unplaced := os.Lstat(filepath.Join(store.Dir(m.Run), runstore.ForkPlanName))
	switch {
	case unplaced == nil, waiting == nil && m.ForkedFrom != nil && !m.Imported:
		return manifest, nil, command.Failedf("run %s was forked and has not begun: continue it first (%s)", run, resume)
	case waiting == nil:
		return manifest, nil, command.Failedf("run %s was imported and has not continued since: use the archive that "+
			"it came from", run)
	case m.Rehearsal:
		return manifest, nil, command.Failedf("run %s is a rehearsal: its directory and its model exist on this machine only",
			run)
	case recovery.Harmed():
		return manifest, nil, command.Failedf("the journal of run %s is damaged (%s): it can be read here (arbiter logs), "+
			"and not be exported", run, recovery.Damage[0])
	case !state.Reached():
		return manifest, nil, command.Failedf("run %s has nothing to continue: it never started an agent", run)
	case work:
		return manifest, nil, command.Failedf("run %s has work in directories of its Orchestrators, which an archive does "+
			"not carry: complete it here (%s) and land the result (arbiter land %[1]s%[3]s), or begin runs that are to be "+
			"exported with --isolation %[4]s", run, resume, settings.StateForCommand(store.Root), runconfig.IsolationShared)
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
	shown, err := runstore.ImagesOf(store.Dir(m.Run))
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

// packFiles writes the files of a run to a Git bundle, and returns the commit that the bundle builds on. If the run
// has recorded no files, base is empty and there is no bundle.
func (e Env) packFiles(ctx context.Context, stateDir string, info journal.Info, file string) (base string,
	err error) {
	repo, err := runstore.PastWork(ctx, stateDir, info)
	if err == nil {
		err = warnOf(ctx, e.Stderr, repo)
	}
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
func (e Env) writeArchive(
	ctx context.Context, file string, m runstore.ArchiveManifest, files []runstore.ArchiveSource,
) error {
	if file == "-" {
		return runstore.WriteArchive(ctx, command.Raw(e.Stdout), m, files)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return errors.New("it exists and is not a regular file")
	}
	return statedir.WriteWhole(file, 0o600, func(f *os.File) error { return runstore.WriteArchive(ctx, f, m, files) })
}

func (e Env) ImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "add a run from an archive", ArgsUsage: "FILE|-",
		Description: strings.TrimSpace(`
Prints the id of the run, which continues in the current directory, or in --cwd. Nothing is changed unless the whole
archive is good. An existing run, and files that you changed, are never overwritten. If the archive has files, the
directory must be of a clone that has the commit which the run began with. An archive can hold any command and any
permission: import only what you exported.

  arbiter sessions import run.tar.gz
  arbiter --resume --task "The answer to its question"

Exit code 1: the archive is refused: damaged, of another version, the run is there already, or files are in the way.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "cwd", TakesFile: true,
				Usage: "the run continues in `DIR` (default: the current directory)"},
			&cli.BoolFlag{Name: "no-files", Usage: "write no files: the directory has them already"},
		},
		Action: e.importSession,
	}
}

func (e Env) importSession(c *cli.Context) error {
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
		return importError(name, "", "", err)
	}
	if v := archive.Manifest.State; v != supervisor.StateVersion {
		return command.Failedf("%s was exported by arbiter %s, whose runs this version cannot read: import it with that "+
			"version", name, sanitize.Line(archive.Manifest.Arbiter, 60))
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	message, err := takeArchive(c.Context, store, archive, place, !c.Bool("no-files"))
	if err != nil {
		return importError(name, archive.Manifest.Run, store.Root, err)
	}
	if message != "" {
		fmt.Fprintln(e.Stderr, message)
	}
	fmt.Fprintln(e.Stdout, archive.Manifest.Run)
	return nil
}

// importError explains why an archive was not imported into the runs of a state directory.
func importError(name, run, state string, err error) error {
	var bad *runstore.ArchiveError
	var damaged *journal.DamagedError
	var held *journal.HeldError
	switch files, ok := errors.AsType[*filesError](err); {
	case errors.Is(err, syscall.EISDIR):
		return command.Usagef("%s is a directory: give the FILE that arbiter sessions export wrote", name)
	case errors.As(err, &bad):
		return command.Failedf("%s is refused: %s; nothing was imported", name, bad.Reason)
	case errors.Is(err, journal.ErrExists):
		return command.Failedf("run %s exists already, and was not changed: continue it (arbiter --resume --session "+
			"%[1]s%s), or remove it first (arbiter sessions rm %[1]s%s)", command.ShortID(run),
			settings.StateForResume(state), settings.StateForCommand(state))
	case errors.As(err, &damaged):
		return command.Failedf("%s is refused: %v; nothing was imported", name, err)
	case ok:
		return command.Failedf("the files of run %s are not written: %v; or use --no-files, if the directory has them "+
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
		if !slices.ContainsFunc(m.Files, func(f runstore.ArchiveFile) bool { return f.Path == runstore.ArchiveBundle }) {
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

// Logs is `arbiter logs`.
func (e Env) Logs(c *cli.Context, store *runstore.Runs) error {
	audit := c.Bool("audit") || c.IsSet("verify")
	switch {
	case audit && (c.Bool("follow") || c.Bool("program")):
		return command.Usagef("logs: --follow and --program are for the log, not for --audit or --verify")
	case audit:
		return e.audit(c, store)
	case c.Bool("json") || c.Bool("text"):
		return command.Usagef("logs: --json and --text need --audit")
	case c.NArg() > 1:
		return command.Usagef("logs: give at most one RUN; arbiter sessions lists the runs")
	}
	find := func() (journal.Info, error) { return runstore.NamedOrLatest(c, store, c.Args().First()) }
	if c.NArg() == 0 && c.Bool("follow") {
		find = func() (journal.Info, error) { return runstore.FindLive(store, "") }
	}
	info, err := find()
	if err != nil {
		return err
	}
	follow := c.Bool("follow") && info.Live
	switch {
	case !c.Bool("program"):
		return e.printStory(c, store, info, follow)
	case follow:
		return e.followLog(c.Context, store, info)
	}
	found := false
	for _, name := range []string{runstore.LogName + ".1", runstore.LogName} {
		some, err := e.printLog(filepath.Join(store.Dir(info.Run), name))
		if err != nil {
			return command.Environmentf("log: %v", err)
		}
		found = found || some
	}
	if !found {
		return command.Usagef("run %s has no log", command.ShortID(info.Run))
	}
	return nil
}

// printStory prints the story of a run. With follow it continues while the run is live.
func (e Env) printStory(c *cli.Context, store *runstore.Runs, info journal.Info, follow bool) error {
	if follow {
		command.OutliveReaders()
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	w := &storyWriter{out: e.Stdout}
	line := uint64(0) // of the log, the last one that was told
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		return err
	}
	defer log.Close()
	var health journal.LogHealth
	tell := func() error {
		health, err = log.Each(ctx, health.Next, func(entry journal.LogEntry) error {
			if entry.Line == nil {
				return nil
			}
			line = entry.N
			return w.write(entry.Line)
		})
		switch {
		case ctx.Err() != nil:
			return command.BySignal(ctx, "")
		case err != nil:
			return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
		}
		runstore.PrintDamage(e.Stderr, health)
		return nil
	}
	if err := tell(); err != nil || !follow {
		return err
	}
	l, err := runstore.Connect(c, info.Run, nil)
	switch {
	case err == nil:
		f := runstore.Follower{Out: w, Errs: e.Stderr, Since: int64(w.seq)}
		if line <= l.First.LogLines { // it is of an earlier process, and the present one counts its events anew
			f.Since = 0
		}
		_, err := f.ToTheEnd(ctx, c, l)
		if f.Failed != nil {
			return command.Environmentf("%v", f.Failed)
		} else if err != nil {
			return err
		}
	case store.Player(info.Run) != 0: // it does not answer, or refuses
		return err
	default: // it has ended since the log was read
		if err := tell(); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended.\n", command.ShortID(info.Run))
	return nil
}

// storyWriter converts lines of the event stream to the story of the run.
type storyWriter struct {
	out   io.Writer
	story eventtext.Story
	seq   uint64 // of the last line
}

// Write accepts whole lines only.
func (w *storyWriter) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if err := w.write(bytes.TrimSpace(line)); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

func (w *storyWriter) write(line []byte) error {
	l, err := contract.DecodeLine(line)
	if err != nil {
		return err
	}
	w.seq = l.Seq
	_, err = io.WriteString(w.out, sanitize.Text(w.story.Text(l.Time.Local(), contract.Event{ID: l.ID, Body: l.Body})))
	return err
}

// printLog prints a file, if it exists.
func (e Env) printLog(path string) (found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = io.Copy(e.Stdout, f)
	return true, err
}

// followLog prints the log of a live run to its end.
func (e Env) followLog(ctx context.Context, store *runstore.Runs, info journal.Info) error {
	command.OutliveReaders()
	ctx, stop := command.Interruptible(ctx, false)
	defer stop()
	dir := store.Dir(info.Run)
	_, err := e.printLog(filepath.Join(dir, runstore.LogName+".1"))
	if err == nil {
		err = runstore.FollowCrashes(ctx, dir, e.Stdout, func() bool { return store.Player(info.Run) != 0 })
	}
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Environmentf("%v", err)
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended.\n", command.ShortID(info.Run))
	return nil
}

// PrintEvents prints the events that the frontends of a run received, line by line.
func PrintEvents(e command.Env, c *cli.Context) error {
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	var last time.Time
	pace := c.Float64("pace") // 0: without pauses
	health, err := store.EachLine(c.Context, info.Run, func(at time.Time, line []byte) error {
		if pace > 0 && !last.IsZero() {
			time.Sleep(min(time.Duration(float64(at.Sub(last))/pace), longestPause))
		}
		last = at
		_, err := e.Stdout.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return command.Environmentf("replay run %s: %v", command.ShortID(info.Run), err)
	}
	runstore.PrintDamage(e.Stderr, health)
	return nil
}

// longestPause bounds the pause between two events of a replay, so that it does not wait through a night.
const longestPause = 10 * time.Second

// SessionReport is the output of `sessions show --json`.
type SessionReport struct {
	runstore.Line
	Phase      string                        `json:"state"`
	Task       string                        `json:"task"`
	Plan       []contract.Step               `json:"plan"`
	Agents     []agentReport                 `json:"agents"`
	Question   string                        `json:"question,omitempty"`
	Inbox      []supervisor.InboxItem        `json:"inbox"` // items that wait for a human
	Messages   []supervisor.MessageRecord    `json:"messages"`
	Ledger     supervisor.ConversationLedger `json:"ledger"`
	CostUSD    float64                       `json:"cost_usd"`
	Iterations int                           `json:"iterations"`
	Crashes    int                           `json:"crashes"`
	Processes  int                           `json:"lives"`
	Damage     []string                      `json:"damage"`
	Reports    []string                      `json:"crash_reports"`
	Log        string                        `json:"log"`
}

type agentReport struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Mode       string `json:"mode,omitempty"`
	Host       string `json:"host,omitempty"`
	Make       string `json:"make,omitempty"`
	SessionID  string `json:"session_id"`
	Generation int    `json:"generation"`
	Status     string `json:"status"`
	Standing   string `json:"standing,omitempty"`
	does       string // the same in words
}

// shownBytes is how much of the end of an event log ShowSession reads for a person.
const shownBytes = 4 << 20

// ShowSession is `arbiter sessions show`. All but the messages comes from the last state, for which a snapshot and the
// inputs since are read.
func (e Env) ShowSession(c *cli.Context) error {
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	s, recovery, err := runstore.LastState(store, info.Run)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	log, err := store.EventLog(info.Run)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	defer log.Close()
	var from journal.LogPosition
	if !c.Bool("json") { // a person reads the last messages
		from, err = log.Recent(c.Context, shownBytes)
	}
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	ledger, health, err := supervisor.AuditLedger(c.Context, log, from)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	ledger.Close(&s.Conversation)
	dir := store.Dir(info.Run)
	reports, _ := filepath.Glob(filepath.Join(dir, "crash-*.txt"))
	r := SessionReport{
		Line: runstore.LineOf(info), Phase: string(s.Task.Phase), Task: s.Task.Text, Plan: s.Task.Plan,
		Agents: []agentReport{}, Messages: ledger.List, Ledger: s.Conversation.Ledger,
		CostUSD: contract.RoundUSD(s.Spent()), Iterations: s.Task.Iterations,
		Crashes: s.Lifecycle.Crashes, Processes: s.Budget.Runtime.Processes,
		Damage: append(
			supervisor.JournalDamage(recovery),
			supervisor.AuditDamage(health)...), Reports: append([]string{}, reports...),
		Log: filepath.Join(dir, runstore.LogName),
	}
	r.Resumable, r.CostUnknown = r.Resumable && s.Reached(), s.CostUnknown()
	r.Inbox = append([]supervisor.InboxItem{}, supervisor.InboxOf(&s)...)
	r.Question = s.Question.Text()
	for _, a := range s.Agents {
		does, _ := eventtext.AgentState(&s, a, r.Inbox)
		if info.Killed() && a.Alive() {
			does = "interrupted"
		}
		r.Agents = append(r.Agents, agentReport{does: does,
			ID: a.ID, Name: a.Name, Mode: a.Mode, Host: a.Host, Make: a.Make, SessionID: a.SessionID, Generation: a.Generation,
			Status: string(a.Status), Standing: string(a.Standing),
		})
	}
	if c.Bool("json") {
		return e.PrintJSON(r)
	}
	e.printSession(r, store.Root, from.Offset > 0)
	return nil
}

// printSession prints a report; more: there are messages before those of the report.
func (e Env) printSession(r SessionReport, state string, more bool) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(e.Stdout, "%-10s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...), 400))
	}
	line("run", "%s (%s)", r.Run, r.Status)
	line("directory", "%s", r.CWD)
	line("task", "%s", words.Title(r.Task))
	if text := runstore.ForkText(r.ForkedFrom); text != "" {
		line("forked", "%s", text)
	}
	line("began", "%s, last active %s, processes: %d", r.Began.Local().Format(time.DateTime),
		r.LastActive.Local().Format(time.DateTime), r.Processes)
	line("state", "%s; %s, %s, %s", r.Phase, words.Count(r.Iterations, "iteration"),
		words.Count(r.Crashes, "crash"), eventtext.Costs(fmt.Sprintf("$%.4f", r.CostUSD), r.Rehearsal, r.CostUnknown))
	for _, i := range r.Inbox {
		line("waits", "for you, since %s: %s of %s: %s", i.Since.Local().Format(time.DateTime), i.Kind, i.Agent, i.Text)
	}
	for _, a := range r.Agents {
		line("agent", "%-8s %-16s %s, session %s, process %d", a.ID,
			eventtext.Whole(a.Name, a.Host, a.Make), a.does,
			a.SessionID, a.Generation)
	}
	for i, s := range r.Plan {
		line("plan", "%d. [%s] %s", i+1, s.Status, s.Text)
	}
	l := r.Ledger
	line("messages", "%d posted, %d sent, %d seen, %d sent again, %d swallowed, %d requeued, %d returned", l.Posted,
		l.Sent, l.Seen, l.Resent, l.Swallowed, l.Requeued, l.Returned)
	if more {
		line("", "… arbiter logs %s%s tells of those before", command.ShortID(r.Run), settings.StateForCommand(state))
	}
	for _, m := range r.Messages {
		line("", "%s %-9s %s to %s, %s: %s", m.At.Local().Format(time.TimeOnly), m.Status, m.From, m.To, m.Kind,
			sanitize.Line(m.Text, 80))
	}
	for _, d := range r.Damage {
		line("damage", "%s", d)
	}
	for _, p := range r.Reports {
		line("crash", "%s", p)
	}
	line("log", "%s", r.Log)
	if r.Resumable {
		// Not truncated, because the person types the whole line.
		fmt.Fprintf(e.Stdout, "%-10s To resume: %s\n", "", sanitize.Line(settings.ResumeLine("", r.Run, state), 0))
	}
}
