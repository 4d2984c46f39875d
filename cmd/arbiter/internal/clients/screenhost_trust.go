package clients

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/tui"
)

// Choices returns a copy of the current choices.
func (h *ScreenHost) Choices() settings.Choices {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.choices
}

func (h *ScreenHost) declined() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.without
}

// findingsOf returns what a person is shown of the workspace; nothing for a trusted one.
func findingsOf(t settings.TrustState) tui.Trust {
	f := tui.Trust{Changed: t.Recorded, Problem: t.Problem}
	if t.Trusted {
		return f
	}
	type key struct{ kind, file, name string }
	how := map[key]string{}
	for _, c := range t.Changed {
		how[key{c.Item.Kind, c.Item.File, c.Item.Name}] = c.How
		if c.How == trust.Removed {
			f.Items = append(f.Items, tui.TrustItem{Kind: c.Item.Kind, File: c.Item.File, Name: c.Item.Name,
				What: c.Item.What, How: c.How})
		}
	}
	for _, i := range t.Listing.Items {
		if i.Counts() {
			f.Items = append(f.Items, tui.TrustItem{Kind: i.Kind, File: i.File, Name: i.Name, What: i.What,
				How: how[key{i.Kind, i.File, i.Name}]})
		}
	}
	return f
}

// Trust implements tui.Host: it records trust in what was shown, if that is unchanged, and the next run uses it.
// The workspace's configuration file takes effect at the next start of the program.
func (h *ScreenHost) Trust(context.Context) error {
	c := h.Choices()
	t := c.Trusting
	t.Trusted, t.Recorded, t.Changed, t.Problem = true, true, nil, ""
	if err := t.Unchanged(c.Place); err != nil {
		return err
	}
	store, err := trust.Open(c.StateDir)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if err := store.Trust(c.Place, t.Listing, "the screen", time.Now()); err != nil {
		return command.Environmentf("%v", err)
	}
	c.Adopt(t)
	if err := c.ReadInstructions(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.choices.Trusting, h.choices.Options.Trusted, h.choices.Options.TrustHash = t, c.Options.Trusted,
		c.Options.TrustHash
	h.choices.Options.Modes, h.choices.Options.Templates, h.choices.Notice = c.Options.Modes, c.Options.Templates,
		c.Notice
	return nil
}

// Without implements tui.Host: the person is not asked again.
func (h *ScreenHost) Without() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.without = true
}
