package render

import (
	"bytes"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v2"
)

// maxPaste bounds what is kept of one paste while it arrives; a longer paste is refused as a whole.
const maxPaste = 64 << 20

// Maximum size of a window.
const maxColumns, maxRows = 2000, 600

// pastedMark replaces the pasted text for the screen's library, which does not report empty pastes.
const pastedMark = "."

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// guard removes pasted text from the terminal's input before the screen's library reads it. That library
// looks for keys in it: "ESC [ 201 ; 1 ~" would end the paste, if the terminal does not filter it, and the
// following text would count as typed; "ESC ]" would swallow the end mark, and all that is typed after it.
// Here only the exact bytes end a paste, and nothing else in it has a meaning. It is faster, too: a key
// event for each character takes seconds for ten megabytes.
type guard struct {
	tcell.Tty

	// Owned by the goroutine that reads.
	raw     []byte
	rest    []byte // read, and not passed on yet
	seen    int    // how much of a mark the last bytes matched
	pasting bool
	text    strings.Builder
	lost    int

	mu    sync.Mutex
	ready []Paste
}

// Paste is a pasted text, unchanged. If it was too long to be kept, Text is empty.
type Paste struct {
	Text string
	Size int // in bytes
}

// GuardTerminal removes pasted text from the input of a terminal.
func GuardTerminal(tty tcell.Tty) tcell.Tty { return newGuard(tty) }

func newGuard(tty tcell.Tty) *guard { return &guard{Tty: tty, raw: make([]byte, 64<<10)} }

// Start implements tcell.Tty: it discards incomplete input from before another program had the terminal.
func (g *guard) Start() error {
	g.rest, g.seen, g.pasting, g.lost = nil, 0, false, 0
	g.text.Reset()
	return g.Tty.Start()
}

// WindowSize implements tcell.Tty. A terminal may report any size, and memory is allocated for each cell,
// so the size is limited to what the finest displays have.
func (g *guard) WindowSize() (tcell.WindowSize, error) {
	size, err := g.Tty.WindowSize()
	size.Width, size.Height = min(size.Width, maxColumns), min(size.Height, maxRows)
	return size, err
}

// Read implements tcell.Tty. It may return no bytes.
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

// filter returns the terminal's bytes without pasted text.
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

// match returns how far to advance: to the end of the mark if it is completely there, counting the part
// that was seen before.
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
	space := max(maxPaste+len(pasteEnds)-g.text.Len(), 0)
	if len(p) > space {
		g.lost += len(p) - space
		p = p[:space]
	}
	g.text.Write(p)
}

// finish queues the pasted text, without the mark at its end.
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

// take returns the oldest paste that was not taken yet.
func (g *guard) take() (p Paste, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ready) == 0 {
		return Paste{}, false
	}
	p, g.ready = g.ready[0], g.ready[1:]
	return p, true
}
