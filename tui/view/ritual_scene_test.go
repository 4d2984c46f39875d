package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// drawRitual draws a scene.
func drawRitual(t testing.TB, s Scene, g *render.Glyphs, columns, rows, frame int) ([]string, []tcell.SimCell) {
	t.Helper()
	return painted(t, func(c render.Canvas) { s.Draw(c, frame) }, g, columns, rows)
}

// painted returns the rows and the cells of what is drawn.
func painted(t testing.TB, paint func(render.Canvas), g *render.Glyphs, columns, rows int) (text []string,
	cells []tcell.SimCell) {
	t.Helper()
	screen := screenOf(t, columns, rows)
	paint(render.On(screen, 0, 0, columns, rows, lookPage(t, "dark", g)))
	screen.Show()
	cells, width, _ := screen.GetContents()
	for y := range rows {
		var b strings.Builder
		for _, c := range cells[y*width : (y+1)*width] {
			b.WriteString(string(c.Runes))
		}
		text = append(text, strings.TrimRight(b.String(), " "))
	}
	return text, append([]tcell.SimCell(nil), cells...)
}

// changedRitual returns the number of cells that differ.
func changedRitual(a, b []tcell.SimCell) int {
	n := 0
	for i := range a {
		if string(a[i].Runes) != string(b[i].Runes) || a[i].Style != b[i].Style {
			n++
		}
	}
	return n
}

var arbiter = Figure{ID: "arbiter", Label: "Arbiter", Pose: RitualWaits}

// worker is a figure that has been in its pose for a long time.
func worker(n int, label string, pose Pose) Figure {
	return Figure{ID: fmt.Sprintf("orch-%d", n), Label: label, Pose: pose, Age: time.Hour}
}

var scenes = []struct {
	name string
	Scene
}{
	{
		"night",
		Scene{Arbiter: arbiter, Workers: []Figure{worker(1, "I", RitualWaits), worker(2, "II", RitualWaits)}, Cloth: 1},
	},
	{"work", Scene{Arbiter: Figure{ID: "arbiter", Label: "Arbiter", Pose: RitualWorks}, Cloth: 0.4,
		Workers: []Figure{worker(1, "I", RitualWorks), worker(2, "II", RitualAsks), worker(3, "III", RitualWorks),
			worker(4, "IV", RitualWaits)}}},
	{"ways", Scene{Arbiter: Figure{ID: "arbiter", Label: "Arbiter", Pose: RitualWakes},
		Workers: []Figure{{ID: "orch-1", Label: "I", Pose: RitualHands, Age: time.Second},
			{ID: "orch-2", Label: "II", Pose: RitualLeaves, Age: time.Second},
			{ID: "orch-3", Label: "III", Pose: RitualWakes, Age: 2 * time.Second}}}},
}

func TestScenes(t *testing.T) {
	for _, glyphs := range []*render.Glyphs{render.Unicode, render.ASCII} {
		for _, s := range scenes {
			name := s.name
			if glyphs == render.ASCII {
				name += "-ascii"
			}
			t.Run(name, func(t *testing.T) {
				var b strings.Builder
				for _, frame := range []int{0, 3} {
					text, _ := drawRitual(t, s.Scene, glyphs, 72, RitualRows, frame)
					fmt.Fprintf(&b, "frame %d\n%s\n\n", frame, strings.Join(text, "\n"))
				}
				tuitest.File(t, name, b.String())
			})
		}
	}
}

