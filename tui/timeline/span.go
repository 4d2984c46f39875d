package timeline

import "time"

// Kind is the kind of a span. If several are in one column, the last of them is drawn.
type Kind uint8

// The kinds. From Stopped on they are moments, which are highlighted.
const (
	Alive   Kind = iota // the agent exists
	Turn                // it works
	Tool                // a call runs
	Stopped             // it ended
	Began
	HumanSpoke // a human spoke
	APIWait    // waiting for the API after an error
	Wait       // waiting for a human
	Restarted  // its process was started again
	Renewed    // another session took over its work
	HandedOff
	Failed
	kinds
)

// moments is the first of the kinds to which [View.Step] goes.
const moments = Stopped

// kindWords are the names of the kinds.
var kindWords = [kinds]string{
	Alive: "is there", Turn: "works", Tool: "call", Stopped: "ended", Began: "began", HumanSpoke: "you spoke",
	APIWait: "waits for the API", Wait: "waits for you", Restarted: "restarted", Renewed: "renewed",
	HandedOff: "hand-off", Failed: "error",
}

// Span is something that an agent did, or what happened to it.
type Span struct {
	Kind    Kind
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
	var last [kinds]int // where the last span of a kind is kept, plus one
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
