package plain

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxMail is how many events wait to be put into words. What nobody waits for is
// dropped when there are more.
const maxMail = 4096

// event is one that waits.
type event struct {
	at    time.Time
	event contract.Event
}

// mailbox takes events from the run's goroutine without ever blocking it.
type mailbox struct {
	ready   chan struct{} // capacity 1
	verbose bool

	mu     sync.Mutex
	events []event
	lost   int
}

func newMailbox(verbose bool) *mailbox {
	return &mailbox{ready: make(chan struct{}, 1), verbose: verbose}
}

// put is the run's sink.
func (m *mailbox) put(at time.Time, e contract.Event) {
	if contract.Fine(e.Body) {
		return
	}
	switch e.Body.(type) {
	case contract.Assistant, contract.ToolResult:
		if !m.verbose {
			return
		}
	}
	m.mu.Lock()
	if len(m.events) < maxMail || contract.Urgent(e.Body) && len(m.events) < 2*maxMail {
		m.events = append(m.events, event{at, e})
	} else {
		m.lost++
	}
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take empties the mailbox; lost is how many events it had no room for.
func (m *mailbox) take() (events []event, lost int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events, lost = m.events, m.lost
	m.events, m.lost = nil, 0
	return events, lost
}
