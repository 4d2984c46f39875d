package subcommands

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
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

// TestReportOfARunThatBegins: before the first input is recorded, a run's own record says since when it exists.
func TestReportOfARunThatBegins(t *testing.T) {
	info := journal.Info{Meta: journal.Meta{Run: "r", Began: time.Unix(1, 0), Title: "Build it"}}
	r, err := liveReportOf(info, control.Status{Run: "r"})
	if err != nil || !r.Began.Equal(info.Began) || r.Title != info.Title {
		t.Errorf("%+v, %v", r, err)
	}
}
