package timeline

import "time"

// Kind says what a span is. Where several lie in the same column, the last of them is drawn.
type Kind uint8

// The kinds. From Stopped on they are moments, and stand out.
const (
	Alive   Kind = iota // there is such an agent
	Turn                // it works
	Tool                // a call runs
	Stopped             // it ended
	Began
	Spoke     // a human spoke
	APIWait   // API trouble is waited out
	Wait      // a human is awaited
	Restarted // its process was started again
	Renewed   // another session took its work up
	HandedOff
	Failed
	kinds
)

// moments are the kinds that [View.Step] goes to.
const moments = Stopped

// words are how the kinds are called.
var kindWords = [kinds]string{
	Alive: "is there", Turn: "works", Tool: "call", Stopped: "ended", Began: "began", Spoke: "you spoke",
	APIWait: "waits for the API", Wait: "waits for you", Restarted: "restarted", Renewed: "renewed",
	HandedOff: "hand-off", Failed: "error",
}

// Span is something that an agent did, or what happened to it.
type Span struct {
	Kind    Kind
	From    time.Time
	Until   time.Time // the same for a moment
	Open    bool      // it continues; Until is then when it was asked for
	N       int       // of how many it was made
	Text    string    // what it was; empty where it was made of several
	CostUSD float64   // of turns
}

// lane is what is kept of an agent.
type lane struct {
	id      string
	spans   []Span // that are over, in the order of their ends
	turns   int
	tools   int
	waited  time.Duration
	doneUSD float64 // of the turns that are over
	turnUSD float64 // of the one that runs
}

// cost is what the agent has cost so far.
func (l *lane) cost() float64 { return l.doneUSD + l.turnUSD }

// thin joins spans of the same kind that have less than a gap between them.
func (l *lane) thin(gap time.Duration) {
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
