package claude

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// Proofs of delivery, in the order in which they usually come: command_lifecycle started at once, the
// replayed user message with the model's first output, the result at the end. The CLI does not guarantee
// them: if one of them is missing, the next still proves the delivery.
const (
	proofLifecycle = "lifecycle"
	proofReplay    = "replay"
	proofResult    = "result"
)

// delivered reports, once per message, that the CLI accepted it.
func (r *reader) delivered(id, proof string) {
	if r.a.turns.deliver(id) {
		r.a.Emit(bridge.Delivered{MessageID: id, Proof: proof})
		if !r.taken {
			r.taken = true
			r.a.follow.look.Ring()
		}
	}
}

// replayed handles a message that the CLI repeats. In a resumed session the CLI also repeats a message that
// it drops because the history has its id (observed with CLI 2.1.329): there the replay proves nothing, and
// only `started` does.
func (r *reader) replayed(id string) {
	if r.a.turns.isOpen(id) {
		r.echoed[id] = true
		r.a.turns.enter()
	}
	if !r.a.Config.Resume {
		r.delivered(id, proofReplay)
	}
}

// lifecycle follows the delivery of a message. `completed` and `cancelled` normally accompany a result,
// which takes precedence; for a message that was never started no other frame comes.
func (r *reader) lifecycle(f lifecycleFrame) {
	switch f.State {
	case "started":
		r.delivered(f.UUID, proofLifecycle)
	case "cancelled":
		if r.a.turns.drop(f.UUID) {
			r.a.Emit(bridge.Turn{MessageIDs: []string{f.UUID}, Outcome: bridge.TurnInterrupted,
				Unread: r.unread([]string{f.UUID})})
		}
	case "completed": // never started: the session's history knows this id already
		if r.a.turns.drop(f.UUID) {
			r.a.Emit(bridge.Turn{MessageIDs: []string{f.UUID}, Outcome: bridge.TurnFailed,
				Category: bridge.CatProtocol, Error: "the CLI dropped the message as a repeat"})
		}
	}
}

// idle ends turns whose result has not come: the CLI has finished their messages and reports that it is
// idle. A result would have come before either.
func (r *reader) idle() {
	if ids := r.a.turns.resultless(); len(ids) > 0 {
		turn := bridge.Turn{MessageIDs: ids, Outcome: bridge.TurnFailed, Category: bridge.CatProtocol,
			Error: "the CLI ended the turn without a result"}
		r.closeUnended(&turn)
		r.a.Emit(turn)
	}
}

const (
	// enterTimeout bounds how long an interrupt waits for the message before it. A UserPromptSubmit hook
	// of the user may take longer; unread determines then whether the message was read.
	enterTimeout = 2 * time.Second
	// unreadDeadline bounds reading the transcript, during which no frame is read.
	unreadDeadline = 5 * time.Second
)

// unread returns the messages of an interrupted turn that did not enter the conversation, so that the model
// will never see them. The CLI repeats those that did, at the latest when it is interrupted; for the others
// unread reads the transcript, as before a resume. If that fails, a message counts as unread: reading a
// message twice does less harm than losing it.
func (r *reader) unread(ids []string) []string {
	var doubtful, unread []string
	for _, id := range ids {
		if !r.echoed[id] {
			doubtful = append(doubtful, id)
		}
		delete(r.echoed, id)
	}
	if len(doubtful) == 0 {
		return nil
	}
	path, ok := transcript.Locate(r.a.follow.config, r.a.Config.SessionID)
	if !ok {
		return doubtful
	}
	ctx, cancel := context.WithTimeout(r.a.Ctx, unreadDeadline)
	defer cancel()
	deliveries, err := transcript.ReadDeliveries(ctx, path, doubtful)
	if err != nil {
		return doubtful
	}
	for _, f := range deliveries {
		if f.State == transcript.Absent {
			unread = append(unread, f.ID)
		}
	}
	return unread
}
