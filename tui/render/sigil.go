package render

import (
	"math"
	"slices"
	"strings"
	"time"
)

// The sigil: two threads are woven from left to right, past one another – what was,
// what is, and what is yet to be – and where they are furthest apart, an eye looks
// out between them. It is computed, so that it fits every window.

// sigilMin is the minimum size: a smaller drawing would be a blot.
const sigilMinColumns, sigilMinRows = 18, 5

// Sigil returns the sigil, as large as fits; nil if none fits.
func (l *Look) Sigil(columns, rows int) []Line {
	if l.Glyphs.Drawn != nil {
		for _, art := range l.Glyphs.Drawn {
			if lines := drawn(art); len(lines) <= rows && lines[0].Width() <= columns {
				return lines
			}
		}
		return nil
	}
	if columns < sigilMinColumns || rows < sigilMinRows {
		return nil
	}
	// A cell is about twice as high as wide; the eye needs 7 columns per 2 rows.
	rows = min(rows, columns*2/7)
	columns = min(rows*7/2, columns) &^ 1
	p := &plate{NewDots(columns, rows), float64(columns * 2), float64(rows * 4)}
	p.sigil()
	return p.Lines(Base, SigilDim, Sigil, SigilBright)
}

// plate is the area on which the sigil is drawn.
type plate struct {
	*Dots
	w, h float64
}

// The parts of the sigil to which a dot can belong.
const (
	warp  = 1 + iota // SigilDim
	weft             // Sigil
	heart            // SigilBright
)

// dot sets a dot by its distance from the middle, and its mirror images.
func (p *plate) dot(x, y float64, what uint8) {
	dx, dy := int(math.Abs(x)), int(math.Abs(y))
	for _, X := range [2]int{p.columns + dx, p.columns - 1 - dx} {
		for _, Y := range [2]int{p.rows*2 + dy, p.rows*2 - 1 - dy} {
			p.Set(X, Y, what)
		}
	}
}

func (p *plate) sigil() {
	half := p.w * 0.29  // of the eye's length
	lid := p.h * 0.40   // of its height
	small := p.rows < 9 // no room for details
	thread := func(x float64) float64 {
		if x <= half {
			return lid * math.Pow(math.Cos(math.Pi/2*x/half), 1.15)
		}
		t := (x - half) / (p.w/2 - half)
		return p.h * 0.15 * math.Sin(2*math.Pi*math.Pow(t, 0.9)) * math.Pow(1-t, 0.9)
	}
	for x := 0.0; x < p.w/2; x += 0.1 {
		p.dot(x, thread(x), weft)
	}
	for i := 0; !small && float64(i)*0.1 < half*0.84; i++ {
		x := float64(i) * 0.1
		if i/22%4 != 3 {
			p.dot(x, 0.80*lid*math.Pow(math.Cos(math.Pi/2*x/(half*0.93)), 1.25), warp)
		}
	}
	p.iris(p.h*0.245, small)
	for k := -5; k <= 5 && !small; k++ {
		x := math.Abs(float64(k)) * half * 0.17
		for y := math.Ceil(thread(x)) + p.h*0.035; y < p.h*(0.5-0.026*float64(k*k)); y += 2 {
			p.dot(x, y, warp)
		}
	}
}

// iris draws the iris: a ring, its spokes, and the slit of the pupil.
func (p *plate) iris(r float64, small bool) {
	for a := 0.0; a <= math.Pi/2; a += 0.005 {
		p.dot(r*math.Cos(a), r*math.Sin(a), heart)
	}
	for k := range 5 {
		a := math.Pi / 2 * (float64(k) + 0.5) / 5
		for q := 0.70; q < 0.92 && !small; q += 0.02 {
			p.dot(q*r*math.Cos(a), q*r*math.Sin(a), weft)
		}
	}
	for y := 0.0; y < r*0.72; y++ {
		for x := 0.0; x < r*0.36; x++ {
			if x/(r*0.36)+y/(r*0.72) < 1 {
				p.dot(x, y, heart)
			}
		}
	}
}

// mirrored maps characters to their mirror images.
var mirrored = strings.NewReplacer("/", "\\", "\\", "/", "(", ")", ")", "(", "<", ">", ">", "<")

// drawn completes a drawing from its left half: all but the last column is mirrored.
func drawn(art []string) []Line {
	var lines []Line
	for _, row := range art {
		lids, eye, _ := strings.Cut(row, "{")
		if eye == "" {
			lids, eye = lids[:len(lids)-1], lids[len(lids)-1:]
		}
		half := []byte(lids + eye[:len(eye)-1])
		slices.Reverse(half)
		right := mirrored.Replace(string(half))
		split := len(right) - len(lids)
		lines = append(lines, Line{{lids, Sigil}, {eye + right[:split], SigilBright}, {right[split:], Sigil}})
	}
	return lines
}

// The sigil drawn with ASCII: its left half, with the column in the middle. After the
// brace is the eye.
var (
	sigilLarge = []string{
		`                       . |`,
		`                    .  | |`,
		`                  _..-----`,
		`              _.-'   _____`,
		`           _.'   _.-' {  __`,
		`  __     .'   .-'  {  .'\ |`,
		` /  \  .'   .'    {  /  \ |`,
		`/    \/    <     { |---<( @`,
		`\    /\     '.    {  \  / |`,
		` \__/  '.     '-.  {  './ |`,
		`         '._     '-._{ '---`,
		`            '-._    '-----`,
		`               '-.._      `,
		`                    ''----`,
		`                    '  | |`,
		`                       ' |`,
	}
	sigilSmall = []string{
		`        _.--`,
		`_   .  .'{ .-`,
		` \_/ \/ {( (@`,
		`_/ \_/\ {  '-`,
		`       '-.__`,
	}
)

