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
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
		roles = append(roles, p.role())
	}
	person, light := uint8(len(roles)), uint8(len(roles)+1)
	roles = append(roles, render.SpeakerHuman, render.SigilBright)
	for x := 0; x < d.w; x += 2 {
		d.Set(x, d.ground+x/2%2, faint)
	}
	if s.Night() {
		d.sky()
	}
	d.loom(s.Cloth)
	d.sprite(s.oracle(frame), (loomColumns-5)*2, oracle)
	if s.Arbiter.Pose == RitualWakes {
		d.halo((loomColumns-5)*2, light)
	}
	for i, p := range list {
		art, _ := p.pose(frame)
		d.sprite(art, p.column*2, ritualFirst+uint8(i))
		switch p.Pose {
		case RitualWorks:
			d.thread(p.column*2, i, 1)
			d.pulse(p.column*2, i, frame+5*i, light)
		case RitualWaits, RitualAsks:
			d.thread(p.column*2, i, 4)
		}
	}
	for _, h := range s.Humans {
		d.sprite(h.art(frame), h.column(columns)*2, person)
	}
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

// The loom, in dots from the left.
const loomLeft, loomRight, loomHeight = 2, 20, 21

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

// The figures, in dots: each # is a dot. They are ten dots wide and sixteen high, and look to the left,
// towards the loom.

const figureRows = 4 // of the screen

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

func arms(of []string, rows map[int]string) []string {
	list := slices.Clone(of)
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

// pose returns the drawings of a worker in a frame, in dots and in letters.
func (f Figure) pose(frame int) (dots, letters []string) {
	switch f.Pose {
	case RitualWorks:
		if frame%6 < 3 {
			return pulls, lettersPull
		}
		return reaches, lettersReach
	case RitualAsks:
		return raises, lettersRaise
	case RitualHands:
		return brings, lettersBring
	case RitualLeaves, RitualWakes:
		if f.Age < walking && frame%2 == 1 {
			return strides, lettersWalk
		}
	}
	return stands, lettersStand
}

func (s Scene) oracle(frame int) []string {
	switch {
	case s.Arbiter.Pose == RitualWorks && frame%6 < 3:
		return lifts
	case s.Night():
		return asleep
	}
	return hooded
}

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

func (k RitualKind) String() string { return [...]string{"nobody", "seeker", "scribe", "smith"}[k] }

// Known reports whether the kind can be chosen.
func (k RitualKind) Known() bool { return k > RitualNobody && k < ritualKinds }

// RitualHuman is a person in the picture, of a kind that can be chosen.
type RitualHuman struct {
	Kind  RitualKind
	Label string  // below it
	At    float64 // the place, from 0 beside the Arbiter to 1 at the edge
	Walks bool
}

func (h RitualHuman) column(columns int) int {
	return loomColumns + 3 + int(h.At*float64(columns-loomColumns-7))
}

var kindArt = [ritualKinds][]string{
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
	RitualSeeker: {"| o  ", "|/|\\ ", "|/ \\ ", "|___\\"}, RitualScribe: {"  o  ", "=/|\\ ", " / \\ ",
		"/___\\"},
	RitualSmith: {"T o  ", " \\|\\ ", "  |  ", " / \\ "},
}

func (h RitualHuman) art(frame int) []string {
	art := kindArt[h.Kind]
	if h.Walks && frame%2 == 1 {
		art = arms(art, map[int]string{13: "..###.##..", 14: ".##....##.", 15: "###.....##"})
	}
	return art
}

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
		_, art := p.pose(frame)
		lettersAt(c, art, p.column, ground, p.role())
	}
	for _, h := range s.Humans {
		lettersAt(c, kindLetters[h.Kind], h.column(columns), ground, render.SpeakerHuman)
	}
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
	shown := slices.DeleteFunc(slices.Clone(s.Workers), Figure.Gone)
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
		label := render.Of(p.role(), p.Label)
		c.Line(max(min(p.column-label.Width()/2, columns-label.Width()), 0), rows-1, label)
		switch p.Pose {
		case RitualAsks:
			c.Text(p.column, rows-figureRows-3, "?", render.Alert)
		case RitualWakes:
			c.Text(p.column, rows-figureRows-3, "+", render.Dim)
		}
	}
	for _, h := range s.Humans {
		c.Text(h.column(columns)-len(h.Label)/2, rows-1, h.Label, render.SpeakerHuman)
	}
	if hidden > 0 {
		c.Text(1, 0, fmt.Sprintf("and %d more", hidden), render.Dim)
	}
}

func (f Figure) role() render.Role {
	if f.Pose == RitualLeaves {
		return render.Dim
	}
	return render.Speaker(f.ID)
}

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
	above.Center(y+1, render.Of(render.Title, name))
	above.Center(y+3, t.words(columns))
}

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
