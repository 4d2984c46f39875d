package view

import "github.com/arbiter-cli/arbiter/tui/render"

// RitualKind is the figure that a person has chosen.
type RitualKind int

// The kinds.
const (
	RitualNobody RitualKind = iota
	RitualSeeker            // with a staff
	RitualScribe            // with a book
	RitualSmith             // with a hammer
	ritualKinds
)

// RitualKinds returns the kinds that can be chosen.
func RitualKinds() []RitualKind { return []RitualKind{RitualSeeker, RitualScribe, RitualSmith} }

// String returns the name of the kind.
func (k RitualKind) String() string { return [...]string{"nobody", "seeker", "scribe", "smith"}[k] }

// Known reports whether the kind can be chosen.
func (k RitualKind) Known() bool { return k > RitualNobody && k < ritualKinds }

// RitualHuman is a person in the picture.
type RitualHuman struct {
	Kind  RitualKind
	Label string  // below it
	At    float64 // the place, from 0 beside the Arbiter to 1 at the edge
	Walks bool
}

// column returns the column of the middle of the figure.
func (h RitualHuman) column(columns int) int {
	return loomColumns + 3 + int(h.At*float64(columns-loomColumns-7))
}

var kindArt = [ritualKinds][]string{
	RitualNobody: {},
	RitualSeeker: arms(stands, map[int]string{
		3: "#.#..###..", 4: "#..#####..", 5: "#...###...", 6: "#..#####..", 7: "#########.",
		8: "#.#.###.#.", 9: "#...###.#.", 10: "#...###.#.", 11: "#...###...", 12: "#..#####..",
		13: "#..#####..", 14: "#..#####..", 15: "#.#######.",
	}),
	RitualScribe: arms(stands, map[int]string{
		7: "..#######.", 8: "####.##.#.", 9: "#..####.#.", 10: "####.##.#.", 11: "...#####..",
		12: "...#####..", 13: "...#####..", 14: "..######..", 15: "..#######.",
	}),
	RitualSmith: arms(stands, map[int]string{
		0: "###.##....", 1: "######....", 2: "######.#..", 3: ".##..###..", 4: ".#.#####..",
		5: ".#######..", 6: "..######..", 7: "..#######.", 8: "....###.##", 9: "...####.##",
		10: "...####...",
	}),
}

var kindLetters = [ritualKinds][]string{
	RitualNobody: {}, RitualSeeker: {"| o  ", "|/|\\ ", "|/ \\ ", "|___\\"}, RitualScribe: {"  o  ", "=/|\\ ", " / \\ ",
		"/___\\"},
	RitualSmith: {"T o  ", " \\|\\ ", "  |  ", " / \\ "},
}

// art returns the drawing of a person in a frame.
func (h RitualHuman) art(frame int) []string {
	art := kindArt[h.Kind]
	if h.Walks && frame%2 == 1 {
		art = arms(art, map[int]string{13: "..###.##..", 14: ".##....##.", 15: "###.....##"})
	}
	return art
}

// drawHumans draws persons in dots.
func (d canvas) drawHumans(s Scene, columns, frame int, value uint8) {
	for _, h := range s.Humans {
		if h.Kind.Known() {
			d.sprite(h.art(frame), h.column(columns)*2, value)
		}
	}
}

// lettersHumans draws persons in letters.
func (s Scene) lettersHumans(c render.Canvas, ground int) {
	columns, _ := c.Size()
	for _, h := range s.Humans {
		if h.Kind.Known() {
			lettersAt(c, kindLetters[h.Kind], h.column(columns), ground, render.SpeakerHuman)
		}
	}
}
