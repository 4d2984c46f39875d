package settings

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
)

const (
	// answers is how long a server may take to answer one notification.
	answers = 10 * time.Second
	// queued is how many notifications may wait for the server.
	queued = 64
	// titleMost bounds the title, in characters.
	titleMost = 80
)

// NotifierOptions configure a notifier.
type NotifierOptions struct {
	Targets []Target
	Run     string
	// Failed is called once for each target that did not accept a notification. It must not block.
	Failed func(error)
}

// Notifier posts new items that wait for the human, and the end of the run. Its methods do not block, except Close.
type Notifier struct {
	options NotifierOptions
	client  *http.Client
	queue   chan message
	done    chan struct{}
	cancel  context.CancelFunc

	mu     sync.Mutex
	known  map[string]bool // open items that were reported
	closed bool
}

// NewNotifier makes a notifier. The caller closes it.
func NewNotifier(o NotifierOptions) *Notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Notifier{
		options: o, queue: make(chan message, queued), done: make(chan struct{}), cancel: cancel,
		known: map[string]bool{},
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}
	go n.work(ctx) // ends with the queue; Close waits for it
	return n
}

func (n *Notifier) work(ctx context.Context) {
	defer close(n.done)
	failed := map[Target]bool{}
	for m := range n.queue {
		for _, t := range n.options.Targets {
			err := t.post(ctx, n.client, m)
			if err != nil && !failed[t] {
				failed[t] = true
				n.options.Failed(err)
			}
		}
	}
}

// Look posts the items that wait now and did not wait before: once for each question, and once for all permission
// requests of one agent.
func (n *Notifier) Look(title string, items []supervisor.InboxItem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := map[string]bool{}
	for _, i := range supervisor.Awaited(items) {
		key := i.ID
		if i.Kind == supervisor.InboxPermission {
			key = "permission " + i.Agent
		}
		if !n.known[key] && !now[key] {
			n.put(message{Event: waits, Title: title, Kind: string(i.Kind), Agent: i.Agent, Host: i.Host})
		}
		now[key] = true
	}
	n.known = now
}

// End posts how the run ended.
func (n *Notifier) End(title, status string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.put(message{Event: ended, Title: title, Status: status})
}

// put queues a notification. The caller holds mu.
func (n *Notifier) put(m message) {
	if n.closed {
		return
	}
	m.Version, m.Time, m.Run, m.Title = 1, time.Now().UTC(), n.options.Run, sanitize.Line(m.Title, titleMost)
	select {
	case n.queue <- m:
	default: // a server that is too slow misses notifications
	}
}

// Close waits a limited time until queued notifications were posted.
func (n *Notifier) Close(within time.Duration) {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.queue)
	}
	n.mu.Unlock()
	late := time.AfterFunc(within, n.cancel)
	<-n.done
	late.Stop()
	n.cancel()
	n.client.CloseIdleConnections()
}
