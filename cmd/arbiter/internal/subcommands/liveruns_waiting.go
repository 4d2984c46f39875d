package subcommands

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// inboxOf returns the items that wait for a human in a live run, the oldest first.
func inboxOf(st control.Status) ([]supervisor.InboxItem, error) {
	list := []supervisor.InboxItem{}
	for _, i := range st.Inbox {
		item := supervisor.InboxItem{
			ID:       i.ID,
			Kind:     supervisor.InboxKind(i.Kind),
			Agent:    i.Agent,
			Text:     i.Text,
			Since:    i.Since,
			Choices:  i.Choices,
			Optional: i.Optional,
		}
		if len(i.Request) > 0 {
			item.Request = new(contract.PermissionRequest)
			if err := json.Unmarshal(i.Request, item.Request); err != nil {
				return nil, fmt.Errorf("read what waits in run %s: %w", command.ShortID(st.Run), err)
			}
		}
		list = append(list, item)
	}
	return list, nil
}

// waitingText describes an item in full, and how to answer it. state is the flag that names the state directory.
func waitingText(i supervisor.InboxItem, run, state string) string {
	answer := "arbiter send " + run + state + " TEXT"
	switch {
	case i.Request != nil:
		answer = "arbiter allow " + run + " " + sanitize.Line(i.ID, 80) + state + ", or deny"
	case len(i.Choices) > 0:
		answer = "arbiter choose " + run + state + " " + sanitize.Line(strings.Join(i.Choices, "|"), 200)
	}
	return itemText(i) + "\nAnswer with: " + answer
}

// itemText is what waits, in words.
func itemText(i supervisor.InboxItem) string {
	text := sanitize.Text(i.Text)
	if i.Request != nil {
		text, _ = eventtext.Text(history.Entry{Event: contract.Event{ID: i.Agent, Body: *i.Request}}, nil)
	}
	return strings.TrimRight(text, "\n")
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
