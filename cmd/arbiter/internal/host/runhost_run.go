package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// hostedRun is one process of a run.
type hostedRun struct {
	choices settings.Choices
	resumed *supervisor.State // state restored from the journal; nil for a new run
	notice  notice            // what the human should know before the run continues

	storage     storage
	diagnostics diagnostics
	stage       *Stage // nil unless this is a rehearsal
	decider     Opened
	grants      keptGrants
	files       recording
	loop        *runloop.Loop // nil before [hostedRun.ready]
	bridges     bridges
	frontends   frontends
}

// newRun creates a run that has not started.
func newRun(c settings.Choices) (*hostedRun, error) {
	r := &hostedRun{choices: c}
	o := &r.choices.Options
	o.Run = cmp.Or(o.Run, uuid.NewString())
	o.Delimiter = supervisor.NewDelimiter(rand.Reader)
	o.HumanPresent = !c.NoInput
	o.Claude = c.Claude
	script, err := ReadScenario(c)
	if err != nil {
		return nil, err
	}
	if err := checkIsolation(context.Background(), *o); err != nil {
		return nil, err
	}
	if err := r.openStorage(); err != nil {
		return nil, err
	}
	for _, text := range []string{c.Notice, settings.UnknownTools(c.Options)} {
		if text != "" {
			r.notice.add("%s", text)
		}
	}
	if err := r.prepareNew(script); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// prepareNew locks the directory of a new run, and opens what the run needs.
func (r *hostedRun) prepareNew(script *Play) error {
	if err := r.lockPlace(); err != nil {
		return err
	}
	c, o := &r.choices, &r.choices.Options
	err := r.storage.create(journal.Meta{
		Run: o.Run, CWD: c.Place, Began: time.Now(), Version: command.Version(), Title: command.Title(o.Task),
		Rehearsal: c.Rehearse,
	})
	if err != nil {
		return err
	}
	if err := r.openServices(script); err != nil {
		return err
	}
	if err := r.memory().recall(o); err != nil {
		r.notice.add("the lessons of earlier runs cannot be read: %v", err)
	}
	if c.Rehearse {
		if err := r.lockScratch(); err != nil {
			return err
		}
	}
	*o = o.WithDefaults()
	r.decider, err = r.openDecider()
	return err
}

// openStorage opens the state directory. The loop must exist before anything is appended to the journal.
func (r *hostedRun) openStorage() (err error) {
	r.storage, err = openStorage(r.choices.StateDir, journal.Options{
		Committed: func(upTo uint64) { r.loop.Committed(upTo) },
		Trouble:   func(err error) { r.loop.Trouble(err) },
		MaxBytes:  r.choices.Journal, History: runstore.History,
	}, &r.notice)
	return err
}

// lockPlace prevents a second run in the directory. A rehearsal has its own workspace, which is locked after it was
// created.
func (r *hostedRun) lockPlace() error {
	if r.choices.Share || r.choices.Rehearse {
		return nil
	}
	if err := r.storage.lockPlace(r.choices.Place, r.choices.Options.Run); err != nil {
		return err
	}
	return r.storage.lockWorkspace(r.choices.Place)
}

// lockScratch locks the workspace that a rehearsal has created, and records it.
func (r *hostedRun) lockScratch() error {
	dir := r.choices.Options.CWD
	if !r.choices.Share {
		if err := r.storage.lockWorkspace(dir); err != nil {
			return err
		}
	}
	if err := r.storage.update(func(m *journal.Meta) { m.Workspace = dir }); err != nil {
		return command.Environmentf("journal: %v", err)
	}
	return nil
}

// openServices opens what a run needs besides its journal: the log and, with a script, the stage of a rehearsal.
func (r *hostedRun) openServices(script *Play) (err error) {
	dir := r.storage.journal.Dir()
	mask := settings.MaskerOf(r.choices.Options, r.choices.Hosts)
	if r.diagnostics, err = openDiagnostics(dir, mask, r.choices.Debug); err != nil {
		return err
	}
	r.choices.Options.Log = r.diagnostics.file.Path()
	err = r.diagnostics.openTelemetry(r.choices.Options.Run, func(err error) {
		if r.loop != nil {
			r.frontends.input.Notice(contract.Arbiter,
				"telemetry: "+err.Error()+". The run continues; further failures there are not reported.")
		}
	})
	if err != nil {
		r.notice.add("no telemetry: %v", err)
	}
	if script != nil {
		task := r.choices.Options.Task
		if r.resumed != nil {
			task = r.resumed.Task.Text
		}
		if r.stage, err = SetStage(&r.choices, script, filepath.Join(dir, "home"), task, r.diagnostics.log); err != nil {
			return err
		}
	}
	return nil
}

// openDecider creates the decider of this run. Its model is fixed when a process starts: a later change of the
// model applies to agents only.
func (r *hostedRun) openDecider() (Opened, error) {
	return OpenDecider(r.choices.Options, ModelRun{
		StateDir: r.choices.StateDir, Stage: r.stage, Log: r.diagnostics.log,
		Snapshot: func() *supervisor.State { return r.loop.Snapshot() },
		Bridge: func() Querier {
			client := r.bridges.here.Opened()
			if client == nil {
				return nil
			}
			return Traced(client, r.diagnostics.telemetry)
		},
	})
}

func (r *hostedRun) memory() workspaceMemory {
	return workspaceMemory{stateDir: r.choices.StateDir, place: r.choices.Place, mask: r.diagnostics.mask,
		off: r.choices.Options.Memory == settings.MemoryOff || r.choices.Rehearse}
}

// options returns the options of the run, with its secrets and the current sandbox of agents.
func (r *hostedRun) options() runconfig.Options {
	o := r.choices.Options
	r.bridges.sandbox.apply(&o)
	return o
}

// recorded returns the run's options in the form for the journal, without secrets.
func (r *hostedRun) recorded() runconfig.Options {
	o := r.options()
	o.Cores = runtime.GOMAXPROCS(0)
	if !r.choices.Rehearse {
		if err := withWindows(&o, r.choices.StateDir); err != nil {
			r.notice.add("what earlier runs learned about models is not known: %v", err)
		}
	}
	if o.Env != nil {
		o.Env = settings.WithoutSecrets(o.Env)
	}
	if o.ArbiterEnv != nil {
		o.ArbiterEnv = settings.WithoutSecrets(o.ArbiterEnv)
	}
	return o
}

// close releases everything that is still held. After a run was played, call [hostedRun.shutdown] first.
func (r *hostedRun) close() {
	r.frontends.notifications.close()
	r.diagnostics.closeTelemetry()
	r.frontends.close()
	r.decider.Close()
	r.grants.close()
	if r.stage != nil {
		r.stage.Close()
	}
	r.storage.close(r.diagnostics.log)
	r.diagnostics.close()
}
