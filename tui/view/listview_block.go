package view

import "github.com/arbiter-cli/arbiter/tui/render"

// Block is one statement or action, laid out for a width.
type Block struct {
	Gutter render.Role // the role of its speaker
	// Mark is a glyph of one column in the first row of the gutter. If it is empty, a foldable block has
	// the mark of its folding there, any other the gutter itself.
	Mark string
	// Head is a row of its own above the lines. If it has several spans, the last one is at the right edge
	// (a time). A blank row precedes blocks with a head; blocks without follow one another directly.
	Head  render.Line
	Lines []render.Line
	// Indent is the depth in a tree. Lines should not be wider than width less [Inset]; wider lines are
	// cut.
	Indent         int
	Foldable, Open bool
	// Key identifies a live block and the settled block that replaces it, so that the view stays with it
	// when it settles. Optional; a settled block needs one only if it was live.
	Key string
}

// BlockSource provides what is shown. Its blocks are numbered from 0. Blocks are only added at the end; a block
// may change, and then has another stamp.
type BlockSource interface {
	Len() int
	Stamp(i int) uint64
	// Block lays out one block. It is called again only for another width, folding or stamp, or if the
	// block was evicted in between.
	Block(i, width int, open bool) Block
	// Tail returns the blocks in progress after the last block; they may change all the time.
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

// Inset returns how many of the given columns the marks of a tree take. Deep trees stop growing to the
// right before they leave no room for the text.
func Inset(width, indent int) int { return insetWidth * levels(width, indent) }

func levels(width, indent int) int { return max(min(indent, width/6), 0) }

// head returns how many rows of the block are its head.
func (b *Block) head() int {
	if len(b.Head) > 0 {
		return 1
	}
	return 0
}

// rows returns the block's height, without the blank row above.
func (b *Block) rows() int { return b.head() + len(b.Lines) }

// line returns the text of a row below the head.
func (b *Block) line(row int) render.Line { return b.Lines[row-b.head()] }
