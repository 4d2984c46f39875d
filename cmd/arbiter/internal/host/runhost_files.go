package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// lockTimeout is how long to wait for a run whose last bridge is still ending its agents, which takes two seconds.
const lockTimeout = 5 * time.Second

// storage is the storage of a run's process: its journal in the state directory, and the locks that keep other runs
// out of the workspace.
type storage struct {
	*runstore.Runs
	journal *journal.Run
	options journal.Options // of the journal
	place   *journal.Lock   // of the directory; nil if it is shared
	// workspace is the lock in that directory itself; nil if it is shared or cannot be locked
	workspace *os.File
	notices   *notice // what the human should know about it
}

// openStorage opens the state directory, ends leftover processes of dead runs, and removes the oldest runs.
func openStorage(root string, options journal.Options, notices *notice) (s storage, err error) {
	s = storage{options: options, notices: notices}
	if s.Runs, err = runstore.OpenIn(root); err != nil {
		return s, err
	}
	ended := runstore.EndStrays(s.Store)
	if _, err := s.Prune(runstore.Kept); err != nil {
		notices.add("old runs could not be removed: %v", err)
	}
	if _, err := s.Tidy(); err != nil {
		notices.add("what old runs had left could not be removed: %v", err)
	}
	if ended != "" {
		notices.add("%s", ended)
	}
	return s, nil
}

// lockPlace prevents a second run in a directory.
func (s *storage) lockPlace(dir, run string) error {
	var err error
	s.place, err = s.LockDir(dir, run)
	if held, ok := errors.AsType[*journal.HeldError](err); ok {
		return command.Usagef("another run already works in %s (run %s, process %d): open it with arbiter attach, wait for "+
			"its end, use another directory (--cwd), or add --share-workspace",
			dir, command.ShortID(held.Run), held.PID)
	}
	if err != nil {
		return command.Environmentf("lock %s: %v", dir, err)
	}
	return nil
}

// lockWorkspace locks a directory against runs of other state directories, and against a copy of this run.
func (s *storage) lockWorkspace(dir string) error {
	var err error
	s.workspace, err = journal.LockWorkspace(dir)
	switch held, ok := errors.AsType[*journal.HeldError](err); {
	case ok:
		who := "a process that the system does not name"
		if held.PID != 0 {
			who = fmt.Sprintf("process %d", held.PID)
		}
		return command.Usagef("another run, of another state directory, already works in %s (%s): wait for its end, use "+
			"another directory (--cwd), or add --share-workspace", dir, who)
	case errors.Is(err, journal.ErrNoDirLock):
		s.notices.add("%s cannot be locked, so that runs of other state directories are not kept out of it: %v", dir, err)
	case err != nil:
		return command.Environmentf("%v", err)
	}
	return nil
}

// update changes the metadata of the run in the journal.
func (s *storage) update(change func(*journal.Meta)) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	return s.journal.Update(ctx, change)
}

// unlock lets other runs work in the workspace. It may be called more than once.
func (s *storage) unlock() {
	_ = s.workspace.Close() // it was only locked, if at all
	if s.place != nil {
		_ = s.place.Close()
	}
}

// finish records durably how the run has ended.
func (s *storage) finish(ctx context.Context, state *supervisor.State) error {
	err := s.journal.Sync(ctx)
	if err != nil || state.Ending == nil || !state.Ending.Said {
		return err
	}
	return s.journal.Update(ctx, func(m *journal.Meta) {
		m.CostUSD, m.CostUnknown = contract.RoundUSD(state.Spent()), state.CostUnknown()
		switch status := state.Ending.Status; {
		case !state.Reached():
			m.Finished, m.Status = true, runstore.NeverBegan
		case status == contract.StatusComplete:
			m.Finished, m.Status = true, status
		default: // it may be resumed, and is kept until it is removed explicitly
			m.Status = status
		}
	})
}

