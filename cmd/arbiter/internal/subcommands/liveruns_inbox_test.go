package subcommands

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
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

// permitOf makes commands comparable: a message has a list of images.
func permitOf(c contract.CommandBody) any {
	if say, ok := c.(contract.Say); ok {
		return say.Text
	}
	return c
}
