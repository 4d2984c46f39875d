package view

import (
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Laid out blocks are kept up to these bounds, and beyond them only those that the current call needs.
const (
	maxKept  = 1024
	maxBytes = 8 << 20
)

// maxEmpty is how many blocks without rows are skipped at once. A longer run of them stops a movement, so
// that one key press never walks through the whole source.
const maxEmpty = 2048

// listLaid is a block that was laid out.
type listLaid struct {
	i     int
	stamp uint64
	width int
	open  bool
	block Block
	bytes int
	round uint64 // when it was last used
}

// cache holds the blocks that were used last.
type cache struct {
	blocks map[int]*listLaid
	bytes  int
	round  uint64 // incremented by each call that sees a new state of the source
}

func (c *cache) reset() { c.blocks, c.bytes = map[int]*listLaid{}, 0 }

func (c *cache) put(l *listLaid) {
	if old := c.blocks[l.i]; old != nil {
		c.bytes -= old.bytes
	}
	c.blocks[l.i] = l
	c.bytes += l.bytes
}

// next begins a new round: stamps are checked again. If there are too many blocks, those that were used neither in
// the last round nor in the one before are evicted: the blocks in the window are used in each round.
func (c *cache) next() {
	if len(c.blocks) > maxKept || c.bytes > maxBytes {
		for i, l := range c.blocks {
			if l.round+1 < c.round {
				c.bytes -= l.bytes
				delete(c.blocks, i)
			}
		}
	}
	c.round++
}

// costList estimates the memory of a block.
func costList(b *Block) int {
	n := 256
	for _, l := range b.Lines {
		n += 25
		for _, s := range l {
			n += 24 + len(s.Text)
		}
	}
	return n
}

// layout is the source, laid out for a width: blocks, their rows, and ways from one row to another. Its
// results are valid for the moment at which the view last queried the source.
type layout struct {
	look   *render.Look
	source BlockSource
	bar    bool // a bar at the right edge shows the position
	cache  cache
	n      int     // blocks of the source
	tail   []Block // live blocks
	width  int     // of a block
	high   int     // of the window

	all   bool         // all foldable blocks are open, except those in folds
	folds map[int]bool // blocks that were folded or unfolded individually
}

// total returns how many blocks there are, live ones included.
func (l *layout) total() int { return l.n + len(l.tail) }

// block returns a block for the current width. Those from n on are live.
func (l *layout) block(i int) *Block {
	if i >= l.n {
		return &l.tail[i-l.n]
	}
	b := l.cache.blocks[i]
	open := l.open(i)
	if b != nil && b.width == l.width && b.open == open {
		if b.round == l.cache.round {
			return &b.block
		}
		if l.source.Stamp(i) == b.stamp {
			b.round = l.cache.round
			return &b.block
		}
	}
	// Read the stamp first: a change in between is then noticed the next time.
	b = &listLaid{i: i, stamp: l.source.Stamp(i), width: l.width, open: open, round: l.cache.round}
	b.block = l.source.Block(i, l.width, open)
	b.bytes = costList(&b.block)
	l.cache.put(b)
	return &b.block
}

// open reports whether a block is unfolded.
func (l *layout) open(i int) bool {
	if open, ok := l.folds[i]; ok {
		return open
	}
	return l.all
}

func (l *layout) rows(i int) int { return l.block(i).rows() }

// above returns the nearest block before i that has rows. If there is none, it returns where the search
// ended: -1, or an empty block.
func (l *layout) above(i int) (int, bool) {
	j := i - 1
	for ; j >= 0 && l.rows(j) == 0; j-- {
		if i-j > maxEmpty {
			return j, false
		}
	}
	return j, j >= 0
}

// below returns the nearest block after i that has rows. If there is none, it returns where the search
// ended: the total, or an empty block.
func (l *layout) below(i int) (int, bool) { return l.within(i, maxEmpty) }

// within is below with another bound.
func (l *layout) within(i, limit int) (int, bool) {
	j := i + 1
	for ; j < l.total() && l.rows(j) == 0; j++ {
		if j-i > limit {
			return j, false
		}
	}
	return j, j < l.total()
}

// neighbours bounds the search for the block above or below if only its look matters: whether it has a
// head, and its depth.
const neighbours = 8

// gap returns how many blank rows are above a block.
func (l *layout) gap(i int) int {
	b := l.block(i)
	if b.rows() == 0 {
		return 0
	}
	for j := i - 1; j >= 0; j-- {
		a := l.block(j)
		if a.rows() == 0 && i-j < neighbours {
			continue
		}
		return max(a.head(), b.head())
	}
	return 0
}