// close closes the journal and releases the locks. log may be nil.
func (s *storage) close(log *slog.Logger) {
	if s.journal != nil {
		if err := s.journal.Close(); err != nil && !errors.Is(err, journal.ErrClosed) && log != nil {
			log.Warn("journal", "error", err)
		}
		if meta := s.journal.Meta(); !meta.Rehearsal {
			ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
			defer cancel()
			// What is not noted now, the next one who adds up the costs reads.
			_, _ = s.Spent(ctx, journal.Info{Meta: meta}, nil)
		}
	}
	s.unlock()
}

// firstSnapshotTimeout bounds the first snapshot, for which the agents wait. A work tree of gigabytes that Git has
// not seen before takes about a minute.
const firstSnapshotTimeout = 5 * time.Minute

// removeTimeout bounds the removal of directories that a run no longer needs.
const removeTimeout = 2 * time.Minute

// recording has the Git records of a run's files, and the Orchestrators' own directories. The zero value records
// nothing.
type recording struct {
	run      workspaces.Options
	dir      string                       // of the run
	resumed  bool                         // an earlier process has taken the first snapshot
	sandbox  func() *bridge.SandboxConfig // the agents' sandbox, in which Git works, too; returns nil without one
	files    *runstore.Files              // nil without Git
	leftover []string                     // messages about agents' directories at the end of the run
}

// open takes the first snapshot, or finds the one of an earlier process. If the agents may have a sandbox, Git
// works in it, so open must be called when the sandbox is known.
func (r *recording) open(ctx context.Context, isolation string, confined bool) (*runstore.Files, error) {
	ctx, cancel := context.WithTimeout(ctx, firstSnapshotTimeout)
	defer cancel()
	o := r.run
	o.Scratch, o.Began = r.scratch(), filepath.Join(r.dir, workspaces.BeganName)
	if confined {
		o.Confine = r.confineGit
	}
	if r.resumed {
		return runstore.ResumeFiles(ctx, o, r.ownDirs(), isolation)
	}
	return runstore.BeginFiles(ctx, o, r.ownDirs(), isolation)
}

// ownDirs returns the parent of the Orchestrators' own directories.
func (r *recording) ownDirs() string { return filepath.Join(r.dir, journal.WorkName) }

// scratch returns the directory for Git's temporary index. In a sandbox, only Git sees it.
func (r *recording) scratch() string { return filepath.Join(r.dir, "scratch") }

// confineGit puts a Git process of Arbiter into the sandbox of the agents, if they have one, because they may have
// written the filters and nested repositories of the workspace.
func (r *recording) confineGit(cmd *exec.Cmd) error {
	agents := r.sandbox()
	if agents == nil {
		return nil
	}
	if err := os.MkdirAll(r.scratch(), 0o700); err != nil { // a sandbox shows only existing directories
		return err
	}
	cfg := *agents
	cfg.Write = append(slices.Clone(cfg.Write), r.scratch())
	// Git in the user's repository creates the directories of agents. In such a directory, Git can write that
	// directory only.
	own := r.ownDirs()
	real, err := filepath.EvalSymlinks(own)
	switch {
	case err != nil: // they do not exist yet
	case runconfig.Relative(real, cmd.Dir) == "":
		cfg.Write = append(cfg.Write, own)
	default:
		cfg.Reach = append(slices.Clone(cfg.Reach), cmd.Dir)
		dir := proctree.EnvLookup(cmd.Env, "GIT_DIR")
		if dir != "" && runconfig.Relative(real, dir) == "" { // its files are recorded in the user's repository
			cfg.Write = append(cfg.Write, dir)
		} else if r.files != nil { // this is the case when an agent gets a directory
			cfg.Read = append(slices.Clone(cfg.Read), r.files.Workspace.Objects)
		}
	}
	return sandbox.Wrap(cmd, &cfg)
}

