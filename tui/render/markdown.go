package render

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MarkdownOptions set how text is laid out.
type MarkdownOptions struct {
	Width int   // no line is wider
	Look  *Look // nil: Unicode glyphs
	Role  Role  // of plain prose
}

func (o MarkdownOptions) layout(src []byte) blockLayout {
	l := blockLayout{width: max(o.Width, 1), glyphs: Unicode, role: o.Role, src: src}
	if o.Look != nil && o.Look.Glyphs != nil {
		l.glyphs = o.Look.Glyphs
	}
	return l
}

// Markdown lays out what agents write at any width from one column up, and never wider. Callers pass sanitised text,
// and what is decoded here (character references) is sanitised again.
//
// goldmark parses a text, with its extensions for tables, tasks, struck-out text and addresses. A text that is still
// arriving ([MarkdownStream]) is parsed again from the last block that may change.
//
// Three things intentionally differ from CommonMark: link references are shown as they are written, since a later line
// would change earlier ones and hide where a link goes; a line break after a short line is kept; HTML is text.
func Markdown(src string, o MarkdownOptions) []Line {
	text := []byte(src)
	return o.layout(text).children(parse(text))
}

// MarkdownStream lays out a text that is still arriving. The zero value is ready to use.
type MarkdownStream struct {
	o     MarkdownOptions
	src   string // of the previous call
	done  int    // how much of src has its final lines
	lines []Line // of that part
	apart bool   // an empty line follows them
	code  growingCode
}

// Set lays out the text that has arrived so far. If it begins with the text of the previous call, only the block in
// which it ends is laid out again. The lines are valid until the next call.
//
// The lines are those of [Markdown], so an unclosed marker is shown as it is. But an unfinished last line of nothing
// but markers is left out: the - of a list's first item would turn the text above it into a heading for a moment.
func (s *MarkdownStream) Set(src string, o MarkdownOptions) []Line {
	if s.o != o || !strings.HasPrefix(src, s.src) {
		*s = MarkdownStream{o: o}
	}
	s.src = src
	if end := strings.LastIndexByte(src, '\n') + 1; strings.Trim(src[end:], " \t-=*+#>~`_|:") == "" {
		src = src[:end]
	}
	for {
		text := []byte(src[s.done:])
		root := parse(text)
		end, next := settled(root, text)
		if end == 0 {
			return s.add(text, root)
		}
		s.lines = s.add(text[:end], parse(text[:end]))
		s.done += end
		s.apart = apart(next)
	}
}

// settled returns where the part of a text ends that no later text can change: before next, which is the last block
// that begins in a finished line.
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
	return end, next
}

// add returns the settled lines and those of a text below them.
func (s *MarkdownStream) add(text []byte, root ast.Node) []Line {
	l := s.o.layout(text)
	l.code = &s.code
	out, lines := s.lines, l.children(root)
	if s.apart && len(out) > 0 && len(lines) > 0 {
		out = append(out, nil)
	}
	return append(out, lines...)
}

// goldmark's time may be quadratic in the markers of a block, and its stack grows with the nesting.
const (
	maxDepth = 20   // of quotes and lists; markers beyond it are text
	maxMarks = 4000 // a block with more markers is shown as it is written
)

// markdownParser parses CommonMark with the extensions of GitHub, but without link references.
var markdownParser = sync.OnceValue(func() parser.Parser {
	blocks := parser.DefaultBlockParsers()
	for i, b := range blocks {
		switch b.Priority {
		case 300, 600, 800: // lists, headings, quotes
			blocks[i].Value = bounded{b.Value.(parser.BlockParser)}
		}
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			// goldmark's own expression knows neither hosts without a dot nor addresses of files.
			util.Prioritized(extension.NewLinkifyParser(
				extension.WithLinkifyAllowedProtocols([]string{"http:", "https:", "ftp:", "file:"}),
				extension.WithLinkifyURLRegexp(regexp.MustCompile("^[a-z]+://[^\\s<>\"|`]+")),
			), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(boundedText{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// parse parses a text. If the parser panics on some input, that input is shown as it is.
func parse(src []byte) (root ast.Node) {
	defer func() {
		if recover() != nil {
			raw := ast.NewHTMLBlock(ast.HTMLBlockType7)
			raw.Lines().Append(text.NewSegment(0, len(src)))
			root = ast.NewDocument()
			root.AppendChild(root, raw)
		}
	}()
	return markdownParser().Parse(text.NewReader(src))
}

// bounded leaves a line to the paragraph parser if it nests too deeply or has too many markers.
type bounded struct{ parser.BlockParser }

func (b bounded) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := reader.PeekLine(); len(pc.OpenedBlocks()) >= maxDepth || marks(line) > maxMarks {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, reader, pc)
}

func marks(s []byte) (n int) {
	for _, c := range s {
		if strings.IndexByte("*_~`[]<!&", c) >= 0 {
			n++
		}
	}
	return n
}

// boundedText leaves a paragraph as it is written if it has too many markers, and does not make it a table if most
// cells are missing: goldmark would add them, and make a huge tree from a few bytes.
type boundedText struct{ parser.ParagraphTransformer }

func (t boundedText) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	markers, columns, size := 0, 0, 0
	for _, segment := range n.Lines().Sliced(0, n.Lines().Len()) {
		line := segment.Value(reader.Source())
		markers += marks(line)
		size += len(line)
		if len(bytes.Trim(line, "|-: \t\n")) == 0 {
			columns = max(columns, bytes.Count(line, []byte{'|'}))
		}
	}
	switch {
	case markers > maxMarks:
		raw := ast.NewHTMLBlock(ast.HTMLBlockType7)
		raw.SetLines(n.Lines())
		raw.SetPos(n.Pos())
		raw.SetBlankPreviousLines(n.HasBlankPreviousLines())
		n.Parent().ReplaceChild(n.Parent(), n, raw)
	case columns*n.Lines().Len() <= size:
		t.ParagraphTransformer.Transform(n, reader, pc)
	}
}
