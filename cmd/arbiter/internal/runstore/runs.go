package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// NeverBegan is the status of a run that ended before it reached an agent.
const NeverBegan = "never_began"

// Interrupted is the status of a run that ended early: by a signal, a crash, or a closed screen.
const Interrupted = contract.StatusInterrupted

// Kept bounds the size of the state directory. Runs that can still be completed are never removed by this.
var Kept = journal.Retention{Runs: 200, Bytes: 4 << 30}

// Runs is the collection of runs in a state directory.
type Runs struct {
	*journal.Store
	Root string
}

// Dir returns the directory of a run.
func (r Runs) Dir(run string) string { return filepath.Join(r.Root, "runs", run) }

func Open(c *cli.Context) (*Runs, error) {
	dir, err := command.StateDir(c.String("state-dir"))
	if err != nil {
		return nil, err
	}
	return OpenIn(dir)
}

// InRuns returns an action of a command that works with the runs of the state directory.
func InRuns(do func(*cli.Context, *Runs) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		store, err := Open(c)
		if err != nil {
			return err
		}
		defer store.Close()
		return do(c, store)
	}
}

// OpenIn opens the runs of a state directory that exists.
func OpenIn(dir string) (*Runs, error) {
	store, err := journal.OpenStore(dir)
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	return &Runs{store, dir}, nil
}

// FindIn opens the runs of a state directory, and finds one by its id or a prefix of it. The caller closes the store.
func FindIn(dir, run string) (*Runs, journal.Info, error) {
	store, err := OpenIn(dir)
	if err != nil {
		return nil, journal.Info{}, err
	}
	info, err := Find(store.Store, run)
	if err != nil {
		store.Close()
		return nil, info, err
	}
	return store, info, nil
}

// Tidy removes old notes about removed runs, and files outside of the state directory that belong to removed or killed
// runs. It returns which of the latter it removed.
func (r *Runs) Tidy() ([]string, error) {
	_, _ = r.SpentByRemoved(time.Now().AddDate(0, 0, -1)) // its notes are removed when they are older than a day
	return command.SweepScratch(command.Places(), filepath.Join(r.Root, "runs"), r.Over)
}

// OpenOne opens the run that a command's argument names; without one, the last of this directory. The caller closes the
// store.
func OpenOne(c *cli.Context) (*Runs, journal.Info, error) {
	store, err := Open(c)
	if err != nil {
		return nil, journal.Info{}, err
	}
	info, err := NamedOrLatest(c, store, c.Args().First())
	if err != nil {
		store.Close()
		return nil, info, err
	}
	return store, info, nil
}

// NamedOrLatest finds a run by its name; without a name, the last one of the workspace.
func NamedOrLatest(c *cli.Context, store *Runs, name string) (journal.Info, error) {
	if name != "" {
		return Find(store.Store, name)
	}
	place, err := command.Workspace(c)
	if err != nil {
		return journal.Info{}, err
	}
	return latest(store.Store, place, nil, "no run has worked in %s: name a RUN (arbiter sessions lists the runs)")
}

// ToResume finds the run to resume: the named one, or else the latest of a directory.
func ToResume(store *journal.Store, place, named string) (journal.Info, error) {
	if named != "" {
		return Find(store, named)
	}
	return latest(store, place, ReachedAgent, "nothing to resume: no run in %s started an agent; use --session RUN for a "+
		"run of another directory (arbiter sessions lists the runs)")
}

// latest finds the last run of a directory that fits; none is what is wrong if there is none.
func latest(store *journal.Store, place string, fits func(journal.Info) bool, none string) (journal.Info, error) {
	info, err := store.Latest(place, fits)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return info, command.Usagef(none, place)
	case err != nil:
		return info, command.Environmentf("find the latest run: %v", err)
	}
	return Find(store, info.Run)
}

// ReachedAgent reports whether a run got far enough to be resumed.
func ReachedAgent(i journal.Info) bool { return !i.Empty && i.Status != NeverBegan }

