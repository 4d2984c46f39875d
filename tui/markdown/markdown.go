package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Options set how text is laid out.
type Options struct {
	Width int          // no line is wider
	Look  *render.Look // nil: Unicode glyphs
	Role  render.Role  // of plain prose
}

func (o Options) width() int { return max(o.Width, 1) }

func (o Options) glyphs() *render.Glyphs {
	if o.Look == nil || o.Look.Glyphs == nil {
		return render.Unicode
	}
	return o.Look.Glyphs
}

// Markdown lays out a whole text.
func Markdown(src string, o Options) []render.Line {
	m := newMachine(o)
	m.src = src
	m.feed(m.tail())
	m.close()
	return m.out
}

// Stream lays out a text that is still arriving. The zero Stream is ready to use.
type Stream struct {
	m    machine
	o    Options
	used bool
}

// Set lays out the text that has arrived so far. If it begins with the text of the previous call, only the
// new part, and the piece that it continues, is laid out. Open elements look as if they were closed. The
// lines are valid until the next call.
func (s *Stream) Set(src string, o Options) []render.Line {
	s.advance(src, o)
	open := s.m
	open.hopeful = true
	if from, to, next, whole := open.tail(); dangling(src[from:to]) {
		open.src = src[:from]
	} else {
		open.feed(from, to, next, whole)
	}
	return s.finish(&open)
}

// End lays out the complete text: the lines of [Markdown].
func (s *Stream) End(src string, o Options) []render.Line {
	s.advance(src, o)
	open := s.m
	open.feed(open.tail())
	return s.finish(&open)
}

// advance adds the complete lines to the machine.
func (s *Stream) advance(src string, o Options) {
	if !s.used || s.o != o || !strings.HasPrefix(src, s.m.src) {
		s.m, s.o, s.used = newMachine(o), o, true
	}
	s.m.src = src
	s.m.tail()
}

// finish closes a copy of the machine, and keeps the memory of its lines.
func (s *Stream) finish(open *machine) []render.Line {
	open.close()
	s.m.out = open.out[:len(s.m.out)]
	return open.out
}
