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
func workingFileChange() (*FileChangeContext, *ProcessContext) {
	p := PartsRun(runconfig.Options{Workspace: runconfig.Workspace{Base: "abc"}})
	PartsOrchestrator(p)
	PartsOrchestrator(p)
	return &FileChangeContext{DeliveryContext: p.DeliveryContext, Changes: &input.ChangeState{}}, p
}

// TestTurnEnded: a snapshot is requested after a turn of an Orchestrator that used tools, and after no other.
func TestTurnEnded(t *testing.T) {
	c, p := workingFileChange()
	c.TurnEnded(contract.Arbiter, bridge.Turn{Tools: 3}, 0)
	c.TurnEnded("orch-1", bridge.Turn{}, 0)
	if asked := Did[input.ChangeRecord](p); len(asked) != 0 {
		t.Errorf("recorded without a reason: %+v", asked)
	}
	c.TurnEnded("orch-1", bridge.Turn{Tools: 1}, 0)
	if asked := Did[input.ChangeRecord](p); len(asked) != 1 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestTellOverlaps: working agents are notified of files that others changed, too, and the Arbiter reads it
// later.
func TestTellOverlaps(t *testing.T) {
	c, _ := workingFileChange()
	c.ReportOverlaps([]contract.Overlap{{Path: "a.go", Agents: []string{"orch-1", "orch-2"}}})
	mail, log := c.Conversation.Mail, c.Conversation.WorkLog
	if len(mail) != 2 || len(log) != 1 || !strings.Contains(log[0].Text, "a.go (orch-1, orch-2)") {
		t.Errorf("mail %+v, log %+v", mail, log)
	}
}

// TestRevert: the command is answered when the change is reverted, and working agents are notified.
func TestRevert(t *testing.T) {
	c, p := workingFileChange()
	c.Revert("r1", contract.Revert{Path: "a.go"})
	if n := len(Emitted[contract.Accepted](p)); n != 0 {
		t.Fatalf("%d commands were accepted before anything was done", n)
	}
	asked := Did[input.Revert](p)
	if len(asked) != 1 {
		t.Fatalf("asked for %+v", asked)
	}
	c.Reverted(input.Reverted{Serial: asked[0].Serial})
	if n, mail := len(Emitted[contract.Accepted](p)), c.Conversation.Mail; n != 1 || len(mail) != 2 {
		t.Errorf("%d commands accepted, mail %+v", n, mail)
	}
}
