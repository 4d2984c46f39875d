package view

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// This part of the package shows what the agents of a run did at which time: a lane for each of them, with
// its turns, its calls, what it waited for, what it handed on and what it has cost.
//
// A [Timeline] is built from the events of a run, by one goroutine, and drawn by another. It keeps a
// bounded number of spans: when there are more, neighbours that are close together are joined. So drawing a
// run of a million events costs no more than drawing a short one. The events themselves are in the history,
// which a screen queries with the time of a span.
//
// The axis omits time in which no process played the run ([Axis]).
//
// All texts that are returned are fit for a screen.

// TimelineFrame describes for what a timeline is drawn.
type TimelineFrame struct {
	Look *render.Look
	Name func(id string) string // how an agent is called; nil: [eventtext.Name]
	Now  time.Time
	Note string // at the title: a notice for the person
}

// glyph is the drawing of a kind, and its name.
type glyph struct {
	unicode, ascii string
	role           render.Role
	word           string
}

// glyphs differ by more than their colours.
var glyphs = [timelineKinds]glyph{
	TimelineAlive: {"·", ".", render.Dim, "is there"}, TimelineTurn: {"─", "-", render.Active, "works"},
	TimelineTool: {"━", "=", render.Active, "call"}, TimelineQuiet: {"┄", ".", render.Dim, ""},
	TimelineStopped: {"┤", "]", render.Dim, "ended"}, TimelineBegan: {"├", "[", render.Dim, "began"},
	HumanSpoke: {"•", "*", render.SpeakerHuman, "you spoke"}, APIWait: {"~", "~", render.Warn, "waits for the API"},
	TimelineWait: {"?", "?", render.Alert, "waits for you"}, TimelineRestarted: {"○", "o", render.Warn, "restarted"},
	TimelineRenewed: {"◆", "R", render.Active, "renewed"}, HandedOff: {"→", ">", render.Good, "hand-off"},
	TimelineFailed: {"✗", "!", render.Bad, "error"},
}

// legend are the kinds that the legend explains.
var legend = []TimelineKind{TimelineTurn, TimelineTool, TimelineWait, HandedOff, TimelineRenewed, TimelineRestarted,
	APIWait, TimelineFailed, HumanSpoke}

func (g glyph) of(look *render.Look) string {
	if look.Glyphs == render.ASCII {
		return g.ascii
	}
	return g.unicode
}

// Lines draws the timeline, with at most so many lines, none of them wider.
func (t *Timeline) Lines(v *TimelineView, f TimelineFrame, width, height int) []render.Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	axis := t.axis(f.Now)
	p := picture{Timeline: t, TimelineView: v, TimelineFrame: f, axis: axis, width: width}
	switch v.lanes = v.lanes[:0]; {
	case width < 60:
		v.gutter = 10
	case width < 100:
		v.gutter = 20
	default:
		v.gutter = 24
	}
	for _, l := range t.lanes {
		v.lanes = append(v.lanes, l.id)
	}
	price := 0
	if width >= 60 {
		price = 9 + len(eventtext.Costs("", t.simulated, t.unknown))
	}
	v.fit(axis.Len(), width-v.gutter-price)
	detail, key := max(min(height/3, 8), 3), 0 // rows below the lanes: for the details, and for the legend
	if height >= 14 {
		key = 1
	}
	lines := []render.Line{p.title(), render.Of(render.Frame, strings.Repeat(f.Look.Glyphs.Horizontal, max(width, 0)))}
	if len(t.lanes) == 0 {
		v.rows, v.first = 0, len(lines)
		return append(lines, render.Of(render.Dim, "Nothing has happened yet."))[:min(height, 3)]
	}
	lines = append(lines, p.clock())
	v.first = len(lines)
	v.rows = max(min(height-len(lines)-detail-key, len(t.lanes)), 1)
	v.top = max(min(v.top, v.at(), len(t.lanes)-v.rows), v.at()-v.rows+1, 0)
	for i := v.top; i < min(v.top+v.rows, len(t.lanes)); i++ {
		lines = append(lines, p.lane(t.lanes[i], i, price))
	}
	lines = append(lines, p.detail(detail)...)
	if key > 0 {
		for len(lines) < height-1 {
			lines = append(lines, nil)
		}
		lines = append(lines, p.legend())
	}
	return lines[:min(len(lines), max(height, 0))]
}

// picture is one drawing.
type picture struct {
	*Timeline
	*TimelineView
	TimelineFrame
	axis  Axis
	width int
}

