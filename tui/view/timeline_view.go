package view

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxZoom is how many times the scale can be doubled.
const maxZoom = 24

// finest is the minimum time of a column.
const finest = 10 * time.Millisecond

// TimelineView is the visible part of a timeline, with a cursor: a time and a lane. The zero View follows the end
// of the whole run.
type TimelineView struct {
	zoom   int
	cursor time.Duration // on the axis
	left   time.Duration // place of the first column
	behind bool          // the cursor stays where it is; otherwise it follows the end of the run
	lane   string        // the current lane; empty: the first of an agent

	// As last drawn.
	total   time.Duration
	column  time.Duration // how much time a column covers
	columns int
	lanes   []string
	top     int // the first visible lane
	rows    int // of visible lanes
	gutter  int // columns before the line
	first   int // the row of the first lane
}

// fit sets the length of the run, and the room for it.
func (v *TimelineView) fit(total time.Duration, columns int) {
	v.total, v.columns = total, max(columns, 1)
	v.column = max((total/time.Duration(v.columns))>>v.zoom+1, finest) // the end is in the last column
	if !v.behind {
		v.cursor = total
	}
	v.cursor = max(min(v.cursor, total), 0)
	window := v.column * time.Duration(v.columns)
	if v.cursor < v.left {
		v.left = v.cursor - window/4
	}
	if v.cursor >= v.left+window {
		v.left = v.cursor - window*3/4
		if v.cursor == total {
			v.left = total - window + v.column
		}
	}
	v.left = max(min(v.left, total-window+v.column), 0)
	v.left -= v.left % v.column
}

// at returns the number of the current lane: at first that of an agent.
func (v *TimelineView) at() int {
	i := slices.Index(v.lanes, v.lane)
	if i < 0 && len(v.lanes) > 1 && v.lanes[0] == contract.Human {
		return 1
	}
	return max(i, 0)
}

// Move moves the cursor by columns.
func (v *TimelineView) Move(columns int) {
	v.goTo(v.cursor - v.cursor%max(v.column, 1) + time.Duration(columns)*v.column)
}

// goTo moves the cursor. At the end it follows the run.
func (v *TimelineView) goTo(place time.Duration) {
	v.cursor = max(min(place, v.total), 0)
	v.behind = v.cursor < v.total
}

// Home and End move the cursor to the ends of the run.
func (v *TimelineView) Home() { v.goTo(0) }
func (v *TimelineView) End()  { v.goTo(v.total) }

// Page returns how many columns a large step takes.
func (v *TimelineView) Page() int { return max(v.columns/8, 2) }

// Lane moves to another lane.
func (v *TimelineView) Lane(by int) {
	if len(v.lanes) > 0 {
		v.lane = v.lanes[max(min(v.at()+by, len(v.lanes)-1), 0)]
	}
}

// Zoom doubles the scale so many times; negative: halves it. The cursor stays where it is on the screen.
func (v *TimelineView) Zoom(by int) {
	zoom := max(min(v.zoom+by, maxZoom), 0)
	if by > 0 && v.column <= finest {
		return
	}
	offset := v.cursor - v.left
	if zoom > v.zoom {
		offset >>= zoom - v.zoom
	} else {
		offset <<= v.zoom - zoom
	}
	v.zoom, v.left = zoom, max(v.cursor-offset, 0)
}

// Point moves the cursor to a column and a row of the drawing. again reports that it was there already; ok
// is false if nothing is drawn there.
func (v *TimelineView) Point(x, y int) (again, ok bool) {
	i := v.top + y - v.first
	if y < v.first || y >= v.first+v.rows || i >= len(v.lanes) || x >= v.gutter+v.columns {
		return false, false
	}
	lane, column := v.lanes[i], v.columnOf(v.cursor)
	again = v.lane == lane
	v.lane = lane
	if x >= v.gutter {
		if by := x - v.gutter - column; again && by >= -1 && by <= 1 { // the columns move while a run continues
			return true, true
		}
		again = false
		v.goTo(v.left + time.Duration(x-v.gutter)*v.column)
	}
	return again, true
}

