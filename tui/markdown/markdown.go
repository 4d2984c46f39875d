package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"

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

func (o Options) layout(src []byte) layout {
	return layout{width: o.width(), glyphs: o.glyphs(), role: o.Role, src: src}
}

// Markdown lays out a whole text.
func Markdown(src string, o Options) []render.Line {
	text := []byte(src)
	return o.layout(text).children(parse(text))
}

// Stream lays out a text that is still arriving. The zero Stream is ready to use.
type Stream struct {
	o     Options
	src   string        // of the previous call
	done  int           // how much of src has its final lines
	lines []render.Line // of that part
	apart bool          // an empty line follows them
	fence string        // the line that opens the block of code in which that part ends; empty: it ends before a block
	code  coder         // of that block of code
}

// Set lays out the text that has arrived so far. If it begins with the text of the previous call, only the block in
// which it ends is laid out again, and of a block of code only the last line. The lines are valid until the next call.
//
// The lines are those of [Markdown], so an unclosed marker is shown as it is. But an unfinished last line of nothing
// but markers is left out: the - of a list's first item would turn the text above it into a heading for a moment.
func (s *Stream) Set(src string, o Options) []render.Line {
	if s.o != o || !strings.HasPrefix(src, s.src) {
		*s = Stream{o: o}
	}
	s.src = src
	if end := strings.LastIndexByte(src, '\n') + 1; strings.Trim(src[end:], " \t-=*+#>~`_|:") == "" {
		src = src[:end]
	}
	for {
		text := []byte(s.fence + src[s.done:])
		root := parse(text)
		end, next := settled(root, text)
		if end <= len(s.fence) {
			lines, _ := s.add(text, root)
			return lines
		}
		s.lines, s.code = s.add(text[:end], parse(text[:end]))
		s.done += end - len(s.fence)
		if next == nil {
			s.fence, s.apart = string(text[:bytes.IndexByte(text, '\n')+1]), false
		} else {
			s.fence, s.apart, s.code = "", apart(next), coder{}
		}
	}
}

// settled returns where the part of a text ends that no later text can change: before next, which is the last block
// that begins in a finished line; or, if next is nil, after the finished lines of the open block of code that is the
// whole text.
func settled(root ast.Node, text []byte) (end int, next ast.Node) {
	finished := bytes.LastIndexByte(text, '\n') + 1
	for c := root.LastChild(); c != nil; c = c.PreviousSibling() {
		at := bytes.LastIndexByte(text[:max(c.Pos(), 0)], '\n') + 1
		if next != nil && at < end { // not the paragraph that a table was found in, which begins where the table does
			break
		}
		if at < finished {
			end, next = at, c
		}
	}
	if code, ok := next.(*ast.FencedCodeBlock); ok && end == 0 {
		lines := code.Lines()
		if n := lines.Len(); n > 0 && lines.At(0).Stop <= finished && lines.At(n-1).Stop >= finished {
			return finished, nil
		}
	}
	return end, next
}

// add returns the settled lines and those of a text below them, and the block of code that the text is in.
func (s *Stream) add(text []byte, root ast.Node) ([]render.Line, coder) {
	l, code := s.o.layout(text), s.code
	if _, ok := root.FirstChild().(*ast.FencedCodeBlock); ok {
		l.code = &code
	}
	out, lines := s.lines, l.children(root)
	if s.apart && len(out) > 0 && len(lines) > 0 {
		out = append(out, nil)
	}
	return append(out, lines...), code
}