// title shows how long the run was, and what it has cost.
func (p *picture) title() render.Line {
	l := render.Of(render.Title, "TIMELINE")
	sep := " " + p.Look.Glyphs.Separator + " "
	text := ""
	if !p.Timeline.first.IsZero() {
		text = "  " + eventtext.Span(p.axis.Len()) + sep + p.dollars(p.usd+p.charges.Live(), p.unknown) + sep +
			"zoom " + fmt.Sprint(1<<p.zoom)
		if len(p.axis.cuts) > 0 {
			text += sep + words.Count(len(p.axis.cuts), "pause") + " left out"
		}
	}
	if p.Note != "" {
		text += sep + p.Note
	}
	return l.Append(render.Dim, text).Shorten(p.width, p.Look.Glyphs.Ellipsis)
}

// clock draws the row with times, and a mark above the cursor.
func (p *picture) clock() render.Line {
	layout, columns := "15:04", len("15:04")
	if p.column*time.Duration(p.columns) < 20*time.Minute {
		layout, columns = "15:04:05", len("15:04:05")
	}
	if began := p.axis.Began; eventtext.Clock(began, p.Now, layout) != p.local(began).Format(layout) {
		columns += len("22 Jan ")
	}
	row := slices.Repeat([]string{" "}, p.columns)
	for x := 0; x+columns <= p.columns; x += columns + 6 {
		place := p.left + time.Duration(x)*p.column
		if place > p.total {
			break
		}
		for i, r := range eventtext.Clock(p.axis.Time(place), p.Now, layout) {
			row[x+i] = string(r)
		}
	}
	l := render.Of(render.Base, spaces(p.gutter))
	at := p.columnOf(p.cursor)
	for x, s := range row {
		if x == at {
			l = l.Append(render.Active, p.Look.Glyphs.More)
		} else {
			l = l.Append(render.Dim, s)
		}
	}
	return l
}

// local converts a time to the reader's time zone.
func (p *picture) local(t time.Time) time.Time { return t.In(p.Now.Location()) }

// lane draws an agent's lane: its name, its line, its cost.
func (p *picture) lane(l *lane, n, price int) render.Line {
	mark, role := "  ", render.Speaker(l.id)
	if n == p.at() {
		mark = p.Look.Glyphs.Chosen + " "
	}
	line := render.Of(render.Active, mark)
	line = line.Append(role, padPage(render.Shorten(p.name(l.id), p.gutter-3, p.Look.Glyphs.Ellipsis), p.gutter-2, ""))
	at := p.columnOf(p.cursor)
	for x, kind := range p.cells(l) {
		text, role := " ", render.Base
		if kind < timelineKinds {
			text, role = glyphs[kind].of(p.Look), glyphs[kind].role
		}
		if x == at {
			role = render.Selection
		}
		line = line.Append(role, text)
	}
	if price == 0 {
		return line
	}
	cost := ""
	if l.turns > 0 || p.cost(l) > 0 {
		cost = p.dollars(p.cost(l), l.unknown)
	}
	return line.Append(render.Dim, fmt.Sprintf("%*s", price, render.Shorten(cost, price-1, "")))
}

// name returns the name of a lane's agent: a short one if there is little room.
func (p *picture) name(id string) string {
	if p.gutter < 16 {
		return eventtext.One(id, p.gutter)
	}
	return eventtext.Called(p.Name, id)
}

// cells returns the kind to draw in each column of a lane; kinds stands for none.
func (p *picture) cells(l *lane) []TimelineKind {
	row := make([]TimelineKind, p.columns)
	for i := range row {
		row[i] = timelineKinds
	}
	for s := range p.all(l, p.Now) {
		from, until := p.axis.Place(s.From), p.axis.Place(s.Until)
		if until < p.left || s.Kind >= timelineKinds {
			continue
		}
		last := min(p.columnOf(until), p.columns-1)
		first := max(p.columnOf(from), 0)
		for x := first; x <= last; x++ {
			kind := s.Kind
			if kind == TimelineWait && x > first { // only its beginning stands out
				kind = TimelineQuiet
			}
			if row[x] == timelineKinds || row[x] < kind {
				row[x] = kind
			}
		}
	}
	return row
}

func (p *picture) detail(rows int) []render.Line {
	at := p.axis.Time(p.cursor)
	head := render.Of(render.Strong, eventtext.Clock(at, p.Now, "15:04:05")).Append(render.Dim, "  ").
		Append(render.Speaker(p.laneOf()), p.name(p.laneOf()))
	list := p.under(p.TimelineView, p.axis, p.Now)
	list = slices.DeleteFunc(list, func(s Span) bool { return s.Kind == TimelineAlive && len(list) > 1 })
	if len(list) == 0 {
		head = head.Append(render.Dim, "  nothing")
	}
	g := p.Look.Glyphs
	lines := []render.Line{nil, head.Shorten(p.width, g.Ellipsis)}
	if rows < 4 {
		lines = lines[1:]
	}
	for i, s := range list {
		if left := len(list) - i; len(lines) == rows-1 && left > 1 {
			lines = append(lines, render.Of(render.Dim, "  and "+words.Number(left)+" more: + draws them apart"))
			break
		}
		lines = append(lines, p.span(s).Shorten(p.width, g.Ellipsis))
	}
	return lines
}

