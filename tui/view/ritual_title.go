package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// RitualTitle is the picture before the first input: the sigil, the Arbiter at its loom, and the figures that a
// person can choose. The chosen figure walks to the Arbiter.
type RitualTitle struct {
	Chosen RitualKind // Nobody: no choice yet
	Walked time.Duration
}

// RitualWalk is the duration of the way to the Arbiter.
const RitualWalk = 3 * time.Second

// Draw draws the title.
func (t RitualTitle) Draw(c render.Canvas, frame int) {
	columns, rows := c.Size()
	c.Clear(render.Base)
	ground := min(RitualRows, rows)
	s := Scene{Arbiter: Figure{ID: "arbiter", Label: "the Arbiter", Pose: RitualAsks}}
	if t.Chosen == RitualNobody {
		s.Arbiter.Pose = RitualWaits
		for i, k := range RitualKinds() {
			s.Humans = append(s.Humans, RitualHuman{Kind: k, Label: strconv.Itoa(i + 1), At: 0.35 + 0.3*float64(i)})
		}
	} else {
		s.Humans = []RitualHuman{{Kind: t.Chosen, At: 1 - min(float64(t.Walked)/float64(RitualWalk), 1), Walks: true}}
	}
	s.Draw(c.Sub(0, rows-ground, columns, ground), frame)
	above := c.Sub(0, 0, columns, rows-ground)
	space := rows - ground - 5
	art := c.Look.Sigil(columns-4, min(space, 14))
	if space < 0 {
		art = nil
	}
	y := max((space-len(art))/2, 0)
	for _, l := range art {
		above.Center(y, l)
		y++
	}
	above.Center(y+1, render.Of(render.Title, "T H E   A R B I T E R"))
	above.Center(y+3, t.words(columns))
}

// words describes what the user can do.
func (t RitualTitle) words(columns int) render.Line {
	if t.Chosen != RitualNobody {
		return render.Of(render.Motto, "The "+t.Chosen.String()+" comes before the loom.")
	}
	var names []string
	for i, k := range RitualKinds() {
		names = append(names, fmt.Sprintf("%d the %s", i+1, k))
	}
	text := "Who comes?   " + strings.Join(names, "   ") + "   any other key: go on"
	if len(text) > columns {
		text = "1, 2, 3: who comes; else go on"
	}
	return render.Of(render.Motto, text)
}
