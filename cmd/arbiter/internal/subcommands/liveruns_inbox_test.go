package subcommands

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestInboxOf: commands see each fact of an item that the run has told.
func TestInboxOf(t *testing.T) {
	told := control.InboxItem{ID: "p", Kind: "permission", Agent: "orch-1", Host: "gpu", Text: "Bash: ls",
		Since: time.Unix(1, 0).UTC(), Choices: []string{"a"}, Optional: true,
		Request: []byte(`{"request":"p","tool":"Bash"}`)}
	list, err := inboxOf(control.Status{Inbox: []control.InboxItem{told}})
	want := supervisor.InboxItem{ID: "p", Kind: supervisor.InboxPermission, Agent: "orch-1", Host: "gpu", Text: "Bash: ls",
		Since: told.Since, Choices: told.Choices, Request: &contract.PermissionRequest{Request: "p", Tool: "Bash"},
		Optional: true}
	testkit.OK(t, err)
	testkit.Same(t, "the items are", []supervisor.InboxItem{want}, list)
	if list, err := inboxOf(control.Status{}); list == nil || err != nil {
		t.Errorf("nothing waits: %v, %v", list, err)
	}
}
