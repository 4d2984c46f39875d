package tui

import (
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// allowAll is the permissions mode in which nobody is asked.
const allowAll = "allow-all"

// held says in a few words how a run's agents are held: what they may do, what confines
// them, and whether what the workspace brings along is loaded.
func held(o *runconfig.Options, g *render.Glyphs) render.Line {
	sep := render.Span{Text: " " + g.Separator + " ", Role: render.Dim}
	mode := render.Span{Text: slash.Word(o.Permissions), Role: render.Dim}
	if o.Permissions == allowAll {
		mode.Role = render.Danger
	}
	confined := render.Span{Text: "sandbox", Role: render.Dim}
	if o.Sandbox == nil {
		confined = render.Span{Text: "no sandbox", Role: render.Dim}
		if o.Permissions == allowAll || o.SandboxReason != "" {
			confined.Role = render.Warn
		}
	}
	trusted := render.Span{Text: "trusted", Role: render.Dim}
	if !o.Trusted {
		trusted.Text = "not trusted"
	}
	if mode.Text == "" {
		return render.Line{confined, sep, trusted}
	}
	return render.Line{mode, sep, confined, sep, trusted}
}

// heldFindings are the same before anything was begun.
func heldFindings(f Findings, add func(label, text string, tone render.Role)) {
	switch f.Permissions {
	case "":
	case allowAll:
		add("permissions", "everything is allowed, and nobody is asked", render.Danger)
	default:
		add("permissions", f.Permissions, render.Base)
	}
	switch f.Sandbox {
	case "":
	case "off":
		add("sandbox", "none (--sandbox auto)", render.Dim)
	case "auto":
		add("sandbox", "bubblewrap, if it holds", render.Base)
	default:
		add("sandbox", "bubblewrap, or no agent starts", render.Base)
	}
}

// dangers are what must be in sight before anything was begun.
func (d *app) dangers() []string {
	if d.rehearse {
		return []string{"REHEARSAL"}
	}
	if d.found.Permissions != allowAll {
		return nil
	}
	if d.found.Sandbox == "off" {
		return []string{"ALLOW ALL", "UNSANDBOXED"}
	}
	return []string{"ALLOW ALL"}
}

// inHand says how the session of an agent stands that a human has taken over.
func inHand(t *takeover.Takeover) (string, render.Role) {
	switch t.Stage {
	case takeover.Open:
		return "in your hands", render.Alert
	case takeover.Closing, takeover.Reading:
		return "is given back", render.Warn
	}
	return "is being handed over", render.Warn
}