// Status describes the state of a run, for a person who chooses one.
func Status(i journal.Info) string {
	switch {
	case i.Live:
		return "live"
	case i.Damaged:
		return "damaged"
	case i.Status != "":
		return i.Status
	case i.Empty:
		return NeverBegan
	}
	return Interrupted
}

type Line struct {
	Run        string    `json:"run"`
	Status     string    `json:"status"`
	CWD        string    `json:"cwd"`
	Title      string    `json:"title"`
	Began      time.Time `json:"began"`
	LastActive time.Time `json:"last_active"`
	Bytes      int64     `json:"bytes"`
	PID        int       `json:"pid,omitempty"`
	CostUSD    float64   `json:"cost_usd,omitempty"` // noted when a process of the run ended in order
	// CostUnknown: it has cost more, and nobody knows how much.
	CostUnknown bool `json:"cost_unknown,omitempty"`

	Rehearsal bool   `json:"rehearsal,omitempty"`
	Resumable bool   `json:"resumable"`
	Problem   string `json:"problem,omitempty"`

	ForkedFrom *journal.Fork `json:"forked_from,omitempty"`
}

func LineOf(i journal.Info) Line {
	status := Status(i)
	return Line{
		Run: i.Run, Status: status, CWD: i.CWD, Title: i.Title, Began: i.Began, LastActive: i.LastActive,
		Bytes: i.Bytes, PID: i.PID, CostUSD: i.CostUSD, CostUnknown: i.CostUnknown, Rehearsal: i.Rehearsal,
		Problem:   i.Problem,
		Resumable: !i.Live && !i.Damaged && status != NeverBegan, ForkedFrom: i.ForkedFrom,
	}
}

func PlayedElsewhere(run string, pid int) error {
	return command.Usagef("run %s is still running (process %d): open it with arbiter attach, or end it with arbiter stop",
		command.ShortID(run), pid)
}

// bridgeEnds bounds the wait for the bridge of a killed process. It ends its agents within two seconds.
const bridgeEnds = 5 * time.Second

// Find finds a run by its id or a prefix of it. If the process of the run was killed, it waits for the end of the
// bridge, which holds the run until then. A process that has not left its id, such as one of another version, plays it.
func Find(store *journal.Store, prefix string) (journal.Info, error) {
	info, err := store.Find(prefix)
	for begun := time.Now(); err == nil && info.PID != 0 && store.Player(info.Run) == 0 &&
		time.Since(begun) < bridgeEnds; {
		time.Sleep(awaitEvery)
		info, err = store.Find(info.Run)
	}
	switch many, ok := errors.AsType[*journal.AmbiguousError](err); {
	case ok:
		return info, command.Usagef("%q fits several runs: %s; give more of the id", prefix, strings.Join(many.Matches, ", "))
	case errors.Is(err, journal.ErrNotFound):
		return info, command.Usagef("there is no run %q; arbiter sessions lists the runs", prefix)
	case err != nil:
		return info, command.Environmentf("find run %s: %v", prefix, err)
	}
	return info, nil
}

// SocketOf returns the path of a socket in the directory of a run.
func (r Runs) SocketOf(run, name string) string { return filepath.Join(r.Dir(run), name) }

// AnswerTime is how long the arbiter of a live run may take for a first answer.
const AnswerTime = 2 * time.Second

// Connection is a connection to a live run.
type Connection struct {
	*control.Client
	Store *Runs
	Info  journal.Info
	First LiveStatus // when the connection was made
}

// Connect finds a live run with [FindLive], and connects to it. The caller closes the connection.
func Connect(c *cli.Context, named string, say func(string)) (*Connection, error) {
	store, err := Open(c)
	if err != nil {
		return nil, err
	}
	return ConnectIn(c, store, named, say)
}