// TestTitles: which figures may appear, and which do.
func TestTitles(t *testing.T) {
	for _, glyphs := range []*render.Glyphs{render.Unicode, render.ASCII} {
		name := "title"
		if glyphs == render.ASCII {
			name += "-ascii"
		}
		var b strings.Builder
		for _, title := range []RitualTitle{{}, {Chosen: RitualScribe, Walked: RitualWalk / 2}} {
			text, _ := painted(t, func(c render.Canvas) { title.Draw(c, 1) }, glyphs, 80, 24)
			fmt.Fprintf(&b, "%s\n\n", strings.Join(text, "\n"))
			for _, size := range [][2]int{{100, 30}, {40, 12}} {
				text, _ := painted(t, func(c render.Canvas) { title.Draw(c, 1) }, glyphs, size[0], size[1])
				all := strings.Join(text, "\n")
				testkit.Includes(t, fmt.Sprintf("%v", size), all, "T H E   A R B I T E R", "the Arbiter")
				last := strings.Join(strings.Fields(text[size[1]-1]), " ")
				testkit.Check(t, title.Chosen != RitualNobody || last == "the Arbiter 1 2 3", "%v: the labels are %q",
					size, last)
			}
		}
		tuitest.File(t, name, b.String())
	}
}

// TestFewCellsChange: animations cost little to send.
func TestFewCellsChange(t *testing.T) {
	s := Scene{Arbiter: Figure{ID: "arbiter", Pose: RitualWorks}}
	for i := range 4 {
		s.Workers = append(s.Workers, worker(i+1, "I", RitualWorks))
	}
	total, frames := 0, 36
	_, before := drawRitual(t, s, render.Unicode, 80, RitualRows, 0)
	for frame := 1; frame <= frames; frame++ {
		_, after := drawRitual(t, s, render.Unicode, 80, RitualRows, frame)
		total += changedRitual(before, after)
		before = after
	}
	mean := total / frames
	testkit.Check(t, mean != 0 && mean <= 40, "%d cells of 720 change from frame to frame", mean)
	for _, still := range scenes[:1] {
		_, a := drawRitual(t, still.Scene, render.Unicode, 80, RitualRows, 1)
		_, b := drawRitual(t, still.Scene, render.Unicode, 80, RitualRows, 2)
		testkit.Same(t, "cells that change while all wait", 0, changedRitual(a, b))
	}
}

// TestDrawnAgents: agents that have left are not drawn, and of many the newest are drawn, with the
// number of the others.
func TestDrawnAgents(t *testing.T) {
	s := Scene{Arbiter: arbiter, Workers: []Figure{worker(1, "GONE", RitualLeaves)}}
	for i := range 9 {
		s.Workers = append(s.Workers, worker(i+2, fmt.Sprint("w", i), RitualWorks))
	}
	text, _ := drawRitual(t, s, render.Unicode, 72, RitualRows, 0)
	last := text[RitualRows-1]
	testkit.Check(t, !strings.Contains(last, "GONE") && !strings.Contains(last, "w2") && strings.Contains(last, "w3") &&
		text[0] == " and 3 more", "the labels are %q", last)
	testkit.Same(t, "it is night while somebody works", false, s.Night())
}

// TestRitualAnySize: nothing panics or leaves the canvas, whatever the scene and the window size.
func TestRitualAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := Scene{Arbiter: arbiter, Cloth: r.Float64()*4 - 2}
		for i := range r.IntN(12) {
			s.Workers = append(s.Workers, Figure{ID: fmt.Sprint("orch-", i), Label: "x", Pose: Pose(r.IntN(7)),
				Age: time.Duration(r.Int64N(int64(2 * walking)))})
		}
		s.Arbiter.Pose = Pose(r.IntN(7))
		s.Humans = []RitualHuman{{Kind: RitualKinds()[r.IntN(3)], At: r.Float64()}}
		glyphs := render.Unicode
		if r.IntN(2) == 0 {
			glyphs = render.ASCII
		}
		drawRitual(t, s, glyphs, r.IntN(120)+1, r.IntN(20)+1, r.IntN(1000))
		title := RitualTitle{Chosen: RitualKind(r.IntN(4)), Walked: time.Duration(r.Int64N(int64(2 * RitualWalk)))}
		painted(t, func(c render.Canvas) { title.Draw(c, r.IntN(9)) }, glyphs, r.IntN(120)+1, r.IntN(40)+1)
	}
}
