package view

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Bounds of what is kept.
const (
	maxSpans = 24_000 // of a run
	maxLanes = 1000   // with a span of each kind they are half of maxSpans
	maxText  = 120    // of a span, in characters
)

// Timeline records what the agents of a run did at which time. One goroutine adds, any may read. The zero
// Timeline is ready to use.
type Timeline struct {
	mu sync.Mutex
	timelineData
}

// timelineData is what a timeline has recorded.
type timelineData struct {
	run   string
	lanes []*lane
	byID  map[string]*lane
	open  map[timelineKey]Span
	first time.Time
	last  time.Time
	live  bool // a process plays the run
	// simulated reports that a scripted model plays, and that its prices are made up.
	simulated bool
	cuts      []timelineCut
	spans     int           // of all lanes
	coarse    time.Duration // spans of the same kind that were closer than this were joined
	decisions []TimelineDecision
	charges   contract.Charges
	usd       float64 // charged to the run
	unknown   bool    // it has cost more
}

// cost returns what an agent has cost.
func (t *timelineData) cost(l *lane) float64 { return l.usd + t.charges.Running[l.id].CostUSD }

// TimelineDecision is a decision of the run.
type TimelineDecision struct {
	At     time.Time
	Number int
	Text   string
}

// timelineKey identifies an activity in progress.
type timelineKey struct {
	lane string
	kind TimelineKind
	id   string
}

// Become takes over the content of another one, to which nothing may be added any more.
func (t *Timeline) Become(other *Timeline) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timelineData = other.timelineData
}

// Add adds an event.
func (t *Timeline) Add(at time.Time, e contract.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := e.Body.(contract.Session); ok {
		t.session(at, s)
	}
	if t.first.IsZero() {
		t.first = at
	}
	if at.After(t.last) {
		t.last = at
	}
	t.add(at, e)
	for full := t.spans > maxSpans; full && t.spans > maxSpans/2; { // spans are joined until there are half as many
		t.coarse = max(2*t.coarse, t.last.Sub(t.first)/maxSpans, time.Millisecond)
		t.spans = 0
		for _, l := range t.lanes {
			l.mergeClose(t.coarse)
			t.spans += len(l.spans)
		}
	}
}

// session records the process that plays the run from here on.
func (t *Timeline) session(at time.Time, s contract.Session) {
	if t.run != "" && s.Session != t.run { // another run
		t.timelineData = timelineData{}
	}
	if t.run == "" && s.ForkedFrom != nil {
		t.usd = s.ForkedFrom.CostUSD
	}
	t.run, t.live, t.simulated = s.Session, true, s.Rehearsal
	t.close(t.last, func(timelineKey) bool { return true })
	if sum := at.Sub(t.last); !t.last.IsZero() && sum > 0 {
		if n := len(t.cuts); n > 0 {
			sum += t.cuts[n-1].sum
		}
		t.cuts = append(t.cuts, timelineCut{t.last, at, sum})
	}
}

func (t *Timeline) add(at time.Time, e contract.Event) {
	for _, c := range t.charges.Take(e) {
		t.usd += c.CostUSD
		if l := t.lane(c.ID); l != nil {
			l.usd += c.CostUSD
		}
	}
	switch b := e.Body.(type) {
	case contract.Spawn:
		t.spawned(at, e, b)
	case contract.Assistant, contract.ToolCall, contract.Delivered, contract.SubagentStart, contract.Cost,
		contract.ToolUse, contract.ToolResult:
		t.works(at, e)
	case contract.Turn:
		t.turned(at, e, b)
	case contract.PermissionRequest:
		t.begin(at, timelineKey{e.ID, TimelineWait, "permission " + b.Request}, e)
	case contract.Permission:
		t.end(at, timelineKey{e.ID, TimelineWait, "permission " + b.Request})
	case contract.Question:
		t.begin(at, timelineKey{contract.Arbiter, TimelineWait, b.Question}, e)
	case contract.Settled:
		t.end(at, timelineKey{contract.Arbiter, TimelineWait, b.Item})
	case contract.Message:
		if b.From == contract.Human {
			t.moment(at, contract.Human, HumanSpoke, textTimeline(e))
		}
	case contract.Takeover:
		if b.State == "began" || b.State == "open" {
			t.begin(at, timelineKey{e.ID, TimelineWait, "takeover"}, e)
		} else {
			t.end(at, timelineKey{e.ID, TimelineWait, "takeover"})
		}
	case contract.Decision:
		if b.Number > 0 {
			t.decisions = append(t.decisions, TimelineDecision{at, b.Number, textTimeline(e)})
		}
	case contract.Handoff:
		t.moment(at, author(b.From), HandedOff, textTimeline(e))
	case contract.Retry:
		wait := time.Duration(min(max(b.DelayMS, 0), time.Hour.Milliseconds())) * time.Millisecond
		t.keep(t.lane(e.ID), Span{Kind: APIWait, From: at, Until: at.Add(wait), N: 1, Text: textTimeline(e)})
	case contract.Restart:
		t.moment(at, author(e.ID), TimelineRestarted, textTimeline(e))
	case contract.Error:
		t.moment(at, author(e.ID), TimelineFailed, textTimeline(e))
	case contract.Done:
		t.close(at, func(k timelineKey) bool { return k.lane == e.ID })
		t.moment(at, e.ID, TimelineStopped, textTimeline(e))
	case contract.Result:
		t.close(at, func(timelineKey) bool { return true })
		t.live = false
	}
}

