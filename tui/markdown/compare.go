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

// maxSteps is how many edits the search for the shortest way between two fixed lines may try: it costs the
// square of that.
const maxSteps = 200

// compare finds the edits that turn a into b. Lines that occur once in both texts, in the same order, are
// fixed points; between them it searches the shortest way, unless that is long. So it takes about linear
// time for any texts.
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
	if !c.shortest(i, iEnd, j, jEnd) {
		c.add(removed, i, j, iEnd-i)
		c.add(added, iEnd, j, jEnd-j)
	}
	c.add(same, iEnd, jEnd, tail)
}

// shortest adds the fewest edits (Myers' algorithm), if they are not too many.
func (c *comparer) shortest(i, iEnd, j, jEnd int) bool {
	n, m := iEnd-i, jEnd-j
	if n == 0 || m == 0 {
		return false
	}
	limit := min(n+m, maxSteps)
	at := make([]int, 2*limit+2) // at[k+limit]: how far diagonal k came
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(at[limit-d:limit+d+1]))
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && at[limit+k-1] < at[limit+k+1]:
				x = at[limit+k+1]
			default:
				x = at[limit+k-1] + 1
			}
			y := x - k
			for x < n && y < m && x >= 0 && y >= 0 && c.a[i+x] == c.b[j+y] {
				x, y = x+1, y+1
			}
			at[limit+k] = x
			if x >= n && y >= m {
				c.walk(trace, i, j, n, m, d)
				return true
			}
		}
	}
	return false
}

// walk follows the found way backwards, and adds its edits: within a change, removals come before
// additions.
func (c *comparer) walk(trace [][]int, i, j, x, y, d int) {
	type step struct {
		op   operation
		x, y int
	}
	var steps []step
	for ; d > 0; d-- {
		before := trace[d] // before[k+d]: how far diagonal k came in d-1 steps
		k := x - y
		from := k - 1
		if k == -d || k != d && before[d+k-1] < before[d+k+1] {
			from = k + 1
		}
		fx := before[d+from]
		fy := fx - from
		start := fx
		if from < k {
			start++
		}
		for x > start {
			x, y = x-1, y-1
			steps = append(steps, step{same, x, y})
		}
		if from < k {
			steps = append(steps, step{removed, fx, fy})
		} else {
			steps = append(steps, step{added, fx, fy})
		}
		x, y = fx, fy
	}
	for x > 0 {
		x, y = x-1, y-1
		steps = append(steps, step{same, x, y})
	}
	slices.Reverse(steps)
	for k := 0; k < len(steps); {
		end := k
		for end < len(steps) && (steps[end].op == same) == (steps[k].op == same) {
			end++
		}
		for _, op := range []operation{same, removed, added} {
			for _, s := range steps[k:end] {
				if s.op == op {
					c.add(op, i+s.x, j+s.y, 1)
				}
			}
		}
		k = end
	}
}
