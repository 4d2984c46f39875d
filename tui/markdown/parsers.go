package markdown

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
