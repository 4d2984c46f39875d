package view

// The figures, in dots: each # is a dot. They are ten dots wide and sixteen high, and look to the left,
// towards the loom.

const (
	figureWidth = 10
	figureRows  = 4 // of the screen
)

var stands = []string{
	"....##....",
	"...####...",
	"..##.###..",
	"..#..###..",
	"...#####..",
	"....###...",
	"...#####..",
	"..#######.",
	"..#.###.#.",
	"..#.###.#.",
	"..#.###.#.",
	"....###...",
	"...#####..",
	"...##.##..",
	"...##.##..",
	"..###.###.",
}

// The arms of a working figure: it pulls the thread, and releases it.
var (
	pulls = arms(stands, map[int]string{
		6: "...#####..", 7: ".########.", 8: "##..###.#.", 9: "....###.#.", 10: "....###...",
	})
	reaches = arms(stands, map[int]string{
		5: "#...###...", 6: ".######...", 7: "..######..", 8: "....####..", 9: "....###.#.", 10: "....###...",
	})
	raises = arms(stands, map[int]string{
		2: "..##.###.#", 3: "..#..###.#", 4: "...#####.#", 5: "....####.#", 6: "...######.",
		7: "..######..", 8: "..#.###...", 9: "..#.###...", 10: "..#.###...",
	})
	brings = arms(stands, map[int]string{
		6: "##.#####..", 7: "########..", 8: "##..####..", 9: "##..###...", 10: "....###...",
	})
	strides = arms(stands, map[int]string{13: "..###.##..", 14: ".##....##.", 15: "###.....##"})
)

// arms returns a figure with some of its rows replaced.
func arms(of []string, rows map[int]string) []string {
	list := append([]string(nil), of...)
	for i, row := range rows {
		list[i] = row
	}
	return list
}

// The Arbiter sits before the loom, in a hood. Its eye is open, or closed at night.
var (
	hooded = []string{
		".....####.....",
		"....######....",
		"...##....##...",
		"...#......##..",
		"...#.##...##..",
		"...#......##..",
		"...##....###..",
		"....########..",
		"...##########.",
		".############.",
		"###..########.",
		"##...#########",
		".....#########",
		"....##########",
		"...###########",
		"..############",
	}
	asleep = arms(hooded, map[int]string{4: "...#......##.."})
	lifts  = arms(hooded, map[int]string{
		8: "##.##########.", 9: "#############.", 10: ".....########.", 11: ".....#########",
	})
)

// pose returns the drawing of a worker in a frame.
func (f Figure) pose(frame int) []string {
	switch f.Pose {
	case RitualWorks:
		if frame%6 < 3 {
			return pulls
		}
		return reaches
	case RitualAsks:
		return raises
	case RitualHands:
		return brings
	case RitualLeaves, RitualWakes:
		if f.Age < walking && frame%2 == 1 {
			return strides
		}
	}
	return stands
}

// oracle returns the drawing of the Arbiter in a frame.
func (s Scene) oracle(frame int) []string {
	switch {
	case s.Arbiter.Pose == RitualWorks && frame%6 < 3:
		return lifts
	case s.Night():
		return asleep
	}
	return hooded
}
