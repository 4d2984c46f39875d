package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/transcript"
)

// history is what was found of a session's history before its process was started.
type history struct {
	resumed    bool
	path       string // of its transcript, if it is resumed
	deliveries []bridge.DeliveryStatus
}

// lostTail says how that can be: the CLI does not wait until its transcript is on disk.
const lostTail = "as after a power cut or when another program has changed the file"

// inspectHistory determines how a session that is to be resumed can continue. A session without a
// transcript has no message yet (the file appears with the first, observed with CLI 2.1.329), and is
// started anew under its id. inspectHistory must run before the process: the CLI writes to the file as soon
// as it resumes.
func inspectHistory(ctx context.Context, env []string, p bridge.SpawnParams) (history, error) {
	none := history{deliveries: make([]bridge.DeliveryStatus, len(p.Pending))}
	for i, id := range p.Pending {
		none.deliveries[i] = bridge.DeliveryStatus{MessageID: id, Status: bridge.DeliveryAbsent}
	}
	if !p.Config.Resume {
		return history{}, nil
	}
	path, ok := transcript.Locate(proctree.ConfigDir(env, p.Config.CWD), p.Config.SessionID)
	if !ok {
		return none, nil
	}
	ids := p.Pending
	if p.Answered != "" {
		ids = append(slices.Clip(ids), p.Answered)
	}
	found, err := transcript.ReadDeliveries(ctx, path, ids)
	if ctx.Err() != nil {
		return history{}, fmt.Errorf("read the session's transcript: %w", ctx.Err())
	}
	if err != nil { // the CLI would hang on a FIFO, and start afresh on an unreadable file
		return history{}, claudeError(bridge.CatResume, "session %s cannot be resumed: %v", p.Config.SessionID, err)
	}
	if p.Answered != "" {
		last := found[len(p.Pending)]
		if found = found[:len(p.Pending)]; last.State != transcript.Ruled && last.State != transcript.Ended {
			return history{}, claudeError(bridge.CatResume, "session %s cannot be resumed: its transcript lacks the end of "+
				"the last turn, %s (message %s is %s)", p.Config.SessionID, lostTail, p.Answered, last.State)
		}
	}
	then := history{resumed: true, path: path, deliveries: none.deliveries}
	for i, f := range found {
		then.deliveries[i] = bridge.DeliveryStatus{MessageID: f.ID, Status: string(f.State), Verdict: f.Verdict}
	}
	return then, nil
}

// takeUp determines how full a resumed session is. The CLI reports it; if it does not answer, the
// transcript is used, and the window becomes known with the first result.
func (a *agent) takeUp(ctx context.Context) error {
	usage, err := a.askContext(ctx)
	if err == nil {
		a.gauge.begin(usage)
		return nil
	}
	if last, readErr := transcript.ReadNewest(a.past.path); readErr == nil && last.Found {
		a.gauge.sample(last.Sample, fromTranscript)
	}
	return err
}

// refusedSession reports whether the CLI ended because it can neither resume nor begin the session: then
// only another id helps.
func refusedSession(e *bridge.RPCError) bool {
	output := e.Message + "\n" + e.Stderr
	return strings.Contains(output, "No conversation found with session ID") ||
		strings.Contains(output, "Session ID") && strings.Contains(output, "is already in use")
}

// errForeign is the reason for ending an agent whose process runs another session.
var errForeign = errors.New("the CLI runs another session")

// quarantine ends the agent because its process runs another session. Later frames of the process are not
// about this agent.
func (a *agent) quarantine(session string) {
	a.foreignOnce.Do(func() {
		a.Emit(bridge.Error{Category: bridge.CatProtocol,
			Message: fmt.Sprintf("the CLI runs another session, %.100s instead of %s: the agent is ended", session,
				a.Config.SessionID)})
		a.turns.close(errForeign.Error())
		close(a.foreign)
	})
}