// author returns the lane that shows the supervisor's messages: the Arbiter's.
func author(id string) string {
	if id == contract.Supervisor {
		return contract.Arbiter
	}
	return id
}

func textTimeline(e contract.Event) string {
	text := eventtext.One(eventtext.Line(e, nil), maxText)
	switch e.Body.(type) {
	case contract.ToolUse, contract.ToolCall, contract.PermissionRequest: // a call is shown as it is
		return strings.Clone(text)
	}
	return eventtext.Plain(text)
}

// lane returns the lane of an agent; nil if the id is not an agent's, or there are too many lanes.
func (t *Timeline) lane(id string) *lane {
	if l := t.byID[id]; l != nil {
		return l
	}
	if id == "" || id == contract.Supervisor || len(t.lanes) >= maxLanes {
		return nil
	}
	if t.byID == nil {
		t.byID, t.open = map[string]*lane{}, map[timelineKey]Span{}
	}
	l := &lane{id: strings.Clone(id)}
	t.byID[l.id] = l
	if id == contract.Human { // at the top
		t.lanes = slices.Insert(t.lanes, 0, l)
	} else {
		t.lanes = append(t.lanes, l)
	}
	return l
}

// spawned begins an agent, or another session of it.
func (t *Timeline) spawned(at time.Time, e contract.Event, b contract.Spawn) {
	t.begin(at, timelineKey{lane: e.ID, kind: TimelineAlive}, e)
	kind := TimelineBegan
	if b.Generation > 1 || b.SuccessorOf != "" {
		kind = TimelineRenewed
	}
	if b.Resumed {
		kind = TimelineRestarted
	}
	t.moment(at, e.ID, kind, textTimeline(e))
}

// works records a sign of life of an agent in a turn.
func (t *Timeline) works(at time.Time, e contract.Event) {
	if e.ID == contract.Human || e.ID == contract.Supervisor {
		return
	}
	if t.lane(e.ID) == nil {
		return
	}
	for _, kind := range []TimelineKind{TimelineAlive, TimelineTurn} {
		if _, ok := t.open[timelineKey{lane: e.ID, kind: kind}]; !ok {
			t.begin(at, timelineKey{lane: e.ID, kind: kind}, contract.Event{})
		}
	}
	switch b := e.Body.(type) {
	case contract.ToolUse:
		if b.Subagent != "" { // it is within the call that started the subagent
			return
		}
		t.byID[e.ID].tools++
		t.begin(at, timelineKey{e.ID, TimelineTool, b.ToolUse}, e)
	case contract.ToolCall:
		t.moment(at, e.ID, TimelineTool, textTimeline(e))
	case contract.ToolResult:
		t.end(at, timelineKey{e.ID, TimelineTool, b.ToolUse})
	}
}

