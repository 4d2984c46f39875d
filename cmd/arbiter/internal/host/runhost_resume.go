package host

// This part of the package is the process that hosts a run: it opens a new run or resumes one, plays it with
// its bridges, serves the clients of its control socket, and ends it in an orderly way. arbiter host and
// arbiter --json are that process.
//
// A hosted run consists of parts that own their state: the storage of the run (storage), the output of the process
// (diagnostics), its bridges, the sandbox and the files of its agents, and its interfaces to clients (frontends).
// The functions around a run are in other packages: halting, hostbridges, localbridge, agentport; runinput,
// runcontrol, runhooks, subscribers, terminals, eventboard; askmodel, trustgate, daybudget.

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// resumeRun opens a run that was played before.
func resumeRun(c settings.Choices) (*hostedRun, error) {
	r := &hostedRun{choices: c}
	if err := r.openStorage(); err != nil {
		return nil, err
	}
	if err := r.lockAgain(); err != nil {
		r.close()
		return nil, err
	}
	if err := r.resumeState(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// lockAgain finds the run, locks it and its directory, and restores its state.
func (r *hostedRun) lockAgain() error {
	info, err := runstore.ToResume(r.storage.store, r.choices.Place, r.choices.Session)
	if err != nil {
		return err
	}
	r.choices.Options.Run, r.choices.Rehearse = info.Run, info.Rehearsal
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
		player := r.storage.store.Player(info.Run)
		if err := r.storage.lockWorkspace(info.Workspace); err != nil {
			if player != 0 {
				return runstore.PlayedElsewhere(info.Run, player)
			}
			return err
		}
	}
	r.resumed, err = r.storage.reopen(info.Run)
	return err
}

// resumeState checks that the run can continue, and determines its options.
func (r *hostedRun) resumeState() error {
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
		r.notice.add("%s", r.choices.Notice)
	}
	if r.choices.Policy, err = settings.CheckRules(*o); err != nil {
		return err
	}
	if err := r.choices.RefuseRoot(o.Rehearsal); err != nil {
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
	if err := r.storage.update(func(m *journal.Meta) { m.Finished, m.Status, m.CostUSD = false, "", 0 }); err != nil {
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
	t, err := settings.TrustIn(c.Place, c.StateDir, c.Trusting.ByFlag)
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
