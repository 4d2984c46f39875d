package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// workingFileChange is a run in a repository, with two Orchestrators at work.
func workingFileChange() *step {
	st := readyRun(runconfig.Options{Workspace: runconfig.Workspace{Base: "abc"}})
	addOrchestrator(st)
	addOrchestrator(st)
	return st
}

// TestSnapshotAfterTurn: a snapshot is requested after a turn of an Orchestrator that used tools, and after no other.
func TestSnapshotAfterTurn(t *testing.T) {
	st := workingFileChange()
	st.snapshotAfterTurn(contract.Arbiter, bridge.Turn{Tools: 3}, 0, false)
	st.snapshotAfterTurn("orch-1", bridge.Turn{}, 0, false)
	if asked := did[input.ChangeRecord](st); len(asked) != 0 {
		t.Errorf("recorded without a reason: %+v", asked)
	}
	st.snapshotAfterTurn("orch-1", bridge.Turn{Tools: 1}, 0, false)
	if asked := did[input.ChangeRecord](st); len(asked) != 1 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestTellOverlaps: working agents are notified of files that others changed, too, and the Arbiter reads it
// later.
func TestTellOverlaps(t *testing.T) {
	st := workingFileChange()
	st.reportOverlaps([]contract.Overlap{{Path: "a.go", Agents: []string{"orch-1", "orch-2"}}})
	mail, log := st.Conversation.Mail, st.Conversation.WorkLog
	if len(mail) != 2 || len(log) != 1 || !strings.Contains(log[0].Text, "a.go (orch-1, orch-2)") {
		t.Errorf("mail %+v, log %+v", mail, log)
	}
}

// TestRevert: the command is answered when the change is reverted, and working agents are notified.
func TestRevert(t *testing.T) {
	st := workingFileChange()
	st.revert("r1", contract.Revert{Path: "a.go"})
	if n := len(emitted[contract.Accepted](st)); n != 0 {
		t.Fatalf("%d commands were accepted before anything was done", n)
	}
	asked := did[input.Revert](st)
	if len(asked) != 1 {
		t.Fatalf("asked for %+v", asked)
	}
	st.reverted(input.Reverted{Serial: asked[0].Serial})
	if n, mail := len(emitted[contract.Accepted](st)), st.Conversation.Mail; n != 1 || len(mail) != 2 {
		t.Errorf("%d commands accepted, mail %+v", n, mail)
	}
}
