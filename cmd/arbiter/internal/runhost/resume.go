package runhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/placetrust"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runarchive"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runhistory"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/secrets"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/stage"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// lockPatience is how long a run is waited for whose last bridge is still ending its
// agents: that takes two seconds.
const lockPatience = 5 * time.Second

// resumeRun opens a run that was played before.
func resumeRun(c settings.Choices) (*runtimeRun, error) {
	r := &runtimeRun{choices: c, clients: newSubscribers()}
	if err := r.openStore(); err != nil {
		return nil, err
	}
	info, err := runstore.ToResume(r.store, c.Place, c.Session)
	if err != nil {
		return nil, err
	}
	r.choices.Options.Run, r.choices.Rehearse = info.Run, info.Rehearsal
	if info.CWD != "" {
		r.choices.Place = info.CWD
	}
	if err := r.lockPlace(); err != nil {
		return nil, err
	}
	if info.Workspace != "" {
		// Before anything of the run is touched: a copy of its state must not end its agents.
		player := r.store.Player(info.Run)
		if err := r.lockWorkspace(info.Workspace); err != nil {
			if player != 0 {
				return nil, runstore.PlayedElsewhere(info.Run, player)
			}
			return nil, err
		}
	}
	if err := r.reopenJournal(); err != nil {
		r.close()
		return nil, err
	}
	if err := r.resumeState(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// restore makes the state of the run from its journal.
func (r *runtimeRun) restore(found *journal.Recovered) (snapshot []byte, err error) {
	state, snapshot, err := supervisor.Restore(found, audit.Told)
	r.resumed = &state
	return snapshot, err
}

// reopenJournal locks the run, whose last bridge may still be ending its agents, and makes its
// state again.
func (r *runtimeRun) reopenJournal() error {
	run := r.choices.Options.Run
	book, recovery, err := r.store.Open(run, lockPatience, r.journalOptions(), r.restore)
	var held *journal.HeldError
	if errors.As(err, &held) && held.Gone {
		// Its arbiter is dead, and its bridge has outlived the time it has to end.
		if n := proctree.Sweep(run, ""); n > 0 {
			r.tellOf("ended what still held the run: %s", words.Count(n, "process"))
		}
		book, recovery, err = r.store.Open(run, lockPatience, r.journalOptions(), r.restore)
	}
	var version *journal.VersionError
	var state *supervisor.VersionError
	switch {
	case errors.As(err, &held):
		return runstore.PlayedElsewhere(run, held.PID)
	case errors.As(err, &version), errors.As(err, &state):
		return command.Environmentf("run %s was written by another version of arbiter: %v; it was left as it is",
			command.ShortID(run), err)
	case err != nil:
		return command.Environmentf("run %s cannot be taken up: %v (its journal was left as it is)", command.ShortID(run),
			err)
	}
	r.journal = book
	crashpoint.Here("resume.locked")
	// Until a moment ago the last bridge may have held the run, so that it was spared
	// when the strays of dead runs were ended.
	if n := proctree.Sweep(run, ""); n > 0 {
		r.tellOf("ended what the last life had left behind: %s", words.Count(n, "process"))
	}
	for _, d := range recovery.Damage {
		if !d.Torn && !d.Mended { // a torn end is what a crash leaves, and held nothing that was accepted
			r.tellOf("the journal was damaged: %s; what followed (%d bytes, %d whole records) was put aside in %s", d.Reason,
				d.Bytes, d.Readable, r.journal.Dir())
		}
	}
	if recovery.MetaLost != "" {
		r.tellOf("the run's description was lost (%s) and made up again", recovery.MetaLost)
	}
	return nil
}

func (r *runtimeRun) tellOf(format string, args ...any) {
	if r.notice != "" {
		r.notice += "; "
	}
	r.notice += fmt.Sprintf(format, args...)
}

// resumeState checks that the run can continue, and settles what it continues with.
func (r *runtimeRun) resumeState() error {
	run, s := command.ShortID(r.choices.Options.Run), r.resumed
	if !s.Reached() {
		return command.Usagef("nothing to resume: run %s has no task, or never got as far as an agent", run)
	}
	t, err := r.trustAgain()
	if err != nil {
		return err
	}
	r.choices.Options = MergeOptions(s.Options, r.choices)
	if err := settings.CheckProvider(r.choices.Options); err != nil {
		return err
	}
	if err := r.choices.HostsConfigured(); err != nil {
		return err
	}
	if o := &r.choices.Options; r.journal.Meta().Imported && o.CWD != r.choices.Place {
		r.tellOf("the run was imported: it goes on in %s, and not in %s any more", r.choices.Place, o.CWD)
		o.CWD = r.choices.Place
	}
	r.forget("--env", &r.choices.Options.Env)
	r.forget("--arbiter-env", &r.choices.Options.ArbiterEnv)
	r.choices.ResumeSandbox(s.Options)
	began := cmp.Or(s.Options.Workspace.Isolation, runconfig.IsolationShared)
	if now := r.choices.Options.Workspace.Isolation; r.choices.Given["isolation"] && now != began {
		return command.Usagef("run %s began with --isolation %s, and goes on with it: leave out --isolation", run, began)
	}
	r.choices.Rehearse = r.choices.Options.Rehearsal
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
		r.tellOf("%s", r.choices.Notice)
	}
	if r.choices.Policy, err = settings.RulesOf(*o); err != nil {
		return err
	}
	if err := r.choices.RefuseRoot(o.Rehearsal); err != nil {
		return err
	}
	if _, err := command.CheckDir(o.CWD); err != nil {
		return command.Usagef("the workspace of run %s cannot be used: %s: %v", run, o.CWD, err)
	}
	if err := r.placeSessions(); err != nil {
		return err
	}
	script, err := stage.Read(r.choices)
	if err != nil {
		return err
	}
	if err := r.openServices(script); err != nil {
		return err
	}
	if r.decides, err = r.decider(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if err := r.journal.Update(ctx, func(m *journal.Meta) { m.Finished, m.Status = false, "" }); err != nil {
		return command.Environmentf("run %s: %v", run, err)
	}
	crashpoint.Here("resume.folded")
	if s.Ending == nil {
		r.tellOf("the last life of this run ended without a word: it was killed, it crashed, or the power failed")
	}
	r.log.Info("resume", "run", o.Run, "records", r.journal.Durable(), "crashed", s.Ending == nil)
	return nil
}

// trustAgain decides about the workspace anew: the run may belong to another place than
// the one that was looked at, and what its last process trusted is trusted as long as it is
// the same.
func (r *runtimeRun) trustAgain() (placetrust.State, error) {
	t, err := placetrust.In(r.choices.Place, r.choices.StateDir, r.choices.Trusting.ByFlag)
	old := r.resumed.Options
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

// forget removes from an environment what an earlier process did not record, and says so.
func (r *runtimeRun) forget(flag string, env *map[string]string) {
	kept, lost := secrets.Forgotten(*env)
	if *env = kept; lost != nil {
		r.tellOf("of the environment that was given with %s, secrets were not recorded: give %s again where the "+
			"agents need it", flag, strings.Join(lost, ", "))
	}
}

// MergeOptions are those of the run, but for what was named anew.
func MergeOptions(old runconfig.Options, c settings.Choices) runconfig.Options {
	o, now := old, c.Options
	o.Version, o.Task, o.HumanPresent, o.Partial = now.Version, now.Task, !c.NoInput, now.Partial
	settings.TakeOver(&o, &now, c.Given)
	if c.Given["hosts"] {
		o.Hosts, o.HereToo, o.Pools = now.Hosts, now.HereToo, now.Pools
	}
	if c.Given["claude"] {
		o.Claude = c.Claude
	}
	return o
}

// placeSessions gives Claude Code the transcripts of an imported run. It is done before an agent is started, so that a
// resume that is killed meanwhile does it again.
func (r *runtimeRun) placeSessions() error {
	from := filepath.Join(r.journal.Dir(), runarchive.ProjectsDir)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	run := command.ShortID(r.choices.Options.Run)
	if err := runarchive.Place(from, runhistory.ClaudeConfig(r.choices.Options)); err != nil {
		return command.Environmentf("run %s: the transcripts of its sessions cannot be put in place: %v", run, err)
	}
	if err := os.RemoveAll(from); err != nil {
		return command.Environmentf("run %s: %v", run, err)
	}
	return nil
}

// resumeOrBegin makes c resume the latest run of the directory if there is one. That run has got the task already, so
// it
// does not get it again; if it is complete, it tells its result again.
func resumeOrBegin(c *settings.Choices) error {
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return command.StateDirProblem(err)
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
