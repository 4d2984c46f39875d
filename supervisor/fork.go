package supervisor

// This part of the package makes the state of a run just before one of its decisions the first state of another run.
//
// A decision begins when its question is put: when the Arbiter gets the message that it rules on, or another decider is
// asked. ForkFinder finds that moment by replaying the run. Forked is the state of the other run: it has ids and
// directories of its own, and each agent repeats the turn that it was in.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// ForkFinder replays a run up to a decision.
type ForkFinder struct {
	Number int // of the decision
	First  int // the first decision of what was replayed
	Found  bool
	State  State  // just before it
	Input  uint64 // the last one of State

	replayer  Replayer
	asked     bool // State has put the question
	snapshots int  // that State waits for
}

// Last is the number of the last decision that was replayed.
func (f *ForkFinder) Last() int { return f.replayer.State.Rulings.Decisions }

// Take applies one record. It returns [journal.ErrEnough] when State is known.
func (f *ForkFinder) Take(r journal.Record) error {
	if r.Kind == journal.Snapshot {
		err := f.replayer.Take(r)
		s := &f.replayer.State
		f.First = s.Rulings.Decisions + 1
		if s.Rulings.DeciderRequest != nil || len(s.Agents) > 0 && len(s.Agents[0].Turn) > 0 {
			f.First++ // the question was put before
		}
		return err
	}
	f.First = max(f.First, 1)
	before, last := f.replayer.State, f.replayer.Records
	step, err := f.replayer.Replay(r)
	if err != nil {
		return err
	}
	after := &f.replayer.State
	f.recorded(&before, step, after)
	if !f.Found && f.Number >= f.First && after.Rulings.Decisions >= f.Number {
		if f.Found = true; !f.asked { // it was made in the step that asked
			f.at(before, uint64(last))
		}
	}
	if f.Found && f.snapshots == 0 {
		return journal.ErrEnough
	}
	f.asked = f.asked && (f.Found || after.Rulings.Decisions == before.Rulings.Decisions)
	if !f.Found && puts(&before, after) {
		f.asked = true
		f.at(*after, r.Seq)
	}
	return nil
}

// at sets the state. The snapshots of turns that have ended before it may come later.
func (f *ForkFinder) at(s State, input uint64) {
	f.State, f.Input, f.snapshots = s, input, 0
	for i, t := range s.Changes.Queue {
		if t.Agent != "" {
			f.snapshots = i + 1
		}
	}
}

// recorded takes over what a snapshot has shown that State waits for.
func (f *ForkFinder) recorded(before *State, step Replayed, after *State) {
	taken, ok := step.Input.Body.(input.SnapshotTaken)
	if !ok || f.snapshots == 0 || len(before.Changes.Queue) == 0 || before.Changes.Queue[0].Request != taken.Serial {
		return
	}
	rest := f.State.Changes.Queue[1:]
	f.State.Changes = after.Changes
	f.State.Changes.Queue = rest
	f.snapshots--
}

// puts reports whether a step has put the question of the next decision.
func puts(before, after *State) bool {
	if p := after.Rulings.DeciderRequest; p != nil &&
		(before.Rulings.DeciderRequest == nil || before.Rulings.DeciderRequest.Serial != p.Serial) {
		return true
	}
	if len(after.Agents) == 0 || len(after.Agents[0].Turn) == 0 {
		return false
	}
	turn := after.Agents[0].Turn[0]
	if len(before.Agents) > 0 && len(before.Agents[0].Turn) > 0 && before.Agents[0].Turn[0] == turn {
		return false
	}
	m, ok := after.Conversation.SentAs(turn)
	return ok && m.Kind != KindCorrection && m.Kind != KindRetry // otherwise it was put before
}

// Forked is the first state of a run that branches off from another one.
type Forked struct {
	State    State
	Sessions []ForkedSession
	Afresh   []string          // agents of other makes: they begin another session, since theirs cannot be copied
	Rename   *strings.Replacer // the ids of the other run to those of this one, in texts
}

// ForkedSession is a session that the run continues under another id.
type ForkedSession struct {
	Agent    string
	From, To string   // ids
	Cut      []string // ids of messages: the first of them in the session begins what this run repeats
	FromTop  string   // the directory that the agent worked in, if it gets another one
	ToTop    string
}