// end adds a message if agents have left something that git would run or use. It removes the directories of a complete
// run: its work is on the run branch, and other work is saved. A run that can continue keeps them.
func (r *recording) end(complete bool, others *Bridges) {
	if r.files == nil {
		return
	}
	if text := r.files.Planted(context.Background()); text != "" {
		r.leftover = append(r.leftover, text)
	}
	if !complete {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	r.leftover = append(r.leftover, others.RemoveDirs(ctx, r.files)...)
	if _, err := os.Lstat(r.files.Workspace.Own); err != nil {
		return // there were none here
	}
	messages, err := r.files.Remove(ctx)
	if err != nil {
		messages = append(messages, fmt.Sprintf("directories of agents were left in %s: %v", r.files.Workspace.Own, err))
	}
	r.leftover = append(r.leftover, messages...)
}

// noSnapshots returns why no files are recorded.
func noSnapshots(err error) string {
	if errors.Is(err, workspaces.ErrNoSnapshot) {
		return "the run's first snapshot is gone: diffs, undo and merges no longer work for it"
	}
	return err.Error()
}

// recordFiles starts recording the workspace's files. If possible, the first snapshot is taken while the bridge
// starts. The returned function waits for the snapshot, and sets up the loop to take the others. A rehearsal is
// recorded if its scenario brings files. The end of ctx ends the snapshot, and with it the run, which would never have
// diffs.
func (r *hostedRun) recordFiles(ctx context.Context) (wait func(*runloop.Loop) error) {
	o := &r.choices.Options
	was, isolation := o.Workspace, o.Workspace.Isolation
	o.Workspace = runconfig.Workspace{}
	unrecorded := o.Rehearsal && (r.stage == nil || !r.stage.Repository)
	if unrecorded || r.resumed != nil && !r.resumed.Options.Workspace.Enabled() {
		return func(*runloop.Loop) error { return nil }
	}
	r.files = recording{run: workspaces.Options{Dir: o.CWD, Run: o.Run}, dir: r.storage.journal.Dir(),
		resumed: r.resumed != nil, sandbox: func() *bridge.SandboxConfig {
			o := r.loop.Snapshot().Options
			if o.Run == "" { // the run has not started
				o = r.options()
			}
			return o.Sandbox
		}}
	confined := r.choices.Sandbox.Mode != settings.SandboxOff
	begin := sync.OnceValues(func() (*runstore.Files, error) { return r.files.open(ctx, isolation, confined) })
	if !confined { // otherwise it is known only after the bridge has started
		go begin() // the returned function waits for it
	}
	return func(loop *runloop.Loop) error {
		files, err := begin()
		if err == nil {
			r.files.files = files // git makes directories where the sandbox shows these files
			err = files.PlaceWork(ctx)
		}
		if errors.Is(err, context.Canceled) {
			o.Workspace = was // the next process goes on as this one would have
			return context.Cause(ctx)
		}
		if err != nil && isolation != "" && isolation != runconfig.IsolationShared {
			o.Workspace = was // the next process must not continue in the user's files
			return fmt.Errorf("isolation %s: %s", isolation, noSnapshots(err))
		}
		if err != nil {
			r.notice.add("%s", noSnapshots(err))
			return nil
		}
		if n := files.Uncommitted; n > 0 {
			r.notice.add("%s with uncommitted changes: the Orchestrators' worktrees begin with the last commit, "+
				"without them", words.Count(n, "file"))
		}
		if files.Notice != "" {
			r.notice.add("%s", files.Notice)
		}
		o.Workspace = files.Workspace
		files.Far = r.bridges.others
		loop.Files = files
		return nil
	}
}

// receiptTimeout bounds how long a person waits for the receipt of a run. For a long run, reading the record takes
// longer: arbiter report prints it.
const receiptTimeout = 2 * time.Second

// receipt returns the lines for a person at the end of a run; the last one is next, the command that continues.
// With --json, or if the record of the run cannot be read in time, the receipt itself is left out.
func (r *hostedRun) receipt(next string) []string {
	alone := append(slices.Clone(r.files.leftover), next)
	if r.choices.JSON {
		return alone
	}
	store, info, err := runstore.FindIn(r.choices.StateDir, r.choices.Options.Run)
	if err != nil {
		return alone
	}
	defer store.Close()
	info.Live = false // the run is over, though its processes may still be ending
	ctx, cancel := context.WithTimeout(context.Background(), receiptTimeout)
	defer cancel()
	report, _, err := runstore.PastReport(ctx, store, info)
	if err != nil {
		return alone
	}
	return append(slices.Clone(r.files.leftover), report.Receipt(next)...)
}

// This part of the package is the process that hosts a run: it opens a new run or resumes one, plays it with
// its bridges, serves the clients of its control socket, and ends it in an orderly way. arbiter host and
// arbiter --json are that process.
//
// A hosted run consists of parts that own their state: the storage of the run (storage), the output of the process
// (diagnostics), its bridges, the sandbox and the files of its agents, and its interfaces to clients (frontends).

// lockAgain finds the run, locks it and its directory, and restores its state.
func (r *hostedRun) lockAgain() error {
	info, err := runstore.ToResume(r.storage.Store, r.choices.Place, r.choices.Session)
	if err != nil {
		return err
	}
	if r.storage.Plays(context.Background(), info, false) {
		return runstore.PlayedElsewhere(info.Run, r.storage.Player(info.Run))
	}
	r.choices.Options.Run, r.choices.Options.Rehearsal = info.Run, info.Rehearsal
	if info.CWD != "" {
		r.choices.Place = info.CWD
	}
	if info.ForkedFrom != nil && info.ForkedFrom.Isolated {
		r.choices.Share = true // no agent of it works there
	}
	if err := r.lockPlace(); err != nil {
		return err
	}
	if info.Workspace != "" && !r.choices.Share {
		// Before anything of the run is changed: a copy of its state must not end its agents.
		if err := r.storage.lockWorkspace(info.Workspace); err != nil {
			return err
		}
	}
	r.resumed, err = r.storage.reopen(info.Run)
	return err
}

// resume checks that the run can continue, determines its options, and opens what it needs.
func (r *hostedRun) resume() error {
	run, s := command.ShortID(r.choices.Options.Run), r.resumed
	if !s.Reached() {
		return command.Usagef("nothing to resume: run %s has no task, or never started an agent", run)
	}
	t, err := trustAgain(r.choices, s.Options)
	if err != nil {
		return err
	}
	r.choices.Options = r.choices.Over(s.Options)
	if err := settings.CheckProvider(r.choices.Options); err != nil {
		return err
	}
	if err := r.choices.HostsConfigured(); err != nil {
		return err
	}
	if o := &r.choices.Options; r.storage.journal.Meta().Imported && o.CWD != r.choices.Place {
		r.notice.add("the run was imported: it continues in %s, no longer in %s", r.choices.Place, o.CWD)
		o.CWD = r.choices.Place
	}
	if text := runstore.ForkText(r.storage.journal.Meta().ForkedFrom); text != "" {
		r.notice.add("this run has branched off %s", text)
	}
	forget(&r.notice, "--env", &r.choices.Options.Env)
	forget(&r.notice, "--arbiter-env", &r.choices.Options.ArbiterEnv)
	r.choices.ResumeSandbox(s.Options)
	began := cmp.Or(s.Options.Workspace.Isolation, runconfig.IsolationShared)
	if now := r.choices.Options.Workspace.Isolation; r.choices.Given["isolation"] && now != began {
		return command.Usagef("run %s began with --isolation %s, and that cannot change: leave out --isolation",
			run, began)
	}
	r.choices.Adopt(t)
	o := &r.choices.Options
	if r.choices.Claude == "" {
		r.choices.Claude = o.Claude
	}
	r.choices.StandIn, r.choices.Scenario = o.StandIn, o.Script
	if err := r.choices.ReadInstructions(); err != nil {
		return err
	}
	if r.choices.Notice != "" {
		r.notice.add("%s", r.choices.Notice)
	}
	if r.choices.Policy, err = settings.CheckRules(*o); err != nil {
		return err
	}
	if err := r.choices.RefuseRoot(); err != nil {
		return err
	}
	if _, err := command.CheckDir(o.CWD); err != nil {
		return command.Usagef("the workspace of run %s cannot be used: %s: %v; put it back there, or start a new run", run,
			o.CWD, err)
	}
	if err := placeSessions(r.storage.journal.Dir(), *o); err != nil {
		return err
	}
	script, err := ReadScenario(r.choices)
	if err != nil {
		return err
	}
	if err := r.openServices(script); err != nil {
		return err
	}
	if r.decider, err = r.openDecider(); err != nil {
		return err
	}
	reopened := func(m *journal.Meta) { m.Finished, m.Status, m.CostUSD, m.CostUnknown = false, "", 0, false }
	if err := r.storage.update(reopened); err != nil {
		return command.Environmentf("run %s: %v", run, err)
	}
	crashpoint.Here("resume.replayed")
	if s.Ending == nil {
		r.notice.add("the previous process of this run ended without a report: it was killed, it crashed, or the " +
			"power failed")
	}
	r.diagnostics.log.Info("resume", "run", o.Run, "records", r.storage.journal.Durable(), "crashed", s.Ending == nil)
	return nil
}

// trustAgain decides about the workspace again: the run may belong to another directory than the one that was
// checked first. What the run's last process trusted stays trusted as long as it is unchanged.
func trustAgain(c settings.Choices, old runconfig.Options) (settings.TrustState, error) {
	t, err := settings.TrustIn(c.Place, c.Trusting.State, c.Trusting.ByFlag)
	if err != nil || t.Trusted || !old.Trusted || old.Rehearsal {
		return t, err
	}
	if old.TrustHash != "" && old.TrustHash == t.Listing.Hash {
		t.Trusted = true
		return t, nil
	}
	t.Recorded = true // by the run
	return t, nil
}

// forget removes environment variables that an earlier process did not record, and adds a notice about them.
func forget(notices *notice, flag string, env *map[string]string) {
	kept, lost := settings.ForgottenSecrets(*env)
	if *env = kept; lost != nil {
		notices.add("secrets in the environment that was given with %s were not recorded: give %s again if the "+
			"agents need them", flag, strings.Join(lost, ", "))
	}
}

// placeSessions copies the transcripts of an imported run from the directory of the run to Claude Code's
// configuration. This happens before an agent is started, so a resume that is killed meanwhile repeats it.
func placeSessions(dir string, o runconfig.Options) error {
	from := filepath.Join(dir, runstore.ProjectsDir)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	run := command.ShortID(o.Run)
	if err := runstore.ArchivePlace(from, runstore.ClaudeConfig(o)); err != nil {
		return command.Environmentf("run %s: the transcripts of its sessions cannot be put in place: %v", run, err)
	}
	if err := os.RemoveAll(from); err != nil {
		return command.Environmentf("run %s: %v", run, err)
	}
	return nil
}

// resumeOrBegin makes c resume the latest run of the directory, if there is one. That run already has its task, so
// it does not get the task again; if the run is complete, it reports its result again.
func resumeOrBegin(c *settings.Choices) error {
	store, err := runstore.OpenIn(c.StateDir)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := store.Latest(c.Place, runstore.ReachedAgent)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return command.Environmentf("find the latest run: %v", err)
	}
	c.Resume, c.Session, c.Options.Task = true, info.Run, ""
	return nil
}

