package ritual

import "github.com/arbiter-cli/arbiter/tui/render"

// Kind is the figure that a person has chosen.
type Kind int

// The kinds.
const (
	Nobody Kind = iota
	Seeker      // with a staff
	Scribe      // with a book
	Smith       // with a hammer
	kinds
)

// Kinds returns the kinds that can be chosen.
func Kinds() []Kind { return []Kind{Seeker, Scribe, Smith} }

// String returns the name of the kind.
func (k Kind) String() string { return [...]string{"nobody", "seeker", "scribe", "smith"}[k] }

// Known reports whether the kind can be chosen.
func (k Kind) Known() bool { return k > Nobody && k < kinds }

// Human is a person in the picture.
type Human struct {
	Kind  Kind
	Label string  // below it
	At    float64 // the place, from 0 beside the Arbiter to 1 at the edge
	Walks bool
}

// column returns the column of the middle of the figure.
func (h Human) column(columns int) int {
	return loomColumns + 3 + int(h.At*float64(columns-loomColumns-7))
}

var kindArt = [kinds][]string{
	Nobody: {},
	Seeker: arms(stands, map[int]string{
		3: "#.#..###..", 4: "#..#####..", 5: "#...###...", 6: "#..#####..", 7: "#########.",
		8: "#.#.###.#.", 9: "#...###.#.", 10: "#...###.#.", 11: "#...###...", 12: "#..#####..",
		13: "#..#####..", 14: "#..#####..", 15: "#.#######.",
	}),
	Scribe: arms(stands, map[int]string{
		7: "..#######.", 8: "####.##.#.", 9: "#..####.#.", 10: "####.##.#.", 11: "...#####..",
		12: "...#####..", 13: "...#####..", 14: "..######..", 15: "..#######.",
	}),
	Smith: arms(stands, map[int]string{
		0: "###.##....", 1: "######....", 2: "######.#..", 3: ".##..###..", 4: ".#.#####..",
		5: ".#######..", 6: "..######..", 7: "..#######.", 8: "....###.##", 9: "...####.##",
		10: "...####...",
	}),
}

var kindLetters = [kinds][]string{
	Nobody: {}, Seeker: {"| o  ", "|/|\\ ", "|/ \\ ", "|___\\"}, Scribe: {"  o  ", "=/|\\ ", " / \\ ", "/___\\"},
	Smith: {"T o  ", " \\|\\ ", "  |  ", " / \\ "},
}

// art returns the drawing of a person in a frame.
func (h Human) art(frame int) []string {
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