// columnOf returns the column of a place; it may be outside of the visible part.
func (v *TimelineView) columnOf(place time.Duration) int {
	if place < v.left {
		return -1
	}
	return int((place - v.left) / max(v.column, 1))
}

// Step moves the cursor to the next moment of the current lane, or to the previous one: a hand-off, a
// renewal, an error, a time when a human was awaited. It returns false if there is none.
func (t *Timeline) Step(v *TimelineView, now time.Time, back bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.byID[v.laneOf()]
	if l == nil {
		return false
	}
	axis := t.axis(now)
	best, found := time.Duration(0), false
	for s := range t.all(l, now) {
		if s.Kind < moments {
			continue
		}
		p := axis.Place(s.From)
		there := v.columnAbs(p) > v.columnAbs(v.cursor) && !back || v.columnAbs(p) < v.columnAbs(v.cursor) && back
		if there && (!found || !back && p < best || back && p > best) {
			best, found = p, true
		}
	}
	if found {
		v.goTo(best)
	}
	return found
}

// columnAbs numbers columns from the beginning of the run.
func (v *TimelineView) columnAbs(place time.Duration) int64 { return int64(place / max(v.column, 1)) }

// laneOf returns the current lane.
func (v *TimelineView) laneOf() string {
	if len(v.lanes) == 0 {
		return ""
	}
	return v.lanes[v.at()]
}

// TimelinePoint is a point of a run by which entries can be looked up.
type TimelinePoint struct {
	At   time.Time
	Lane string
}

// Point returns the point under the cursor: the beginning of the span there, or the time itself. It returns
// false if nothing has happened yet.
func (t *Timeline) Point(v *TimelineView, now time.Time) (TimelinePoint, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.IsZero() || len(v.lanes) == 0 {
		return TimelinePoint{}, false
	}
	axis := t.axis(now)
	p := TimelinePoint{At: axis.Time(v.cursor), Lane: v.laneOf()}
	if spans := t.under(v, axis, now); len(spans) > 0 && spans[0].Kind != TimelineAlive {
		if from := spans[0].From; v.columnAbs(axis.Place(from)) == v.columnAbs(v.cursor) ||
			spans[0].Kind > TimelineTurn { // within a long turn, use the events at the cursor
			p.At = from
		}
	}
	return p, true
}

// Decision returns the decision under the cursor, or the next one after it; without one, the last. It returns false if
// nothing was decided yet.
func (t *Timeline) Decision(v *TimelineView, now time.Time) (TimelineDecision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, axis := len(t.decisions), t.axis(now)
	if n == 0 {
		return TimelineDecision{}, false
	}
	i := slices.IndexFunc(t.decisions, func(d TimelineDecision) bool {
		return v.columnAbs(axis.Place(d.At)) >= v.columnAbs(v.cursor)
	})
	if i < 0 {
		i = n - 1
	}
	return t.decisions[i], true
}

func (t *Timeline) axis(now time.Time) Axis {
	a := Axis{Began: t.first, Ended: t.last, cuts: t.cuts}
	if t.live && now.After(a.Ended) {
		a.Ended = now
	}
	return a
}

// all returns the spans of a lane, including those in progress.
func (t *Timeline) all(l *lane, now time.Time) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for _, s := range l.spans {
			if !yield(s) {
				return
			}
		}
		ended := t.axis(now).Ended
		for k, s := range t.open {
			if k.lane != l.id {
				continue
			}
			if s.Open, s.Until = true, ended; !yield(s) {
				return
			}
		}
	}
}

// under returns the spans of the current lane under the cursor, the most prominent first.
func (t *Timeline) under(v *TimelineView, axis Axis, now time.Time) []Span {
	l := t.byID[v.laneOf()]
	if l == nil {
		return nil
	}
	var list []Span
	from := v.columnAbs(v.cursor)
	for s := range t.all(l, now) {
		if v.columnAbs(axis.Place(s.From)) <= from && v.columnAbs(axis.Place(s.Until)) >= from {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Span) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), a.From.Compare(b.From), cmp.Compare(a.Text, b.Text))
	})
	return list
}