// openMemory opens what the runs in the workspace have learned; nil in a rehearsal, and if memory is off.
func (r *hostedRun) openMemory() (*memory.Store, error) {
	if r.choices.Options.Memory == settings.MemoryOff || r.choices.Options.Rehearsal {
		return nil, nil
	}
	return memory.Open(r.choices.StateDir, r.choices.Place, r.diagnostics.mask)
}

// recall reads what earlier runs have learned into the options of a run. If the caller gets an error, the run
// continues without memory.
func (r *hostedRun) recall(o *runconfig.Options) error {
	store, err := r.openMemory()
	if store == nil || err != nil {
		return err
	}
	defer store.Close() // it was only read
	m, err := store.Load()
	o.Lessons = memory.Brief(m.Lessons)
	o.Performance = memory.Performance(m.Outcomes)
	o.Expected = memory.Forecasts(m.Outcomes)
	return err
}

// remember stores what a run has learned, and how its agents did.
func (r *hostedRun) remember(s *supervisor.State) error {
	if s.Ending == nil || !s.Ending.Said || !s.Reached() {
		return nil
	}
	store, err := r.openMemory()
	if store == nil || err != nil {
		return err
	}
	defer store.Close()
	now := time.Now()
	var lessons []memory.Lesson
	for _, l := range s.Task.Lessons {
		lessons = append(lessons, memory.Lesson{
			Text: l.Text, Evidence: l.Evidence, Run: command.ShortID(s.Options.Run), Date: now,
		})
	}
	if len(lessons) > 0 {
		if err := store.Learn(lessons); err != nil {
			return err
		}
	}
	if s.Options.ForkedFrom != nil {
		return nil // its executions are those of the other run, too
	}
	var used []memory.AgentOutcome
	for _, a := range s.Agents {
		if a.Role != supervisor.RoleOrchestrator {
			continue
		}
		one := memory.AgentOutcome{Name: supervisor.ModeOf(a), Restarts: a.Generation - 1, CostUSD: a.Spent()}
		if a.Standing == supervisor.HandedOff {
			one.Handoffs = 1
		}
		used = append(used, one)
	}
	return store.Record(memory.Outcome{
		Run: s.Options.Run, Date: now, Status: s.Ending.Status, CostUSD: s.Spent(),
		Agents: memory.Tally(s.Task.History.Counts(), used),
	})
}

