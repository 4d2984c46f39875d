package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// goldmark's own extensions are not used: importing them costs every start of the program half a
// millisecond for regular expressions, and their tables create rows times columns of cells from a few
// bytes.

// maxDepth bounds the nesting of quotes and lists. Markers beyond it are text.
const maxDepth = 20

// blockParser finds the blocks of a piece, without parsing the text of paragraphs.
var blockParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
})

// inlineParser treats its whole input as one paragraph.
var inlineParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(whole{}, 100)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strikeParser{}, 500),
			util.Prioritized(linkify{}, 999),
		))
})

// parse runs a parser. If the parser panics on some input, that input is shown as it is.
func parse(p parser.Parser, src []byte) (root ast.Node) {
	defer func() {
		if recover() != nil {
			root = nil
		}
	}()
	return p.Parse(text.NewReader(src))
}

// shallow is a parser of containers that limits the nesting.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// whole is a block parser that makes one paragraph of its input.
type whole struct{}

func (whole) Trigger() []byte { return nil }

func (whole) Open(_ ast.Node, reader text.Reader, _ parser.Context) (ast.Node, parser.State) {
	n := ast.NewTextBlock()
	_, segment := reader.PeekLine()
	n.Lines().Append(segment)
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

func (whole) Continue(n ast.Node, reader text.Reader, _ parser.Context) parser.State {
	_, segment := reader.PeekLine()
	n.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (whole) Close(ast.Node, text.Reader, parser.Context) {}
func (whole) CanInterruptParagraph() bool                 { return true }
func (whole) CanAcceptIndentedLine() bool                 { return true }

// strike is struck-out text: ~~so~~. A single tilde stays a tilde.
type strike struct{ ast.BaseInline }

var kindStrike = ast.NewNodeKind("Strike")

func (*strike) Kind() ast.NodeKind                 { return kindStrike }
func (n *strike) Dump(source []byte, level int)    { ast.DumpHelper(n, source, level, nil, nil) }
func (strikeParser) IsDelimiter(b byte) bool       { return b == '~' }
func (strikeParser) OnMatch(consumes int) ast.Node { return &strike{} }
func (strikeParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (p strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n := parser.ScanDelimiter(line, before, 2, p)
	if n == nil || n.OriginalLength > 2 || before == '~' {
		return nil
	}
	n.Segment = segment.WithStop(segment.Start + n.OriginalLength)
	block.Advance(n.OriginalLength)
	pc.PushDelimiter(n)
	return n
}

// linkify finds addresses in the text.
type linkify struct{}

func (linkify) Trigger() []byte { return []byte{' ', '*', '_', '~', '(', '"', '\''} }

func (linkify) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := block.PeekLine()
	skip := 0
	if !alphanumeric(line[0]) {
		skip = 1
	}
	n := address(line[skip:])
	if n == 0 {
		return nil
	}
	if skip > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+1))
	}
	start := segment.Start + skip
	block.Advance(skip + n)
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(start, start+n)))
}

var schemes = [...]string{"https://", "http://", "ftp://", "file://", "www."}

// address returns the length of the address at the beginning of s.
func address(s []byte) int {
	n := 0
	for _, scheme := range schemes {
		if len(s) > len(scheme) && string(s[:len(scheme)]) == scheme {
			n = len(scheme)
		}
	}
	if n == 0 || s[n] != '/' && s[n] != '[' && s[n] < 0x80 && !alphanumeric(s[n]) {
		return 0
	}
	end, depth := n, 0
	for end < len(s) && s[end] > ' ' && bytes.IndexByte([]byte("<>`\"|"), s[end]) < 0 {
		switch s[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		end++
	}
	for end > n && bytes.IndexByte([]byte("?!.,:;*_~'"), s[end-1]) >= 0 {
		end--
	}
	return end
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
