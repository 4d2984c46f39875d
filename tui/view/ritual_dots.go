package view

// This part of the package draws the agents of a run as figures: the Arbiter before its loom, and each
// Orchestrator on the ground beside it, joined to the loom by a thread. The ornament shows the real state: an
// agent that works has a tight thread along which light runs, one that waits has a loose thread, and one with
// a question raises a hand. A successor walks in, a predecessor walks off, the cloth on the loom grows with
// the plan, and it is night while all agents wait.
//
// A [Scene] is data, and [Scene.Draw] a pure function of it and of a frame's number, so the package needs
// no clock. With braille the figures are drawn in dots, with ASCII in letters. Few cells change between two
// frames: the scene costs little to send, and nothing while no agent works.

import (
	"math"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Values of dots; those of the workers are higher.
const (
	faint       = 1 + iota // ground, warp, slack threads, stars
	cloth                  // the woven cloth, the moon
	oracle                 // the Arbiter
	ritualFirst            // the first worker
)

// canvas is the area on which a scene is drawn, in dots.
type canvas struct {
	*render.Dots
	w, ground int // dots
}

// dots draws the scene in dots, in all rows but the last.
func (s Scene) dots(c render.Canvas, list []ritualPlaced, frame int) {
	columns, rows := c.Size()
	d := canvas{render.NewDots(columns, rows-1), columns * 2, (rows-1)*4 - 2}
	roles := []render.Role{render.Base, render.SigilDim, render.Sigil, render.SpeakerArbiter}
	for _, p := range list {
		role := render.Speaker(p.ID)
		if p.Pose == RitualLeaves {
			role = render.Dim
		}
		roles = append(roles, role)
	}
	person, light := uint8(len(roles)), uint8(len(roles)+1)
	roles = append(roles, render.SpeakerHuman, render.SigilBright)
	d.floor()
	if s.Night() {
		d.sky()
	}
	d.loom(s.Cloth)
	d.sprite(s.oracle(frame), (loomColumns-5)*2, oracle)
	if s.Arbiter.Pose == RitualWakes {
		d.halo((loomColumns-5)*2, light)
	}
	for i, p := range list {
		d.sprite(p.pose(frame), p.column*2, ritualFirst+uint8(i))
		switch p.Pose {
		case RitualWorks:
			d.thread(p.column*2, i, 1)
			d.pulse(p.column*2, i, frame+5*i, light)
		case RitualWaits, RitualAsks:
			d.thread(p.column*2, i, 4)
		}
	}
	d.drawHumans(s, columns, frame, person)
	c.Lines(0, d.Lines(roles...))
}

// sprite draws a figure that stands on the ground, with its middle at x. It hides what is behind it.
func (d canvas) sprite(art []string, x int, value uint8) {
	top, left := d.ground-len(art), x-len(art[0])/2
	for y, row := range art {
		for i := range row {
			if row[i] == '#' {
				d.Set(left+i, top+y, value)
			} else if i > 0 && i < len(row)-1 {
				d.Erase(left+i, top+y)
			}
		}
	}
}

// floor draws the dotted ground.
func (d canvas) floor() {
	for x := 0; x < d.w; x += 2 {
		d.Set(x, d.ground+x/2%2, faint)
	}
}

// The loom, in dots from the left.
const loomLeft, loomRight, loomHeight = 2, 20, 21

// loom draws the loom and the finished part of the cloth.
func (d canvas) loom(done float64) {
	top := d.ground - loomHeight
	for x := loomLeft; x <= loomRight; x++ {
		d.Set(x, top, cloth)
		d.Set(x, top+1, cloth)
		d.Set(x, d.ground-3, cloth)
	}
	for y := top; y < d.ground; y++ {
		d.Set(loomLeft, y, cloth)
		d.Set(loomRight, y, cloth)
	}
	woven := d.ground - 3 - int(math.Round(math.Max(0, math.Min(done, 1))*(loomHeight-6)))
	for x := loomLeft + 3; x < loomRight-1; x += 2 {
		for y := top + 2; y < d.ground-3; y++ {
			if y < woven {
				d.Set(x, y, faint)
				continue
			}
			d.Set(x, y, cloth)
			d.Set(x+1, y+(x/2+y)%2, cloth)
		}
	}
}

// descent is the number of dots before its worker at which a thread begins to descend from above all heads.
const descent = 9

// at returns the height at x of the thread of the worker at a place.
func (d canvas) at(x, worker, place int) int {
	high, hands := d.ground-18-place%3*2, d.ground-10
	if left := worker - 5 - x; left < descent {
		return hands - (hands-high)*left/descent
	}
	return high
}

// thread draws a thread from a worker to the loom. A slack one has gaps.
func (d canvas) thread(worker, place, step int) {
	for x := loomRight + 1; x < worker-4; x += step {
		d.Set(x, d.at(x, worker, place), faint)
	}
}

// pulse draws the light that runs along a thread to the loom.
func (d canvas) pulse(worker, place, frame int, value uint8) {
	if way := worker - 6 - loomRight; way > 0 {
		x := worker - 6 - frame*4%way
		y := d.at(x, worker, place)
		d.Set(x, y, value)
		d.Set(x+1, y, value)
	}
}

// halo is drawn around the Arbiter's head when a successor takes its place.
func (d canvas) halo(x int, value uint8) {
	for i := range 15 {
		a := math.Pi * float64(i) / 14
		d.Set(x+int(math.Round(13*math.Cos(a))), d.ground-9-int(math.Round(12*math.Sin(a))), value)
	}
}

// sky draws the moon, and stars if there is room for them.
func (d canvas) sky() {
	x, y := d.w-8, 4
	for dy := -4; dy <= 4; dy++ {
		for dx := -4; dx <= 4; dx++ {
			if dx*dx+dy*dy <= 17 && (dx+3)*(dx+3)+(dy+1)*(dy+1) > 14 {
				d.Set(x+dx, y+dy, cloth)
			}
		}
	}
	for i := range d.w / 9 {
		x, y := (i*37+11)%max(d.w-16, 1), (i*i*13+i*5)%max(d.ground-22, 1)
		if x > loomRight+2 {
			d.Set(x, y, faint)
		}
	}
}
