package render

import (
	"math"
	"strings"
	"time"
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

// picture returns the number of the frame that is due.
func picture(now time.Time, every time.Duration) int {
	return int(now.UnixMilli() / every.Milliseconds() % 1_000_000)
}
