package view

import "time"

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

// kindWords are the names of the kinds.
var kindWords = [timelineKinds]string{
	TimelineAlive: "is there", TimelineTurn: "works", TimelineTool: "call", TimelineStopped: "ended",
	TimelineBegan: "began", HumanSpoke: "you spoke",
	APIWait: "waits for the API", TimelineWait: "waits for you", TimelineRestarted: "restarted",
	TimelineRenewed: "renewed",
	HandedOff:       "hand-off", TimelineFailed: "error",
}

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
	doneUSD float64 // of the finished turns
	turnUSD float64 // of the running turn
}

// cost returns what the agent has cost so far.
func (l *lane) cost() float64 { return l.doneUSD + l.turnUSD }

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
