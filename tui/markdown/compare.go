package markdown

import (
	"slices"
	"sort"
)

// operation is the kind of an edit.
type operation uint8

const (
	same operation = iota
	removed
	added
)

// edit is a run of n lines with the same operation, beginning at a in the old text or at b in the new one.
type edit struct {
	op      operation
	a, b, n int
	text    []string // of unchanged lines
}

// maxPairs is how many pairs of lines between two fixed ones are compared, to find the fewest edits.
const maxPairs = 1 << 20

// compare finds the edits that turn a into b. Lines that occur once in both texts, in the same order, are
// fixed points; between them it searches the fewest edits, unless that takes long.
func compare(a, b []string) []edit {
	c := comparer{a: a, b: b}
	i, j := 0, 0
	for _, p := range fixedPoints(a, b) {
		c.stretch(i, p[0], j, p[1])
		c.add(same, p[0], p[1], 1)
		i, j = p[0]+1, p[1]+1
	}
	c.stretch(i, len(a), j, len(b))
	return c.edits
}

// fixedPoints returns pairs of equal lines, ascending in both texts.
func fixedPoints(a, b []string) [][2]int {
	type place struct{ a, b, inA, inB int }
	places := make(map[string]*place, len(a))
	for i, s := range a {
		p := places[s]
		if p == nil {
			p = &place{}
			places[s] = p
		}
		p.a, p.inA = i, p.inA+1
	}
	for i, s := range b {
		if p := places[s]; p != nil {
			p.b, p.inB = i, p.inB+1
		}
	}
	var pairs [][2]int
	for i, s := range a {
		if p := places[s]; p.inA == 1 && p.inB == 1 {
			pairs = append(pairs, [2]int{i, p.b})
		}
	}
	return ascending(pairs)
}

// ascending returns the longest subsequence of pairs whose second numbers ascend.
func ascending(pairs [][2]int) [][2]int {
	if len(pairs) == 0 {
		return nil
	}
	var ends []int // ends[k]: the pair that ends the best run of length k+1
	before := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]][1] >= p[1] })
		before[i] = -1
		if k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, i)
		} else {
			ends[k] = i
		}
	}
	out := make([][2]int, 0, len(ends))
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}

// comparer collects edits.
type comparer struct {
	a, b  []string
	edits []edit
}

// add appends lines, to the previous edit if that has the same kind.
func (c *comparer) add(op operation, a, b, n int) {
	if n == 0 {
		return
	}
	if k := len(c.edits) - 1; k >= 0 && c.edits[k].op == op {
		e := &c.edits[k]
		e.n += n
		if op == same {
			e.text = c.a[e.a : e.a+e.n]
		}
		return
	}
	e := edit{op: op, a: a, b: b, n: n}
	if op == same {
		e.text = c.a[a : a+n]
	}
	c.edits = append(c.edits, e)
}

// stretch compares the lines between two fixed points.
func (c *comparer) stretch(i, iEnd, j, jEnd int) {
	head := 0
	for i+head < iEnd && j+head < jEnd && c.a[i+head] == c.b[j+head] {
		head++
	}
	c.add(same, i, j, head)
	i, j = i+head, j+head
	tail := 0
	for iEnd-tail > i && jEnd-tail > j && c.a[iEnd-tail-1] == c.b[jEnd-tail-1] {
		tail++
	}
	iEnd, jEnd = iEnd-tail, jEnd-tail
	if !c.fewest(i, iEnd, j, jEnd) {
		c.add(removed, i, j, iEnd-i)
		c.add(added, iEnd, j, jEnd-j)
	}
	c.add(same, iEnd, jEnd, tail)
}

// fewest adds the fewest edits, if there are not too many lines to compare.
func (c *comparer) fewest(i, iEnd, j, jEnd int) bool {
	n, m := iEnd-i, jEnd-j
	if n == 0 || m == 0 || n*m > maxPairs {
		return false
	}
	common := make([]int32, (n+1)*(m+1)) // how many lines the texts from there on have in common
	at := func(x, y int) *int32 { return &common[x*(m+1)+y] }
	for x := n - 1; x >= 0; x-- {
		for y := m - 1; y >= 0; y-- {
			if c.a[i+x] == c.b[j+y] {
				*at(x, y) = *at(x+1, y+1) + 1
			} else {
				*at(x, y) = max(*at(x+1, y), *at(x, y+1))
			}
		}
	}
	x, y, fromX, fromY := 0, 0, 0, 0
	for x < n || y < m {
		switch {
		case x < n && y < m && c.a[i+x] == c.b[j+y]:
			c.add(removed, i+fromX, j+fromY, x-fromX)
			c.add(added, i+x, j+fromY, y-fromY)
			c.add(same, i+x, j+y, 1)
			x, y = x+1, y+1
			fromX, fromY = x, y
		case y == m || x < n && *at(x+1, y) >= *at(x, y+1):
			x++
		default:
			y++
		}
	}
	c.add(removed, i+fromX, j+fromY, n-fromX)
	c.add(added, i+n, j+fromY, m-fromY)
	return true
}
