package listview

import "github.com/arbiter-cli/arbiter/tui/render"

// Block is one thing that was said or done, laid out for a width.
type Block struct {
	Gutter render.Role // whose it is
	// Mark is a glyph of one column that stands in the gutter's first row. Empty: a
	// foldable block has the mark of its folding there, any other the gutter itself.
	Mark string
	// Head is a row of its own above the lines: the last span, if there are several,
	// stands at the right edge (a time). Blocks with a head are set apart by a blank
	// row, blocks without follow one another.
	Head  render.Line
	Lines []render.Line
	// Soft says of each line that the next one continues with it, the break being one of
	// layout only. It may be shorter than Lines.
	Soft []bool
	// Indent is the depth in a tree. Lines are to be no wider than width less
	// [Inset]; what is wider is cut off.
	Indent         int
	Foldable, Open bool
	// Key names a live block, and the settled block it becomes, so that who reads it
	// while it arrives stays with it. Optional; a settled block needs one only if it was live.
	Key string
}

// Source is what is shown. Its blocks are numbered from 0 and are only ever added at
// the end; one may change, and has another stamp then.
type Source interface {
	Len() int
	Stamp(i int) uint64
	// Block lays out one block. It is called again only for another width, another
	// folding or another stamp, or when the block was forgotten in between.
	Block(i, width int, open bool) Block
	// Tail is what is under way after the last block and may change all the time.
	Tail(width int) []Block
}

// none is the source of a view without one.
type none struct{}

func (none) Len() int                   { return 0 }
func (none) Stamp(int) uint64           { return 0 }
func (none) Block(int, int, bool) Block { return Block{} }
func (none) Tail(int) []Block           { return nil }

const (
	gutterWidth = 2 // the gutter and a blank
	insetWidth  = 2 // a level of the tree
)

// Inset is how many columns of so many the marks of a tree take. Deep trees stop
// growing to the right before they leave no room for the text.
func Inset(width, indent int) int { return insetWidth * levels(width, indent) }

func levels(width, indent int) int { return max(min(indent, width/6), 0) }

// head is how many rows of the block are its head.
func (b *Block) head() int {
	if len(b.Head) > 0 {
		return 1
	}
	return 0
}

// rows is the block's height, less the blank row above.
func (b *Block) rows() int { return b.head() + len(b.Lines) }

// line is the text of a row that is no head.
func (b *Block) line(row int) render.Line { return b.Lines[row-b.head()] }

// soft reports whether the row below continues with a row.
func (b *Block) soft(row int) bool {
	i := row - b.head()
	return i >= 0 && i < len(b.Soft) && i+1 < len(b.Lines) && b.Soft[i]
}
