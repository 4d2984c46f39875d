package claude

import "github.com/arbiter-cli/arbiter/bridge"

// Proofs of delivery, in the order they usually come: command_lifecycle started
// at once, the replayed user message with the model's first output, the result
// at the end. The wire is no contract: with one of them gone the next still proves it.
const (
	proofLifecycle = "lifecycle"
	proofReplay    = "replay"
	proofResult    = "result"
)

// delivered says once per message that the CLI took it up.
func (r *reader) delivered(id, proof string) {
	if r.a.turns.deliver(id) {
		r.a.emit(bridge.Delivered{MessageID: id, Proof: proof})
		if !r.taken {
			r.taken = true
			r.a.follow.look.Ring()
		}
	}
}

// replayed takes a message that the CLI repeats. In a resumed session it also
// repeats one that it drops because the history has its id (observed with CLI
// 2.1.329): there the replay proves nothing, and `started` alone does.
func (r *reader) replayed(id string) {
	if !r.a.cfg.Resume {
		r.delivered(id, proofReplay)
	}
}

// lifecycle follows a message's fate. `completed` and `cancelled` normally
// accompany a result, which counts; without a start they are all that comes.
func (r *reader) lifecycle(f lifecycleFrame) {
	switch f.State {
	case "started":
		r.delivered(f.UUID, proofLifecycle)
	case "cancelled":
		if r.a.turns.drop(f.UUID) {
			r.a.emit(bridge.Turn{MessageIDs: []string{f.UUID}, Outcome: bridge.TurnInterrupted})
		}
	case "completed": // never started: the session's history knows this id already
		if r.a.turns.drop(f.UUID) {
			r.a.emit(bridge.Turn{MessageIDs: []string{f.UUID}, Outcome: bridge.TurnFailed,
				Category: bridge.CatProtocol, Error: "the CLI dropped the message as a repeat"})
		}
	}
}

// idle ends turns whose result has not come: the CLI is through with their
// messages, and says that it does nothing. A result comes before either.
func (r *reader) idle() {
	if ids := r.a.turns.resultless(); len(ids) > 0 {
		turn := bridge.Turn{MessageIDs: ids, Outcome: bridge.TurnFailed, CostUSD: r.costs.take(),
			Category: bridge.CatProtocol, Error: "the CLI ended the turn without a result"}
		r.deeds.settle(&turn)
		r.a.emit(turn)
	}
}