// windowsName is the file of the state directory with what models have refused as too long: how many tokens each takes
// at most. It may be removed: later runs learn the limits again.
const windowsName = "windows.json"

// windows is that file.
type windows struct {
	V       int            `json:"v"`
	Windows map[string]int `json:"windows"` // by the name of the model
}

// readWindows reads what earlier runs have learned about models.
func readWindows(d *statedir.Dir) (windows, error) {
	w := windows{V: 1}
	_, problem, err := d.ReadJSON(windowsName, 1<<20, w.V, &w)
	if problem != "" {
		err = fmt.Errorf("%s cannot be used: %s; remove it", d.Path(windowsName), problem)
	}
	return w, err
}

// keepWindow keeps what a run has learned for later runs.
func keepWindow(stateDir, model string, tokens int) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock(windowsName+".lock", 5*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := readWindows(d)
	if err != nil {
		return err
	}
	if w.Windows == nil {
		w.Windows = map[string]int{}
	}
	w.Windows[model] = tokens
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return d.Replace(windowsName, raw)
}

// withWindows adds to the options of a run what earlier runs have learned, except about models for which the human has
// given a limit.
func withWindows(o *runconfig.Options, stateDir string) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	w, err := readWindows(d)
	if err != nil || len(w.Windows) == 0 {
		return err
	}
	caps := maps.Clone(o.ContextTokensFor)
	if caps == nil {
		caps = map[string]int{}
	}
	for model, tokens := range w.Windows {
		given := false
		for prefix := range o.ContextTokensFor {
			given = given || strings.HasPrefix(model, prefix)
		}
		if !given && tokens > 0 {
			caps[model] = tokens
		}
	}
	o.ContextTokensFor = caps
	return nil
}

// useGrants gives a loop the stored grants of the workspace, and stores new ones. If the store cannot be opened, the
// human is informed, and the run continues and asks.
func (r *hostedRun) useGrants(loop *runloop.Loop) {
	store, err := trust.OpenGrants(r.choices.StateDir, r.choices.Options.CWD)
	if err != nil {
		r.notice.add("the grants of this workspace cannot be read, and new ones are not saved: %v", err)
		return
	}
	r.grants = store
	kept, problems, err := store.Load()
	if err != nil {
		r.notice.add("the grants of this workspace cannot be read: %v", err)
	}
	for _, p := range problems {
		r.notice.add("a grant of this workspace is not trusted (%s)", p)
	}
	if err := loop.Grants(store, kept); err != nil {
		r.notice.add("%v", err)
	}
}
