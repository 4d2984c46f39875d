package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// waitingItem is one thing that waits for a human, as status --json prints it.
type waitingItem struct {
	ID      string                      `json:"id"`
	Kind    string                      `json:"kind"` // question or permission
	Agent   string                      `json:"agent"`
	Text    string                      `json:"text"`
	Since   time.Time                   `json:"since"`
	Request *contract.PermissionRequest `json:"request,omitempty"`
}

// waitingIn asks a run what waits for a human, the oldest first.
func waitingIn(ctx context.Context, c *control.Client) ([]waitingItem, error) {
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	r, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	if r.Version != supervisor.StateVersion {
		return nil, &supervisor.VersionError{Found: r.Version, Known: supervisor.StateVersion}
	}
	var s supervisor.State
	if err := json.Unmarshal(r.State, &s); err != nil {
		return nil, fmt.Errorf("read the state of the run: %w", err)
	}
	list := []waitingItem{}
	if q := s.OpenQuestion(); q != nil {
		list = append(list, waitingItem{
			ID: "question", Kind: "question", Agent: contract.Arbiter, Text: q.Text, Since: q.At.UTC(),
		})
	}
	requests := s.Permission.All()
	if s.Ending != nil {
		requests = s.Ending.Requests
	}
	for _, r := range requests {
		list = append(list, permissionItem(r))
	}
	slices.SortStableFunc(list, func(a, b waitingItem) int { return a.Since.Compare(b.Since) })
	return list, nil
}

func permissionItem(r permission.Request) waitingItem {
	e := r.Event()
	return waitingItem{
		ID: r.ID, Kind: "permission", Agent: r.Params.ID, Text: r.Params.Tool, Since: r.At.UTC(), Request: &e,
	}
}

// prose is what waits in full, and how it is answered. State leads a command to the state directory.
func (w waitingItem) prose(run, state string) string {
	if w.Request == nil {
		return sanitize.Text(w.Text) + "\nAnswer with: arbiter send " + run + state + " TEXT"
	}
	text, _ := eventtext.Text(history.Entry{Event: contract.Event{ID: w.Agent, Body: *w.Request}}, nil)
	id := sanitize.Line(w.ID, 80)
	return strings.TrimRight(text, "\n") + "\nAnswer with: arbiter allow " + run + " " + id + state + ", or deny"
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
