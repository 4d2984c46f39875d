package subcommands

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestInboxAnswer: what is typed behind a number becomes the command that answers the item, or is refused.
func TestInboxAnswer(t *testing.T) {
	bash := supervisor.InboxItem{ID: "p", Request: &contract.PermissionRequest{Tool: "Bash", Action: "a"}}
	form := supervisor.InboxItem{ID: "f", Request: &contract.PermissionRequest{Tool: bridge.ElicitTool, Action: "b"}}
	choice := supervisor.InboxItem{Choices: []string{"retry", "skip"}}
	for _, c := range []struct {
		item supervisor.InboxItem
		text string
		want contract.CommandBody // nil: it is refused
	}{
		{bash, "y", contract.Permit{Request: "p", Action: "a", Behavior: "allow", Scope: "once"}},
		{bash, "n not now", contract.Permit{Request: "p", Action: "a", Behavior: "deny", Message: "not now"}},
		{bash, "y please", nil}, {bash, "yes", nil}, {bash, "any form", nil},
		{form, "y blue", contract.Permit{Request: "f", Action: "b", Behavior: "allow", Scope: "once", Message: "blue"}},
		{form, "n", contract.Permit{Request: "f", Action: "b", Behavior: "deny"}},
		{choice, "retry", contract.Choose{Option: "retry"}}, {choice, "y", nil},
		{supervisor.InboxItem{}, "y, call it dawn", contract.Say{Text: "y, call it dawn"}},
	} {
		got, err := inboxAnswer(c.item, c.text)
		if same := permitOf(got) == permitOf(c.want); !same || (err != nil) != (c.want == nil) {
			t.Errorf("%q: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
}

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

// permitOf makes commands comparable: a message has a list of images.
func permitOf(c contract.CommandBody) any {
	if say, ok := c.(contract.Say); ok {
		return say.Text
	}
	return c
}