func (p *picture) span(s Span) render.Line {
	l := render.Of(glyphs[s.Kind].role, "  "+glyphs[s.Kind].of(p.Look)+" ")
	what := glyphs[s.Kind].word
	if s.N > 1 {
		what = fmt.Sprintf("%s, %s times", what, words.Number(s.N))
	}
	l = l.Append(render.Base, what)
	if d := s.Until.Sub(s.From); d > 0 && s.Open {
		l = l.Append(render.Dim, "  for "+eventtext.Span(d)+" now")
	} else if d > 0 {
		l = l.Append(render.Dim, "  "+eventtext.Span(d))
	}
	if s.CostUSD > 0 {
		l = l.Append(render.Dim, "  "+p.dollars(s.CostUSD, false))
	}
	if s.Text != "" {
		l = l.Append(render.Dim, "  ").Append(render.Base, s.Text)
	}
	return l
}

func (p *picture) legend() render.Line {
	var l render.Line
	for _, k := range legend {
		item := render.Of(glyphs[k].role, glyphs[k].of(p.Look)).Append(render.Dim, " "+glyphs[k].word+"  ")
		if l.Width()+item.Width()-2 > p.width {
			break
		}
		l = append(l, item...)
	}
	return l
}

// maxMoments is how many moments of an agent are described.
const maxMoments = 20

// Words describes the timeline in words: for each agent how long it worked, what it did and has cost, and
// the latest prominent moments.
func (t *Timeline) Words(name func(id string) string, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lanes) == 0 {
		return "Nothing has happened yet."
	}
	p := picture{Timeline: t, TimelineView: &TimelineView{gutter: 24},
		TimelineFrame: TimelineFrame{Name: name, Now: now}, axis: t.axis(now)}
	var b strings.Builder
	fmt.Fprintf(&b, "From %s to %s: %s", p.local(p.axis.Began).Format(time.DateTime),
		p.local(p.axis.Ended).Format(time.DateTime), eventtext.Span(p.axis.Len()))
	if n := len(t.cuts); n > 0 {
		fmt.Fprintf(&b, ", less %s in which nothing was played", words.Count(n, "pause"))
	}
	b.WriteString(".\n\n")
	for _, l := range t.lanes {
		fmt.Fprintf(&b, "- **%s**%s\n", p.name(l.id), p.summary(l))
		list := slices.DeleteFunc(slices.Collect(p.all(l, now)), func(s Span) bool { return s.Kind < moments })
		slices.SortStableFunc(list, func(a, b Span) int { return a.From.Compare(b.From) })
		for _, s := range list[max(len(list)-maxMoments, 0):] {
			fmt.Fprintf(&b, "  - %s\n", p.sentence(s))
		}
	}
	return b.String()
}

func (t *Timeline) dollars(usd float64, unknown bool) string {
	return eventtext.Costs(eventtext.Dollars(usd), t.simulated, unknown)
}

func (p *picture) summary(l *lane) string {
	var parts []string
	if l.turns > 0 {
		parts = append(parts, words.Count(l.turns, "turn"))
	}
	if l.tools > 0 {
		parts = append(parts, words.Count(l.tools, "call"))
	}
	waited := l.waited
	for s := range p.all(l, p.Now) {
		if s.Open && s.Kind == TimelineWait {
			waited += s.Until.Sub(s.From)
		}
	}
	if waited > 0 {
		parts = append(parts, "waited "+eventtext.Span(waited)+" for you")
	}
	if p.cost(l) > 0 || l.unknown {
		parts = append(parts, p.dollars(p.cost(l), l.unknown))
	}
	return eventtext.After(": ", strings.Join(parts, ", "))
}

// sentence describes a moment, with its time.
func (p *picture) sentence(s Span) string {
	text := eventtext.Clock(s.From, p.Now, "15:04:05") + " " + glyphs[s.Kind].word
	if s.N > 1 {
		text += fmt.Sprintf(", %s times", words.Number(s.N))
	}
	if d := s.Until.Sub(s.From); d > 0 {
		text += ", " + eventtext.Span(d)
	}
	if s.Open {
		text += ", and goes on"
	}
	if s.Text != "" {
		text += ": " + s.Text
	}
	return text
}

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
