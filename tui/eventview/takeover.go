package eventview

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// taking is a card of a takeover: what was done in it is folded away.
func (o cards) taking(e contract.Event, t contract.Takeover, r render.Role) View {
	c := o.quiet(e, r, o.Look.Glyphs.Current, eventtext.Line(e, o.Name))
	digest := strings.Trim(t.Digest, "\n")
	if strings.TrimSpace(digest) == "" {
		return c
	}
	if c.Foldable = true; o.Open {
		c.Lines = append(c.Lines, o.markdown(render.Dim, digest)...)
	}
	return c
}
