package history

import (
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Live is text that is arriving.
type Live struct {
	Agent string
	Text  string // prose; of a long text, the end
	// Verdict reports that a verdict is arriving; Message is the part of its member `message` that has
	// arrived.
	Verdict bool
	Message string
	Began   time.Time
}

// arriving is the text of one agent that is arriving.
type arriving struct {
	began   time.Time
	prose   growing
	verdict *messageReader // nil: none
	message growing
}

// liveTexts are the texts that are arriving.
type liveTexts struct {
	mu      sync.Mutex
	byAgent map[string]*arriving
}

// end returns the text of an agent, at most about most bytes of each part: its end.
func (l *liveTexts) end(agent string, most int) (Live, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byAgent[agent]
	if !ok {
		return Live{}, false
	}
	return Live{Agent: agent, Text: a.prose.end(most), Verdict: a.verdict != nil, Message: a.message.end(most),
		Began: a.began}, true
}

func (l *liveTexts) delta(at time.Time, agent string, d contract.Delta) {
	if d.Text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byAgent[agent]
	if !ok {
		if len(l.byAgent) >= maxAgents {
			return
		}
		if l.byAgent == nil {
			l.byAgent = make(map[string]*arriving)
		}
		a = &arriving{began: at}
		l.byAgent[agent] = a
	}
	if !d.Verdict {
		a.prose.add(d.Text)
		return
	}
	if a.verdict == nil || a.verdict.closed && strings.HasPrefix(strings.TrimLeft(d.Text, " \t\r\n"), "{") {
		a.verdict, a.message = new(messageReader), growing{} // this one may be better than the previous one
	}
	a.verdict.feed(d.Text)
	if a.verdict.begun {
		a.message, a.verdict.begun = growing{}, false
	}
	a.message.add(string(a.verdict.out))
	a.verdict.out = a.verdict.out[:0]
}

// endTexts ends the texts that an event contains, or whose end it shows.
func (l *liveTexts) endTexts(e contract.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byAgent[e.ID]
	switch b := e.Body.(type) {
	case contract.Assistant:
		if a != nil && b.Subagent == "" { // only text of the main thread is shown as it arrives
			a.prose = growing{}
		}
	case contract.Message:
		if a != nil && a.verdict != nil && b.From == e.ID && !a.message.empty() &&
			strings.HasPrefix(b.Text, strings.TrimSpace(a.message.text())) {
			a.verdict, a.message = nil, growing{}
		}
	case contract.Turn, contract.Done, contract.Spawn, contract.Restart:
		delete(l.byAgent, e.ID)
	case contract.Session, contract.Result:
		clear(l.byAgent)
	}
	if a != nil && a.verdict == nil && a.prose.empty() {
		delete(l.byAgent, e.ID)
	}
}
