package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// began starts the run. It starts the Arbiter at once, so that it is ready when the first message comes.
func (st *step) began(f input.Began) {
	st.Options = f.Options
	st.Lifecycle.Start(f.Claude)
	st.Budget.Runtime.Begin(st.at)
	st.Task.Phase = machine.Idle
	st.HumanPresent = f.Options.HumanPresent
	st.emit(contract.Supervisor, sessionEvent(&st.Options, st.Lifecycle.Claude()))
	if f.Notice != "" {
		st.emit(contract.Supervisor, contract.Notice{Text: f.Notice})
	}
	if wait := f.Options.PermissionWait; wait > 0 {
		st.emit(contract.Supervisor, contract.Notice{Text: "A permission request that nobody answers within " +
			wait.String() + " is denied (--permission-wait)"})
	}
	st.reportDistrust(f.Distrust)
	st.criteriaFromOptions()
	if f.Options.Timeout > 0 {
		st.do(effect.SetTimer{Key: timeoutKey, After: f.Options.Timeout})
	}
	st.addAgent(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
	}, f.Options.Task)
	if f.Options.Task != "" {
		st.giveTask(f.Options.Task, f.Images)
	}
}

// noBridge ends a run, or a further process of a run, that never had an agent. Open questions and messages stay
// open for the next process.
func (st *step) noBridge(f input.NoBridge) {
	completed, was := st.Completed(), st.Ending
	if was == nil {
		was = &Ending{Question: st.Question.Open, Requests: st.Permission.All(), Was: st.Task.Phase}
	}
	if len(st.Agents) > 0 { // a run that was to be resumed
		st.Budget.Runtime.Close(st.at)
		st.Question.Open = nil
	}
	st.Budget.Runtime.ProcessBegan = st.at
	st.Options, st.Task.Phase, st.Ending = f.Options, machine.Idle, nil
	st.emit(contract.Supervisor, sessionEvent(&st.Options, st.Lifecycle.Claude()))
	st.Permission.Unclaimed, st.Permission.Open = st.Permission.All(), nil // the processes that asked have ended
	st.Permission.Shutdown(&st.out, stopped)
	st.fail(contract.Supervisor, f.Category, f.Message, RecoveryOptions(f.Category, RoleArbiter))
	exit := contract.ExitFailed
	if IsEnvironmental(f.Category) {
		exit = contract.ExitEnvironment
	}
	st.shift(machine.GiveUp, machine.Failed)
	st.Ending = &Ending{Status: contract.StatusFailed, Summary: f.Message, Exit: exit, Question: was.Question,
		Requests: was.Requests, Was: was.Was}
	st.finish()
	if completed {
		st.Task.Phase, st.Ending = machine.Complete, was
	}
}

// sessionEvent describes the run, as its first event.
func sessionEvent(o *runconfig.Options, claude bridge.ClaudeInfo) contract.Session {
	confined, why := o.Confinement()
	return contract.Session{
		Session: o.Run, CWD: o.CWD, ClaudeVersion: claude.Version, Claude: claude.Path,
		Rehearsal: o.Rehearsal, StandIn: o.StandIn, Scenario: o.Scenario,
		Trusted: o.Trusted, Permissions: o.Permissions, Version: o.Version, Log: o.Log,
		Sandbox: confined, SandboxReason: why, ForkedFrom: o.ForkedFrom,
	}
}
