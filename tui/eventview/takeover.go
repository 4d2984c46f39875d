package eventview

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// taking is a card of a takeover: what was done in it is folded away.
func (o cards) taking(e contract.Event, t contract.Takeover, r render.Role) View {
	c := o.quiet(e, r, o.Look.Glyphs.Current, prose(e, o.Name))
	digest := strings.Trim(t.Digest, "\n")
	if strings.TrimSpace(digest) == "" {
		return c
	}
	if c.Foldable = true; o.Open {
		c.Lines = append(c.Lines, o.markdown(render.Dim, digest)...)
	}
	return c
}

// takeover says how one stands, in a sentence about whose session it is.
func takeover(t contract.Takeover, who string) string {
	text := who
	switch t.State {
	case "began":
		text += " is being handed over to you"
	case "open":
		text += " is in your hands"
	case "ended":
		text += " is given back"
		var did []string
		if t.Words > 0 {
			did = append(did, words.Count(t.Words, "word")+" of yours")
		}
		if n := len(t.Files); n > 0 {
			did = append(did, words.Count(n, "file")+" changed: "+one(strings.Join(t.Files[:min(n, 5)], ", "), maxToolSummary)+after(", and ", more(n-5)))
		}
		text += after(" – ", strings.Join(did, ", "))
	case "failed":
		text += " could not be handed over"
	default:
		text += ": takeover " + one(t.State, maxName)
	}
	return text + after(" (", closed(one(t.Reason, maxWords)))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return words.Number(n) + " more"
}

// halted says that everything was stopped, and by which way that was asked for.
func halted(h contract.Halted) string {
	text := "Everything is halted"
	switch h.By {
	case "", "screen", "stdin":
	case "socket":
		text += ", from another terminal"
	default:
		text += ", by " + one(h.By, maxName)
	}
	return text + ". /continue wakes the agents."
}

// safety is how a run's agents are held: what is allowed, what confines them, and whether
// what the workspace brings along is loaded. It is empty for a journal older than that.
func safety(s contract.Session) []string {
	var list []string
	if s.Permissions != "" && s.Permissions != "allow-all" { // that is a danger
		list = append(list, "permissions: "+one(s.Permissions, maxName))
	}
	if s.Sandbox == "" {
		return list
	}
	if s.Sandbox != "unsandboxed" {
		list = append(list, one(s.Sandbox, maxName))
	} else if !unconfined(s) {
		list = append(list, "unsandboxed")
	}
	if s.Trusted {
		return append(list, "workspace trusted")
	}
	return append(list, "workspace not trusted")
}

// unconfined reports whether it is a danger that there is no sandbox.
func unconfined(s contract.Session) bool {
	return s.Sandbox == "unsandboxed" && (s.Permissions == "allow-all" || s.SandboxReason != "" && !strings.HasPrefix(s.SandboxReason, "not asked for"))
}
