package view

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Pose is what a figure does.
type Pose int

// The poses.
const (
	RitualWaits  Pose = iota // it has nothing to do
	RitualWorks              // a turn runs
	RitualAsks               // it waits for the human
	RitualWakes              // its process starts
	RitualHands              // it has written its hand-off, and brings it
	RitualLeaves             // it has ended
)

// Figure is one agent.
type Figure struct {
	ID    string // determines its colour
	Label string // a word below it, such as "II"
	Pose  Pose
	Age   time.Duration // since it took the pose
}

// Scene is the content of the picture.
type Scene struct {
	Arbiter Figure
	Workers []Figure // the oldest first
	Humans  []RitualHuman
	Cloth   float64 // how much of the plan is done, from 0 to 1
}

// The minimum room for a scene, and how many rows it uses.
const (
	MinColumns = 34
	MinRows    = 8
	RitualRows = 9
)

const (
	// walking is how long a figure walks.
	walking = 3 * time.Second
	// stride is how many columns a worker takes.
	stride = 8
	// loomColumns is how many columns the loom and the Arbiter take.
	loomColumns = 19
)

// Gone reports whether a figure that leaves is no longer visible.
func (f Figure) Gone() bool { return f.Pose == RitualLeaves && f.Age >= walking }

// Night reports whether all agents wait.
func (s Scene) Night() bool {
	for _, f := range append([]Figure{s.Arbiter}, s.Workers...) { // persons are not counted
		if f.Pose != RitualWaits && !f.Gone() {
			return false
		}
	}
	return true
}

// ritualPlaced is a figure with the column of its middle.
type ritualPlaced struct {
	Figure
	column int
}

// place assigns columns to the workers. If there is too little room, the newest are shown, and the others
// are counted.
func (s Scene) place(columns int) (list []ritualPlaced, hidden int) {
	var shown []Figure
	for _, f := range s.Workers {
		if !f.Gone() {
			shown = append(shown, f)
		}
	}
	most := max((columns-loomColumns)/stride, 0)
	if hidden = max(len(shown)-most, 0); hidden > 0 {
		shown = shown[hidden:]
	}
	for i, f := range shown {
		at := loomColumns + stride/2 + i*stride
		way := min(float64(f.Age)/float64(walking), 1)
		switch f.Pose {
		case RitualHands: // to the loom
			at -= int(way * float64(at-loomColumns-1))
		case RitualLeaves: // out of the picture
			at += int(way * float64(columns-at))
		case RitualWakes: // into it
			at += int((1 - way) * float64(columns-at))
		}
		list = append(list, ritualPlaced{f, at})
	}
	return list, hidden
}

// Draw draws the scene, if the canvas has room for it. Frames count up while something moves; a still scene
// has frame 0.
func (s Scene) Draw(c render.Canvas, frame int) {
	columns, rows := c.Size()
	c.Clear(render.Base)
	if columns < MinColumns || rows < MinRows {
		return
	}
	list, hidden := s.place(columns)
	if c.Look.Glyphs.Drawn != nil {
		s.letters(c, list, frame)
	} else {
		s.dots(c, list, frame)
	}
	for _, p := range append(list, ritualPlaced{s.Arbiter, loomColumns - 5}) {
		label := render.Of(render.Speaker(p.ID), p.Label)
		if p.Pose == RitualLeaves {
			label[0].Role = render.Dim
		}
		c.Line(p.column-label.Width()/2, rows-1, label)
		if mark := p.mark(); mark != "" {
			role := render.Dim
			if p.Pose == RitualAsks {
				role = render.Alert
			}
			c.Text(p.column, rows-figureRows-3, mark, role)
		}
	}
	for _, h := range s.Humans {
		if !h.Kind.Known() {
			continue
		}
		c.Text(h.column(columns)-len(h.Label)/2, rows-1, h.Label, render.SpeakerHuman)
	}
	if hidden > 0 {
		c.Text(1, 0, fmt.Sprintf("and %d more", hidden), render.Dim)
	}
}

// mark returns the mark above a figure.
func (f Figure) mark() string {
	switch f.Pose {
	case RitualAsks:
		return "?"
	case RitualWakes:
		return "+"
	}
	return ""
}
