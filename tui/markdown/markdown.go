package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Options say how text is laid out.
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

// Markdown lays a whole text out.
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

// Set lays out the text as far as it has come. If it begins with the text of the call
// before, only what is new, and the piece it continues with, is laid out. What is not
// closed yet looks as if it will be. The lines are valid until the next call.
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

// End lays out the text when it is whole: the lines of [Markdown].
func (s *Stream) End(src string, o Options) []render.Line {
	s.advance(src, o)
	open := s.m
	open.feed(open.tail())
	return s.finish(&open)
}

// advance takes what is settled into the machine.
func (s *Stream) advance(src string, o Options) {
	if !s.used || s.o != o || !strings.HasPrefix(src, s.m.src) {
		s.m, s.o, s.used = newMachine(o), o, true
	}
	s.m.src = src
	s.m.tail()
}

// finish closes a copy of the machine, and keeps the room its lines were put into.
func (s *Stream) finish(open *machine) []render.Line {
	open.close()
	s.m.out = open.out[:len(s.m.out)]
	return open.out
}
