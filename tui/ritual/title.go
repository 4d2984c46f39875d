package ritual

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Title is the picture before the first input: the sigil, the Arbiter at its loom, and the figures that a
// person can choose. The chosen figure walks to the Arbiter.
type Title struct {
	Chosen Kind // Nobody: no choice yet
	Walked time.Duration
}

// Walk is the duration of the way to the Arbiter.
const Walk = 3 * time.Second

// Draw draws the title.
func (t Title) Draw(c render.Canvas, frame int) {
	columns, rows := c.Size()
	c.Clear(render.Base)
	ground := min(Rows, rows)
	s := Scene{Arbiter: Figure{ID: "arbiter", Label: "the Arbiter", Pose: Asks}}
	if t.Chosen == Nobody {
		s.Arbiter.Pose = Waits
		for i, k := range Kinds() {
			s.Humans = append(s.Humans, Human{Kind: k, Label: strconv.Itoa(i + 1), At: 0.35 + 0.3*float64(i)})
		}
	} else {
		s.Humans = []Human{{Kind: t.Chosen, At: 1 - min(float64(t.Walked)/float64(Walk), 1), Walks: true}}
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
func (t Title) words(columns int) render.Line {
	if t.Chosen != Nobody {
		return render.Of(render.Motto, "The "+t.Chosen.String()+" comes before the loom.")
	}
	var names []string
	for i, k := range Kinds() {
		names = append(names, fmt.Sprintf("%d the %s", i+1, k))
	}
	text := "Who comes?   " + strings.Join(names, "   ") + "   any other key: go on"
	if len(text) > columns {
		text = "1, 2, 3: who comes; else go on"
	}
	return render.Of(render.Motto, text)
}
