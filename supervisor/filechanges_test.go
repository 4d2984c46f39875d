package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// workingFileChange is a run in a repository, with two Orchestrators at work.
func workingFileChange() *step {
	st := readyRun(runconfig.Options{Workspace: runconfig.Workspace{Base: "abc"}})
	addOrchestrator(st)
	addOrchestrator(st)
	return st
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
