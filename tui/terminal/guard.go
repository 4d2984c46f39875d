package terminal

import (
	"bytes"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v2"
)

// maxPaste bounds what is kept of one paste while it arrives; what is longer is
// refused as a whole.
const maxPaste = 64 << 20

// How large a window can be.
const maxColumns, maxRows = 2000, 600

// pastedMark is what the screen's library is given in place of what was pasted: it
// reports no paste that is empty.
const pastedMark = "."

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// guard takes what is pasted out of the terminal's stream before the screen's library
// reads it. That library looks for keys in it: "ESC [ 201 ; 1 ~" would end the paste
// for it, where no terminal filters that out, and what follows would be typed; "ESC ]"
// would swallow the end, and all that is typed after it. Here the exact bytes end it,
// and nothing else in it means anything. It is faster, too: a key for each character
// takes seconds for ten megabytes.
type guard struct {
	tcell.Tty

	// Of the goroutine that reads.
	raw     []byte
	rest    []byte // read, and not handed on yet
	seen    int    // how much of a mark the last bytes were
	pasting bool
	text    strings.Builder
	lost    int

	mu    sync.Mutex
	ready []Paste
}

// Paste is what was pasted, unchanged. One that was longer than could be kept has no text.
type Paste struct {
	Text string
	Size int // in bytes
}

// Guard keeps what is pasted out of what is read from a terminal.
func Guard(tty tcell.Tty) tcell.Tty { return newGuard(tty) }

func newGuard(tty tcell.Tty) *guard { return &guard{Tty: tty, raw: make([]byte, 64<<10)} }

// Start implements tcell.Tty: the program that had the terminal meanwhile left no half of
// anything.
func (g *guard) Start() error {
	g.rest, g.seen, g.pasting, g.lost = nil, 0, false, 0
	g.text.Reset()
	return g.Tty.Start()
}

// WindowSize implements tcell.Tty. A terminal may say anything of its size, and memory
// is taken for each cell: more than fit on the finest of displays there are not.
func (g *guard) WindowSize() (tcell.WindowSize, error) {
	size, err := g.Tty.WindowSize()
	size.Width, size.Height = min(size.Width, maxColumns), min(size.Height, maxRows)
	return size, err
}

// Read implements tcell.Tty. It may return nothing at all.
func (g *guard) Read(b []byte) (int, error) {
	if len(g.rest) == 0 {
		n, err := g.Tty.Read(g.raw)
		g.rest = g.filter(g.raw[:n])
		if err != nil {
			return 0, err
		}
	}
	n := copy(b, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// filter is what is left of the terminal's bytes without what was pasted.
func (g *guard) filter(in []byte) []byte {
	var out []byte
	for len(in) > 0 {
		mark := pasteBegins
		if g.pasting {
			mark = pasteEnds
		}
		n, whole := g.match(in, mark)
		if g.pasting {
			g.keep(in[:n])
		} else {
			out = append(out, in[:n]...)
		}
		in = in[n:]
		if !whole {
			continue
		}
		if g.pasting {
			out = append(append(out, pastedMark...), pasteEnds...)
			g.finish()
		}
		g.pasting = !g.pasting
	}
	return out
}

// match is how far to go: to the end of the mark if it is there, whole, counting what
// was seen of it before.
func (g *guard) match(in, mark []byte) (n int, whole bool) {
	for i := 0; i < len(in); i++ {
		if g.seen == 0 {
			skip := bytes.IndexByte(in[i:], mark[0])
			if skip < 0 {
				return len(in), false
			}
			i += skip
		}
		switch in[i] {
		case mark[g.seen]:
			g.seen++
		case mark[0]:
			g.seen = 1
		default:
			g.seen = 0
		}
		if g.seen == len(mark) {
			g.seen = 0
			return i + 1, true
		}
	}
	return len(in), false
}

func (g *guard) keep(p []byte) {
	room := max(maxPaste+len(pasteEnds)-g.text.Len(), 0)
	if len(p) > room {
		g.lost += len(p) - room
		p = p[:room]
	}
	g.text.Write(p)
}

// finish hands over what was pasted, without the mark at its end.
func (g *guard) finish() {
	p := Paste{Size: g.text.Len() + g.lost - len(pasteEnds)}
	if g.lost == 0 {
		p.Text = g.text.String()[:p.Size]
	}
	g.text, g.lost = strings.Builder{}, 0
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready = append(g.ready, p)
}

// take is the oldest paste that nobody has taken.
func (g *guard) take() (p Paste, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ready) == 0 {
		return Paste{}, false
	}
	p, g.ready = g.ready[0], g.ready[1:]
	return p, true
}