// ConnectIn is Connect with a store, which it closes on an error.
func ConnectIn(c *cli.Context, store *Runs, named string, say func(string)) (*Connection, error) {
	var err error
	l := &Connection{Store: store}
	if l.Info, err = FindLive(store, named); err == nil {
		l.Client, l.First, err = store.Dial(c.Context, l.Info, AnswerTime, say)
		if err != nil {
			err = store.notConnected(c.Context, l.Info, err)
		}
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the connection.
func (l *Connection) Close() {
	l.Client.Close()
	l.Store.Close()
}

// Dial connects to the arbiter of a run. within bounds the time for its answer.
func (r *Runs) Dial(ctx context.Context, info journal.Info, within time.Duration,
	say func(string)) (*control.Client, LiveStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return control.Dial[LiveStatus](ctx, r.SocketOf(info.Run, control.SocketName), say)
}

// Send sends a command to the process that plays a run, and waits until it is accepted or rejected.
func Send(
	ctx context.Context, client *control.Client, body contract.CommandBody,
) (control.CommandResult, error) {
	line, err := contract.MarshalCommand(contract.Command{Body: body})
	if err != nil {
		return control.CommandResult{}, err
	}
	return client.Command(ctx, line)
}

// notConnected explains why a connection failed. If the run ends within AnswerTime, that is the reason.
func (r *Runs) notConnected(ctx context.Context, info journal.Info, err error) error {
	var refused *control.Refusal
	if errors.As(err, &refused) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return r.NotConnected(info, err)
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	if r.AwaitEnd(ctx, info.Run) != nil {
		return r.NotConnected(info, err)
	}
	ended, findErr := Find(r.Store, info.Run)
	if findErr != nil {
		return findErr
	}
	return r.notLive(ended)
}

// NotConnected converts the error of a failed connection.
func (r *Runs) NotConnected(info journal.Info, err error) error {
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		return &command.Error{Code: contract.ExitUsage, Text: refused.Message, Cause: refused}
	case errors.Is(err, control.ErrSilent), errors.Is(err, context.DeadlineExceeded):
		why := err
		if op, ok := errors.AsType[*net.OpError](err); ok {
			why = op.Err
		}
		return command.Environmentf("run %s does not answer (process %d: %v): try again in a moment, or end its agents "+
			"with arbiter halt %[1]s%[4]s", command.ShortID(info.Run), info.PID, why, settings.StateForCommand(r.Root))
	}
	return command.Environmentf("run %s: %v", command.ShortID(info.Run), err)
}

// Live lists the live runs whose ids begin with prefix, the most recently active first.
func (r *Runs) Live(prefix string) ([]journal.Info, error) {
	live, err := r.Store.Live(prefix)
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	return live, nil
}

// FindLive finds a live run by its id or a prefix of it; without a name, the run of this directory.
func FindLive(store *Runs, named string) (journal.Info, error) {
	found, err := store.Live(named)
	if err != nil {
		return journal.Info{}, err
	}
	if named == "" {
		return liveRunHere(store, found)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		info, err := Find(store.Store, named)
		if err == nil {
			err = store.notLive(info)
		}
		return info, err
	}
	return journal.Info{}, command.Usagef("%q fits several live runs: %s; give more of the id", named, names(found))
}

// notLive is the error for a command that needs a live run.
func (r *Runs) notLive(info journal.Info) error {
	run, next := command.ShortID(info.Run), "arbiter ps lists the live runs"
	resume := "arbiter --resume --session " + run + settings.StateForResume(r.Root) + " continues it"
	switch {
	case info.Killed():
		return command.Usagef("run %s in %s was interrupted: its process was killed or crashed, and its agents ended with "+
			"it. Nothing recorded is lost; %s", run, info.CWD, resume)
	case LineOf(info).Resumable:
		next = resume
	}
	return command.Usagef("run %s is not live (%s); %s", run, Status(info), next)
}

func liveRunHere(store *Runs, list []journal.Info) (journal.Info, error) {
	here, err := os.Getwd()
	if err != nil {
		return journal.Info{}, command.Environmentf("working directory: %v", err)
	}
	found := slices.DeleteFunc(list, func(i journal.Info) bool { return !command.SameDir(i.CWD, here) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if last, err := store.Latest(here, ReachedAgent); err == nil && last.Killed() {
			return last, store.notLive(last)
		}
		return journal.Info{}, command.Usagef("no run is live in %s: give its RUN; arbiter ps lists the live runs", here)
	}
	return journal.Info{}, command.Usagef("several runs are live in %s: %s; give the RUN", here, names(found))
}

func names(list []journal.Info) string {
	var ids []string
	for _, i := range list {
		ids = append(ids, i.Run)
	}
	return strings.Join(ids, ", ")
}

// awaitEvery is how often the lock of a run is looked at.
const awaitEvery = 20 * time.Millisecond

// AwaitEnd waits until no process plays a run any more.
func (r *Runs) AwaitEnd(ctx context.Context, run string) error {
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for r.Player(run) != 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// ends bounds the wait for the end of a run that is ending, whose agents may take that long.
const ends = 30 * time.Second

// Plays reports whether a process plays a run and goes on with it; one that is ending counts only with ending, and is
// waited for otherwise. So is one that does not listen yet, or has ended just now.
func (r *Runs) Plays(ctx context.Context, info journal.Info, ending bool) bool {
	ctx, cancel := context.WithTimeout(ctx, ends)
	defer cancel()
	for late := time.After(AnswerTime); r.Player(info.Run) != 0; {
		client, st, err := r.Dial(ctx, info, AnswerTime, nil)
		switch {
		case err == nil && st.Ending && !ending:
			client.Close()
			return r.AwaitEnd(ctx, info.Run) != nil
		case err == nil:
			client.Close()
			return true
		case !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist):
			return true
		}
		select {
		case <-time.After(awaitEvery):
		case <-late:
			return true
		}
	}
	return false
}

var ErrRunOver = errors.New("the run is over")

// This part of the package reads what a run has left: its report, its work in Git, and the places of its
// sessions and images. The run may be live.

// ImagesDir is the directory for the images of messages, in the run's directory.
const ImagesDir = "images"

// ClaudeConfig returns the directory where the agents of a run store their sessions.
func ClaudeConfig(o runconfig.Options) string {
	var environ []string
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "HOME"} {
		if value, ok := o.Env[name]; ok {
			environ = append(environ, name+"="+value)
		}
	}
	return proctree.ConfigDir(append(environ, os.Environ()...), o.CWD)
}

// PastReport makes the report of a run from its events and snapshots.
func PastReport(ctx context.Context, store *Runs, info journal.Info) (*report.Report, journal.LogHealth, error) {
	collector := report.NewCollector(settings.SecretMasker(nil))
	health, err := store.EachLine(ctx, info.Run, collector.Take)
	if err != nil {
		return nil, health, err
	}
	r := collector.Report(Status(info))
	if r.Run == "" {
		r.Run, r.Directory, r.Began, r.Ended = info.Run, info.CWD, info.Began.UTC(), info.LastActive.UTC()
	}
	addChanges(ctx, store.Root, r, info)
	return r, health, nil
}

// addChanges adds the files that differ between the snapshots of the run to a report.
func addChanges(ctx context.Context, stateDir string, r *report.Report, info journal.Info) {
	repo, err := PastWork(ctx, stateDir, info)
	if err == nil {
		var span workspaces.Span
		if span, err = repo.Work(ctx); err == nil {
			var changes []workspaces.Change
			if changes, err = repo.Changes(ctx, span.From, span.To); err == nil {
				r.SetChanges(changes)
				return
			}
		}
	}
	switch changed, ok := errors.AsType[*git.ChangedError](err); {
	case errors.Is(err, workspaces.ErrNoGit):
		r.NoChanges("not known: the directory is not in a Git repository")
	case errors.Is(err, workspaces.ErrNoCommit):
		r.NoChanges("not known: the Git repository has no commit")
	case errors.Is(err, workspaces.ErrNoSnapshot):
		r.NoChanges("not known: the run has no snapshot")
	case errors.Is(err, os.ErrNotExist):
		r.NoChanges("not known: the directory no longer exists")
	case ok:
		r.NoChanges("not known: " + changed.Error())
	default:
		r.NoChanges("not known: Git failed")
	}
}

// WorkDir returns the directory that a run worked in.
func WorkDir(info journal.Info) string { return cmp.Or(info.Workspace, info.CWD) }

// PastWork opens the repository of a run in a state directory. Error: [git.ChangedError] if the run began with another
// one.
func PastWork(ctx context.Context, stateDir string, info journal.Info) (*workspaces.Repo, error) {
	dir := WorkDir(info)
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return workspaces.Open(ctx, options(stateDir, info))
}

func options(stateDir string, info journal.Info) workspaces.Options {
	began := filepath.Join(Runs{Root: stateDir}.Dir(info.Run), workspaces.BeganName)
	return workspaces.Options{Dir: WorkDir(info), Run: info.Run, Began: began}
}

// RemoveLeft removes the agents' directories that a run has left. The run must be over. said has a sentence for
// each agent whose work needs attention.
func RemoveLeft(ctx context.Context, store *Runs, info journal.Info) (messages []string, err error) {
	left, err := store.HasWork(info.Run)
	if err != nil || !left {
		return nil, err
	}
	own := filepath.Join(store.Dir(info.Run), journal.WorkName)
	files, err := OpenFiles(ctx, options(store.Root, info), own, "")
	if err == nil {
		messages, err = files.Remove(ctx)
	}
	if err == nil {
		left, err = store.HasWork(info.Run)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("work in %s cannot be saved (%w): take out what you need, and remove that directory", own, err)
	case left:
		err = fmt.Errorf("%s; then remove %s", strings.Join(messages, "; "), own)
	}
	return messages, err
}

// EndStrays ends leftover processes of finished runs of the store, and describes them; empty if there were none. It
// is called at each start, and before a run is removed: without the run, the owner of its processes would be
// unknown.
func EndStrays(store *journal.Store) (ended string) {
	total, runs := 0, 0
	for _, n := range proctree.SweepStrays(OverIn(store)) {
		total += n
		runs++
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ended processes that %s had left behind: %s", words.Count(runs, "earlier run"),
		words.Count(total, "process"))
}

// OverIn returns a function that reports whether no process plays a run of a store. That includes processes in the
// place that the store, or its copy of the run, was copied from: they have the same marks.
func OverIn(store *journal.Store) func(run string) bool {
	return func(run string) bool {
		if !store.Over(run) {
			return false
		}
		info, err := store.Find(run)
		dir := cmp.Or(info.Workspace, info.CWD)
		if err != nil || dir == "" || !journal.WorkspaceHeld(dir) {
			return true
		}
		live, err := store.Live("")
		return err == nil && slices.ContainsFunc(live, func(i journal.Info) bool { // a run of this store has it
			return cmp.Or(i.Workspace, i.CWD) == dir
		})
	}
}

// ReportStrays calls EndStrays for a command, and prints the result.
func ReportStrays(stderr io.Writer, store *journal.Store) {
	if ended := EndStrays(store); ended != "" {
		fmt.Fprintln(stderr, "arbiter: "+ended)
	}
}

// spendingName is the directory of the state directory that says, in a file for each run, what the run has cost, so
// that nobody has to read its events again. A file is derived from them: without it they are read. It outlives its run,
// because the money of a day is spent also if the run was removed.
const (
	spendingName    = "spending"
	spendingVersion = 3
	maxSpending     = 16 << 20
)

// Spent is what a run has cost, as far as its event log was read.
type Spent struct {
	V    int                 `json:"v"`
	Zone string              `json:"zone"` // whose days the rows are of
	Next journal.LogPosition `json:"next"` // where to go on
	report.Spending
}

// Costed adds to the description of a run what it has cost according to its events, as far as they can be read, if its
// last process has noted nothing.
func (r *Runs) Costed(ctx context.Context, info journal.Info) journal.Info {
	if info.CostUSD == 0 {
		spent, _ := r.Spent(ctx, info, nil)
		info.CostUSD, info.CostUnknown = spent.Sum(), info.CostUnknown || spent.Unknown()
	}
	return info
}

// Spent returns what a run has cost: what was noted at its end, and what its event log has had since. from is what an
// earlier call returned, or nil; it is changed. If the run is over, what was read is noted for the next caller. With
// an error, the result has what could be read; a run without an event log is fs.ErrNotExist.
func (r *Runs) Spent(ctx context.Context, info journal.Info, from *Spent) (*Spent, error) {
	s := cmp.Or(from, &Spent{})
	log, err := r.EventLog(info.Run)
	if err != nil {
		return s, err
	}
	defer log.Close()
	dir, err := statedir.Open(filepath.Join(r.Root, spendingName))
	if err != nil {
		return s, err
	}
	defer dir.Close()
	file := info.Run + ".json"
	if from == nil {
		found, problem, err := dir.ReadJSON(file, maxSpending, spendingVersion, s)
		if !found || problem != "" || err != nil || s.Zone != zone() {
			s = &Spent{}
		}
	}
	began := s.Next
	err = s.read(ctx, log)
	if errors.Is(err, errOtherLog) {
		*s, began = Spent{}, journal.LogPosition{}
		err = s.read(ctx, log)
	}
	if from != nil || info.Live || info.Rehearsal || s.Next == began {
		return s, err
	}
	s.V, s.Zone = spendingVersion, zone()
	if b, encodeErr := json.Marshal(s); encodeErr == nil && len(b) <= maxSpending {
		_ = dir.ReplaceUnsynced(file, b) // without it, the events are read again
	}
	return s, err
}

// Remove deletes a run. What it has cost is noted first.
func (r *Runs) Remove(run string) error {
	if info, err := r.Store.Find(run); err == nil && !info.Empty {
		_, _ = r.Spent(context.Background(), info, nil) // as far as it can be read
	}
	return r.Store.Remove(run)
}

// SpentByRemoved returns what runs that were removed had cost, of those that were active since a time. It removes the
// notes about the others.
func (r *Runs) SpentByRemoved(since time.Time) (map[string]*Spent, error) {
	dir, err := statedir.Open(filepath.Join(r.Root, spendingName))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files, err := fs.ReadDir(dir.FS(), ".")
	spent := map[string]*Spent{}
	for _, file := range files {
		run, noted := strings.CutSuffix(file.Name(), ".json") // or a killed process has left it
		if _, there := os.Lstat(r.Dir(run)); noted && !errors.Is(there, fs.ErrNotExist) {
			continue
		}
		info, gone := file.Info()
		s := &Spent{}
		switch {
		case gone != nil: // another process has replaced or removed it
		case info.ModTime().Before(since):
			_ = dir.Remove(file.Name()) // if it is still there, the next one tries again
		case noted:
			_, problem, unread := dir.ReadJSON(file.Name(), maxSpending, spendingVersion, s)
			if problem != "" {
				unread = fmt.Errorf("%s: %s", dir.Path(file.Name()), problem)
			}
			spent[run], err = s, errors.Join(err, unread)
		}
	}
	return spent, err
}

var errOtherLog = errors.New("the event log does not continue there")

// read reads what was added to the event log.
func (s *Spent) read(ctx context.Context, log *journal.EventLog) error {
	size, err := log.Size()
	switch {
	case err != nil:
		return err
	case size < s.Next.Offset:
		return errOtherLog
	}
	first := s.Next.Offset > 0
	_, err = log.Each(ctx, s.Next, func(entry journal.LogEntry) error {
		if first && entry.Position != s.Next {
			return errOtherLog // a crash took lines that had been read
		}
		first, s.Next = false, entry.Next()
		if entry.Line == nil {
			return nil
		}
		return s.Take(entry.At, entry.Line)
	})
	return err
}

// zone identifies the local time zone by its offsets in winter and in summer.
func zone() string {
	year := time.Now().Year()
	offset := func(m time.Month) string { return time.Date(year, m, 1, 0, 0, 0, 0, time.Local).Format("-0700") }
	return offset(time.January) + offset(time.July)
}