// Fork makes the state that was found the first one of a run.
func (f *ForkFinder) Fork(run string) (*Forked, error) {
	old := &f.State
	from := contract.Fork{Run: old.Options.Run, At: f.Number, CostUSD: contract.RoundUSD(old.Spent())}
	names := []string{from.Run, run, "arbiter/" + from.Run[:8] + "/", "arbiter/" + run[:8] + "/"}
	forked := &Forked{}
	for _, a := range old.Agents {
		switch {
		case a.Gone():
			continue
		case a.Host != LifecycleHere:
			return nil, fmt.Errorf("%s works on host %s, and a session there cannot be continued by another run", a.ID, a.Host)
		}
		s := ForkedSession{Agent: a.ID, From: a.SessionID, Cut: a.Turn,
			To: idFor(run, fmt.Sprintf("session/%s/%d/fork", a.ID, a.Generation))}
		names = append(names, s.From, s.To)
		if forked.Sessions = append(forked.Sessions, s); a.Make != "" {
			forked.Afresh = append(forked.Afresh, a.ID)
		}
	}
	forked.Rename = strings.NewReplacer(names...)
	raw, err := jsonl.Marshal(old)
	if err == nil {
		err = json.Unmarshal([]byte(forked.Rename.Replace(string(raw))), &forked.State)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the state: %w", err)
	}
	s := &forked.State
	s.Options.ForkedFrom = &from
	s.Paused, s.Halted = false, false
	s.Budget.Day = BudgetDay{BaseUSD: s.Spent()} // that is the cost of the other run
	if s.Ending == nil {
		s.Ending = &Ending{Status: contract.StatusInterrupted, Exit: contract.ExitInterrupted, Said: true, Was: s.Task.Phase}
	}
	for _, a := range s.Agents {
		a.Takeover = nil
	}
	for _, id := range forked.Afresh {
		forked.Lost(id)
		s.Edit(id).MakeSession = ""
	}
	s.separate(old, forked.Sessions)
	return forked, nil
}

// separate gives each Orchestrator a directory of its own: in the run's directory, the other run has gone on.
func (s *State) separate(old *State, sessions []ForkedSession) {
	w := &s.Options.Workspace
	if !w.Enabled() {
		return
	}
	if !w.Isolated() {
		w.Isolation = runconfig.IsolationWorktree
	}
	for i := range sessions {
		x := &sessions[i]
		a := s.Edit(x.Agent)
		if was, _ := old.Agent(x.Agent); old.OwnDir(x.Agent) != "" && was.Role == RoleOrchestrator {
			continue
		}
		if a.Role == RoleOrchestrator {
			a.Isolation = w.Isolation
			s.Changes.Forget(a.ID)
			a.ReturnNotice = strings.TrimPrefix(a.ReturnNotice+"\nThis run has branched off from another one, as it was "+
				"then. You work in a directory of your own now, with the files of that moment: "+s.DirOf(a.ID)+
				". Change nothing below "+w.Root+".", "\n")
		}
		if old.OwnDir(x.Agent) == "" {
			x.FromTop, x.ToTop = w.Root, w.Top(a.ID)
		}
	}
	s.Freeze()
	s.Changes.Last, s.Changes.Acting, s.Changes.Undoing, s.Changes.Foreign = "", input.Acting{}, input.Undoing{}, nil
	s.Changes.Queue = slices.DeleteFunc(s.Changes.Queue, func(t input.ChangeTurn) bool {
		return t.Agent != "" && t.Top == ""
	})
}

// Lost makes an agent begin another session, because the other run's is gone: it reads what the supervisor knows.
func (f *Forked) Lost(agent string) { f.State.Edit(agent).NewSession = true }

// Emptied records that nothing of an agent's session is from before the turn that it repeats.
func (f *Forked) Emptied(agent string) {
	a := f.State.Edit(agent)
	a.HasHistory, a.LastAnswered = false, ""
}

// Encode encodes the state as a snapshot after the events up to seq.
func (f *Forked) Encode(seq uint64) ([]byte, error) {
	return Snapshot{State: f.State, Seq: seq}.Encode()
}