// turned ends a turn, and the calls that it leaves without a result.
func (t *Timeline) turned(at time.Time, e contract.Event, b contract.Turn) {
	l := t.lane(e.ID)
	if l == nil {
		return
	}
	l.turns++
	l.unknown, t.unknown = l.unknown || b.Unknown, t.unknown || b.Unknown
	s, ok := t.open[timelineKey{lane: e.ID, kind: TimelineTurn}]
	if !ok {
		s = Span{Kind: TimelineTurn, From: at, N: 1}
	}
	delete(t.open, timelineKey{lane: e.ID, kind: TimelineTurn})
	s.Until, s.CostUSD, s.Text = at, b.CostUSD, "turn "+eventtext.One(b.Outcome, maxText)
	t.keep(l, s)
	t.close(at, func(k timelineKey) bool { return k.lane == e.ID && k.kind == TimelineTool })
}

// begin records the start of an activity. One that is in progress already is not changed.
func (t *Timeline) begin(at time.Time, k timelineKey, e contract.Event) {
	l := t.lane(k.lane)
	if l == nil {
		return
	}
	if _, ok := t.open[k]; ok {
		return
	}
	s := Span{Kind: k.kind, From: at, Until: at, N: 1}
	if k.kind != TimelineAlive && e.Body != nil {
		s.Text = textTimeline(e)
	}
	if k.kind == TimelineTool && k.id == "" { // its end will not be reported
		t.keep(l, s)
		return
	}
	k.lane, k.id = l.id, strings.Clone(k.id)
	t.open[k] = s
}

func (t *Timeline) end(at time.Time, k timelineKey) {
	s, ok := t.open[k]
	if !ok {
		return
	}
	delete(t.open, k)
	s.Until = at
	if s.Kind == TimelineWait {
		t.byID[k.lane].waited += at.Sub(s.From)
	}
	t.keep(t.byID[k.lane], s)
}

// close ends activities.
func (t *Timeline) close(at time.Time, of func(timelineKey) bool) {
	for k := range t.open {
		if of(k) {
			t.end(at, k)
		}
	}
}

func (t *Timeline) moment(at time.Time, id string, kind TimelineKind, text string) {
	t.keep(t.lane(id), Span{Kind: kind, From: at, Until: at, N: 1, Text: text})
}

func (t *Timeline) keep(l *lane, s Span) {
	if l == nil {
		return
	}
	l.spans = append(l.spans, s)
	t.spans++
}

// TimelineKind is the kind of a span. If several are in one column, the last of them is drawn.
type TimelineKind uint8

// The kinds. From Stopped on they are moments, which are highlighted.
const (
	TimelineAlive   TimelineKind = iota // the agent exists
	TimelineTurn                        // it works
	TimelineTool                        // a call runs
	TimelineStopped                     // it ended
	TimelineBegan
	HumanSpoke        // a human spoke
	APIWait           // waiting for the API after an error
	TimelineQuiet     // the rest of a wait, as it is drawn
	TimelineWait      // waiting for a human
	TimelineRestarted // its process was started again
	TimelineRenewed   // another session took over its work
	HandedOff
	TimelineFailed
	timelineKinds
)

// moments is the first of the kinds to which [TimelineView.Step] goes.
const moments = TimelineStopped

// Span is something that an agent did, or what happened to it.
type Span struct {
	Kind    TimelineKind
	From    time.Time
	Until   time.Time // the same for a moment
	Open    bool      // it continues; Until is then the time of the query
	N       int       // how many spans were joined
	Text    string    // its text; empty if several were joined
	CostUSD float64   // of turns
}

// lane is the record of an agent.
type lane struct {
	id      string
	spans   []Span // finished spans, in the order of their ends
	turns   int
	tools   int
	waited  time.Duration
	usd     float64 // without the running turn
	unknown bool    // it has cost more
}

// mergeClose joins spans of the same kind with less than a gap between them.
func (l *lane) mergeClose(gap time.Duration) {
	kept := l.spans[:0]
	var last [timelineKinds]int // where the last span of a kind is kept, plus one
	for _, s := range l.spans {
		if i := last[s.Kind]; i > 0 && s.From.Sub(kept[i-1].Until) < gap {
			into := &kept[i-1]
			into.N += s.N
			into.CostUSD += s.CostUSD
			into.Text = ""
			if s.From.Before(into.From) {
				into.From = s.From
			}
			if s.Until.After(into.Until) {
				into.Until = s.Until
			}
			continue
		}
		kept = append(kept, s)
		last[s.Kind] = len(kept)
	}
	clear(l.spans[len(kept):])
	l.spans = kept
}

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
