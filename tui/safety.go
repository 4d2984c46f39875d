package tui

import (
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/cell"
	"github.com/arbiter-cli/arbiter/tui/orders"
)

// allowAll is the permissions mode in which nobody is asked.
const allowAll = "allow-all"

// held says in a few words how a run's agents are held: what they may do, what confines
// them, and whether what the workspace brings along is loaded.
func held(o *supervisor.Options, g *cell.Glyphs) cell.Line {
	sep := cell.Span{Text: " " + g.Separator + " ", Role: cell.Dim}
	mode := cell.Span{Text: orders.Word(o.Permissions), Role: cell.Dim}
	if o.Permissions == allowAll {
		mode.Role = cell.Danger
	}
	confined := cell.Span{Text: "sandbox", Role: cell.Dim}
	if o.Sandbox == nil {
		confined = cell.Span{Text: "no sandbox", Role: cell.Dim}
		if o.Permissions == allowAll || o.SandboxReason != "" {
			confined.Role = cell.Warn
		}
	}
	trusted := cell.Span{Text: "trusted", Role: cell.Dim}
	if !o.Trusted {
		trusted.Text = "not trusted"
	}
	if mode.Text == "" {
		return cell.Line{confined, sep, trusted}
	}
	return cell.Line{mode, sep, confined, sep, trusted}
}

// heldFindings are the same before anything was begun.
func heldFindings(f Findings, add func(label, text string, tone cell.Role)) {
	switch f.Permissions {
	case "":
	case allowAll:
		add("permissions", "everything is allowed, and nobody is asked", cell.Danger)
	default:
		add("permissions", f.Permissions, cell.Base)
	}
	switch f.Sandbox {
	case "":
	case "off":
		add("sandbox", "none (--sandbox auto)", cell.Dim)
	case "auto":
		add("sandbox", "bubblewrap, if it holds", cell.Base)
	default:
		add("sandbox", "bubblewrap, or no agent starts", cell.Base)
	}
}

// dangers are what must be in sight before anything was begun.
func (d *desk) dangers() []string {
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
func inHand(t *supervisor.Taken) (string, cell.Role) {
	switch t.Stage {
	case supervisor.TakenOpen:
		return "in your hands", cell.Alert
	case supervisor.TakenClosing, supervisor.TakenReading:
		return "is given back", cell.Warn
	}
	return "is being handed over", cell.Warn
}
