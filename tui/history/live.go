package history

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
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

// arriving is the text of one agent that is arriving, as it came: it is made fit for a screen when it is read, since a
// control sequence may be spread over several pieces. No sequence extends over a line end.
type arriving struct {
	began   time.Time
	prose   []byte // its end
	verdict []byte // JSON; nil: none
}

// liveKept bounds text that is arriving: of a longer text, the end is kept.
const liveKept = 256 << 10

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
	return Live{Agent: agent, Text: lastPart(a.prose, most), Verdict: a.verdict != nil,
		Message: lastPart(partialMessage(a.verdict), most), Began: a.began}, true
}

// lastPart returns about so many bytes of the end of a text, fit for a screen, in whole lines if there are any.
func lastPart(text []byte, most int) string {
	text = text[:whole(text)]
	drop := len(text) - most
	if drop <= 0 {
		return sanitize.Text(string(text))
	}
	if i := bytes.IndexByte(text[drop:], '\n'); i >= 0 && drop+i < len(text)-1 {
		return sanitize.Text(string(text[drop+i+1:]))
	}
	line := sanitize.Text(string(text[bytes.LastIndexByte(text[:drop], '\n')+1:]))
	for drop = max(len(line)-most, 0); drop < len(line) && !utf8.RuneStart(line[drop]); {
		drop++
	}
	return line[drop:]
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
	switch {
	case !d.Verdict:
		a.prose = append(a.prose, d.Text...)
		if n := len(a.prose); n > 2*liveKept { // drop a large part at once: the beginning should not change all the time
			drop := n - liveKept
			if i := bytes.IndexByte(a.prose[drop:], '\n'); i >= 0 && i < 4<<10 {
				drop += i + 1
			}
			a.prose = append([]byte(nil), a.prose[drop:]...)
		}
	case len(a.verdict) == 0, strings.HasPrefix(strings.TrimLeft(d.Text, " \t\r\n"), "{") && !open(a.verdict):
		a.verdict = []byte(d.Text) // this one may be better than the previous one
	case len(a.verdict) < 8*liveKept:
		a.verdict = append(a.verdict, d.Text...)
	}
}

// endTexts ends the texts that an event contains, or whose end it shows.
func (l *liveTexts) endTexts(e contract.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byAgent[e.ID]
	switch b := e.Body.(type) {
	case contract.Assistant:
		if a != nil && b.Subagent == "" { // only text of the main thread is shown as it arrives
			a.prose = nil
		}
	case contract.Message:
		if a != nil && a.verdict != nil && b.From == e.ID {
			if message := lastPart(partialMessage(a.verdict), liveKept); message != "" &&
				strings.HasPrefix(b.Text, strings.TrimSpace(message)) {
				a.verdict = nil
			}
		}
	case contract.Turn, contract.Done, contract.Spawn, contract.Restart:
		delete(l.byAgent, e.ID)
	case contract.Session, contract.Result:
		clear(l.byAgent)
	}
	if a != nil && a.verdict == nil && len(a.prose) == 0 {
		delete(l.byAgent, e.ID)
	}
}
