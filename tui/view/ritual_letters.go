package view

import (
	"math"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// The figures in letters, four rows each.
var (
	lettersStand = []string{"  o  ", " /|\\ ", "  |  ", " / \\ "}
	lettersPull  = []string{"  o  ", "--|\\ ", "  |  ", " / \\ "}
	lettersReach = []string{"\\ o  ", " \\|\\ ", "  |  ", " / \\ "}
	lettersRaise = []string{"  o/ ", " /|  ", "  |  ", " / \\ "}
	lettersBring = []string{"  o  ", "=-|\\ ", "  |  ", " / \\ "}
	lettersWalk  = []string{"  o  ", " /|\\ ", "  |  ", " |\\  "}
	lettersHood  = []string{"  .-.", " ( o)", " /  \\", "/____\\"}
)

// letters draws the scene in ASCII, in all rows but the last.
func (s Scene) letters(c render.Canvas, list []ritualPlaced, frame int) {
	columns, rows := c.Size()
	ground := rows - 2
	c.Text(0, ground, strings.Repeat("_", columns), render.SigilDim)
	s.lettersLoom(c, ground)
	hood := lettersHood
	if s.Night() {
		hood = append([]string{hood[0], " ( -)"}, hood[2:]...)
		for i := range columns / 9 {
			c.Text(loomColumns+(i*37+11)%max(columns-loomColumns, 1), i%max(rows-6, 1), ".", render.SigilDim)
		}
	}
	lettersAt(c, hood, loomColumns-5, ground, render.SpeakerArbiter)
	for i, p := range list {
		begin, length := 11, p.column-14
		if p.Pose == RitualWorks && length > 0 {
			c.Text(begin, ground-figureRows-1, strings.Repeat("-", length), render.SigilDim)
			c.Text(begin+length-1-(frame+3*i)%length, ground-figureRows-1, "*", render.SigilBright)
		}
	}
	for _, p := range list {
		role := render.Speaker(p.ID)
		if p.Pose == RitualLeaves {
			role = render.Dim
		}
		lettersAt(c, p.lettersPose(frame), p.column, ground, role)
	}
	s.lettersHumans(c, ground)
}

// lettersLoom draws the loom, with the finished part of the cloth.
func (s Scene) lettersLoom(c render.Canvas, ground int) {
	c.Text(1, ground-figureRows, "+=======+", render.Sigil)
	woven := int(math.Round(math.Max(0, math.Min(s.Cloth, 1)) * 3))
	for i := range figureRows - 1 {
		thread := "|||||||"
		if i < woven {
			thread = "#######"
		}
		c.Text(1, ground-1-i, "|"+thread+"|", render.Sigil)
	}
}

// lettersAt draws a figure that stands on the ground, with its middle in a column.
func lettersAt(c render.Canvas, art []string, column, ground int, role render.Role) {
	for i, row := range art {
		trimmed := strings.TrimLeft(row, " ")
		c.Text(column-2+len(row)-len(trimmed), ground-len(art)+i, strings.TrimRight(trimmed, " "), role)
	}
}

// lettersPose returns the drawing of a worker in a frame.
func (f Figure) lettersPose(frame int) []string {
	switch f.Pose {
	case RitualWorks:
		if frame%6 < 3 {
			return lettersPull
		}
		return lettersReach
	case RitualAsks:
		return lettersRaise
	case RitualHands:
		return lettersBring
	case RitualLeaves, RitualWakes:
		if f.Age < walking && frame%2 == 1 {
			return lettersWalk
		}
	}
	return lettersStand
}
