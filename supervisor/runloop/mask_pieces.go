package runloop

import (
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Pieces masks secrets in text that arrives in pieces. Text that is not followed by a space yet may be the
// beginning of a secret, and waits. It does not matter if some text still waits at the end, since the whole
// text follows. The zero value is ready for use; any goroutine may use it.
type Pieces struct {
	mu    sync.Mutex
	texts map[string]*piece // by agent
}

type piece struct {
	ref     bridge.AgentRef
	verdict bool
	context string // the end of what was reported, unmasked
	waits   string
}

const (
	pieceContext = 4 << 10 // bytes of reported text that may name, or begin, a secret
	pieceWaits   = 8 << 10
)

// Event returns the event to report in place of e; false: none.
func (p *Pieces) Event(e bridge.Event, f func(string) string) (bridge.Event, bool) {
	d, ok := e.Body.(bridge.Delta)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		if ends(e.Body) {
			delete(p.texts, e.ID)
		}
		return e, true
	}
	if p.texts == nil {
		p.texts = map[string]*piece{}
	}
	t := p.texts[e.ID]
	if t == nil || t.ref != e.AgentRef || t.verdict != d.Verdict {
		t = &piece{ref: e.AgentRef, verdict: d.Verdict}
		p.texts[e.ID] = t
	}
	d.Text = t.next(d.Text, f)
	e.Body = d
	return e, d.Text != ""
}

// ends reports whether an event ends a text that came in pieces.
func ends(b bridge.EventBody) bool {
	switch b.(type) {
	case bridge.Assistant, bridge.ToolUse, bridge.Turn, bridge.Done:
		return true
	}
	return false
}

func (t *piece) next(text string, f func(string) string) string {
	t.waits += text
	n := strings.LastIndexAny(t.waits, " \t\r\n") + 1
	if n == 0 {
		if len(t.waits) < pieceWaits {
			return ""
		}
		n = len(t.waits)
	}
	fresh := t.waits[:n]
	before := f(t.context)
	after := f(t.context + fresh)
	t.waits, t.context = t.waits[n:], t.context+fresh
	if over := len(t.context) - pieceContext; over > 0 {
		t.context = strings.ToValidUTF8(t.context[over:], "")
	}
	shown, ok := strings.CutPrefix(after, before)
	if !ok {
		return "" // the reported text ends with the beginning of a secret that continues
	}
	return shown
}
