package view

import (
	"sort"
	"time"
)

// shortestCut is the minimum time without a process after which that time is omitted.
const shortestCut = time.Minute

// maxCuts bounds how many such times are omitted; later ones are drawn.
const maxCuts = 4096

// Axis maps the time of a run to places on a line that omits the time in which no process played the run.
type Axis struct {
	Began, Ended time.Time
	cuts         []timelineCut // in order
}

// timelineCut is a time that is omitted.
type timelineCut struct {
	from, until time.Time
	sum         time.Duration // omitted time up to its end
}

// Len returns the length of the line.
func (a Axis) Len() time.Duration { return max(a.Place(a.Ended), 0) }

// Place returns the place of a time on the line.
func (a Axis) Place(t time.Time) time.Duration {
	n := sort.Search(len(a.cuts), func(i int) bool { return !a.cuts[i].from.Before(t) })
	if n == 0 {
		return t.Sub(a.Began)
	}
	c := a.cuts[n-1]
	if t.Before(c.until) {
		t = c.until
	}
	return t.Sub(a.Began) - c.sum
}

// Time returns the time of a place; at a cut the one behind it.
func (a Axis) Time(p time.Duration) time.Time {
	n := sort.Search(len(a.cuts), func(i int) bool {
		return a.cuts[i].until.Sub(a.Began)-a.cuts[i].sum > p
	})
	if n == 0 {
		return a.Began.Add(p)
	}
	return a.Began.Add(p + a.cuts[n-1].sum)
}
