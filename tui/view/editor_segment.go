package view

import (
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
)

// A chip is represented in the text by its number between two noncharacters, which sanitised text never
// contains.
const (
	chipOpen  = "\ufdd0"
	chipClose = "\ufdd1"
)

// editorTabStop is how many columns a tab reaches over at most, as in package cell.
const editorTabStop = 4

func chipText(id int) string { return chipOpen + strconv.Itoa(id) + chipClose }

// chipAt returns the chip at the beginning of s: its text and its number.
func chipAt(s string) (cluster string, id int, ok bool) {
	if !strings.HasPrefix(s, chipOpen) {
		return "", 0, false
	}
	end := strings.Index(s[:min(len(s), 32)], chipClose)
	if end < 0 {
		return "", 0, false
	}
	id, err := strconv.Atoi(s[len(chipOpen):end])
	return s[:end+len(chipClose)], id, err == nil
}

// walker iterates over the clusters of a text. It assumes that the text begins with a whole cluster.
type walker struct {
	rest  string
	state int
	label func(id int) int // columns of a chip
}

// editorPiece is one cluster: what the cursor steps over.
type editorPiece struct {
	text  string
	width int  // in columns; that of a tab depends on its column
	id    int  // of a chip, else 0
	ends  bool // a line may be broken after it
}

func (e *buffer) walk(s string) walker { return walker{rest: s, state: -1, label: e.chipWidth} }

// next returns the next cluster; rest must not be empty.
func (w *walker) next() editorPiece {
	s := w.rest
	if c := s[0]; c < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		w.rest, w.state = s[1:], -1
		p := editorPiece{text: s[:1], width: 1}
		switch {
		case c < ' ' || c == 0x7f:
			p.width = 0
			p.ends = c == '\t'
		case c == ' ':
			p.ends = len(s) == 1 || s[1] != ' '
		case c == '-':
			p.ends = len(s) > 1 && (s[1]|0x20 >= 'a' && s[1]|0x20 <= 'z')
		}
		return p
	}
	if cluster, id, ok := chipAt(s); ok {
		w.rest, w.state = s[len(cluster):], -1
		return editorPiece{text: cluster, width: w.label(id), id: id, ends: true}
	}
	cluster, rest, bounds, state := uniseg.StepString(s, w.state)
	if at := strings.Index(cluster, chipOpen); at > 0 { // behind a mark that combines with the following character
		w.rest, w.state = s[at:], -1
		return editorPiece{text: s[:at], width: uniseg.StringWidth(s[:at]), ends: true}
	}
	w.rest, w.state = rest, state
	return editorPiece{
		text: cluster, width: bounds >> uniseg.ShiftWidth,
		ends: bounds&uniseg.MaskLine == uniseg.LineCanBreak || strings.HasPrefix(rest, chipOpen),
	}
}

// columns returns the width of a cluster that begins in a column.
func (p editorPiece) columns(at int) int {
	if p.text == "\t" {
		return editorTabStop - at%editorTabStop
	}
	return p.width
}

// blank reports whether a cluster may extend over the right edge unseen.
func (p editorPiece) blank() bool { return p.text == " " || p.text == "\t" }
