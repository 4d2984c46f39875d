package clients

import (
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxMail is how many events may wait to be printed. If there are more, unimportant ones are dropped.
const maxMail = 4096

// event is a waiting event.
type event struct {
	at    time.Time
	event contract.Event
}

// mailbox takes events from the run's goroutine without ever blocking it.
type mailbox struct {
	*backlog.Queue[event]
	verbose bool
}

func newMailbox(verbose bool) *mailbox { return &mailbox{backlog.New[event](), verbose} }

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
	limit := backlog.Limit{Items: maxMail}
	if contract.Urgent(e.Body) {
		limit.Items = 2 * maxMail
	}
	m.Put(event{at, e}, 0, limit)
}