// Glyphs are the marks used for drawing. Each is one column wide.
type Glyphs struct {
	Done, Current, Pending, Failed, Skipped string // of a step of the plan

	Gutter            string // at the left of a party's text
	GutterMarked      string // the same under the cursor
	Folded, Unfolded  string
	Ellipsis          string
	Bullet            string
	Arrow             string
	Separator         string // between two words of a status line
	Prompt            string
	Dot, DotLit       string   // of a quiet row of dots
	Full, Empty       string   // of a meter
	Parts             []string // of a cell of a meter, from little to much; empty: whole cells only
	Spinner           []string // frames of a quiet animation
	Horizontal        string
	Vertical          string
	TopLeft, TopRight string
	BottomLeft        string
	BottomRight       string
	Branch, LastLeaf  string     // of a tree
	Chosen            string     // before the selected row
	More, Less        string     // there is more below, above
	Drawn             [][]string // the sigil, see drawn, the largest first; nil: it is computed
}

// Unicode are the glyphs of a terminal with UTF-8.
var Unicode = &Glyphs{
	Done: "✓", Current: "◆", Pending: "○", Failed: "✗", Skipped: "–",
	Gutter: "▌", GutterMarked: "█", Folded: "▸", Unfolded: "▾", Ellipsis: "…", Bullet: "•", Arrow: "→", Separator: "·",
	Prompt: "›", Full: "━", Empty: "─", Parts: []string{"╸"}, // lines: bars of two rows do not touch
	Spinner:    []string{"⠁", "⠂", "⠄", "⡀", "⢀", "⠠", "⠐", "⠈"},
	Horizontal: "─", Vertical: "│", TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯",
	Branch: "├", LastLeaf: "└",
	Dot: "·", DotLit: "•", Chosen: "▸", More: "↓", Less: "↑",
}

// ASCII are the glyphs of every other terminal.
var ASCII = &Glyphs{
	Done: "v", Current: ">", Pending: ".", Failed: "!", Skipped: "-",
	Gutter: "|", GutterMarked: "#", Folded: "+", Unfolded: "-", Ellipsis: "~", Bullet: "*", Arrow: ">", Separator: "-",
	Prompt: ">", Full: "#", Empty: ".",
	Spinner:    []string{"-", "\\", "|", "/"},
	Horizontal: "-", Vertical: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Branch: "|", LastLeaf: "`",
	Dot: ".", DotLit: "o", Chosen: ">", More: "v", Less: "^",
	Drawn: [][]string{sigilLarge, sigilSmall},
}

// Meter returns a bar of so many columns, filled by a percentage. The level is that of the context: "",
// "warn" or "critical". A value above zero is always visible, and a value below 100 always leaves a rest.
func (l *Look) Meter(columns int, pct float64, level string) Line {
	if columns <= 0 {
		return nil
	}
	if math.IsNaN(pct) {
		pct = 0
	}
	role := Meter
	switch level {
	case "":
	case "warn", "warning":
		role = MeterWarn
	default:
		role = MeterBad
	}
	g := l.Glyphs
	steps := len(g.Parts) + 1
	filled := int(math.Round(max(min(pct, 100), 0) / 100 * float64(columns*steps)))
	if pct > 0 {
		filled = max(filled, 1)
	}
	if pct < 100 {
		filled = min(filled, columns*steps-1)
	}
	whole, part := filled/steps, filled%steps
	bar, rest := strings.Repeat(g.Full, whole), columns-whole
	if part > 0 {
		bar += g.Parts[part-1]
		rest--
	}
	line := Line{}
	if bar != "" {
		line = append(line, Span{bar, role})
	}
	if rest > 0 {
		line = append(line, Span{strings.Repeat(g.Empty, rest), MeterEmpty})
	}
	return line
}

// Times between two frames of animations.
const (
	SpinEvery  = 120 * time.Millisecond
	AwaitEvery = 400 * time.Millisecond
)

// Spin returns the frame of a spinner at a time. Without motion it is a fixed mark.
func (l *Look) Spin(now time.Time) string {
	if l.Still {
		return l.Glyphs.Current
	}
	return l.Glyphs.Spinner[picture(now, SpinEvery)%len(l.Glyphs.Spinner)]
}

// Await returns a quiet row of three dots, one of them lit, that moves to and fro.
func (l *Look) Await(now time.Time, quiet, lit Role) Line {
	dot := l.Glyphs.Dot
	if l.Still {
		return Of(lit, dot+dot+dot)
	}
	at := [...]int{0, 1, 2, 1}[picture(now, AwaitEvery)%4]
	line := Line{{dot, quiet}, {dot, quiet}, {dot, quiet}}
	line[at] = Span{l.Glyphs.DotLit, lit}
	return line
}

func picture(now time.Time, every time.Duration) int {
	return int(now.UnixMilli() / every.Milliseconds() % 1_000_000)
}
