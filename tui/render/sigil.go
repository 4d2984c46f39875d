package render

import (
	"math"
	"slices"
	"strings"
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
	p := newPlate(columns, rows)
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

func newPlate(columns, rows int) *plate {
	return &plate{NewDots(columns, rows), float64(columns * 2), float64(rows * 4)}
}

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
