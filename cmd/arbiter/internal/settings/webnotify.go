package settings

// This part of the package notifies a phone or a chat when a run waits for its human or has ended: one POST
// for each, to an ntfy topic or a webhook.
//
// A notification says who waits for what kind of answer in which run. It contains nothing that an agent wrote: no
// question, command, file or code. Its only text is the title of the task, which the human wrote, with secrets
// masked.
//
// A [Notifier] owns one goroutine, which posts notifications one after the other. No caller waits for it:
// notifications that do not fit into its queue are dropped, and [Notifier.Close] waits a limited time for its end.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
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
	Mask    func(string) string // masks secrets in titles; nil: there are none
	// Failed is called once for each target that did not accept a notification. It must not block.
	Failed func(error)
}

// Notifier posts new items that wait for the human, and the end of the run. Its methods do not block, except Close. Nil
// posts nothing.
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
	if n == nil {
		return
	}
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
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.put(message{Event: ended, Title: title, Status: status})
}

// put queues a notification. The caller holds mu.
func (n *Notifier) put(m message) {
	if n.closed {
		return
	}
	if n.options.Mask != nil {
		m.Title = n.options.Mask(m.Title)
	}
	m.Version, m.Time, m.Run, m.Title = 1, time.Now().UTC(), n.options.Run, sanitize.Line(m.Title, titleMost)
	select {
	case n.queue <- m:
	default: // a server that is too slow misses notifications
	}
}

// Close waits a limited time until queued notifications were posted.
func (n *Notifier) Close(within time.Duration) {
	if n == nil {
		return
	}
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

// Prefixes of targets in --notify.
const (
	ntfy    = "ntfy:"
	webhook = "webhook:"
)

// Target is an address for notifications: ntfy:URL or webhook:URL.
type Target string

// IsTarget reports whether a word looks like a target.
func IsTarget(word string) bool {
	return strings.HasPrefix(word, ntfy) || strings.HasPrefix(word, webhook)
}

// ParseTarget parses a target.
func ParseTarget(word string) (Target, error) {
	_, address, _ := strings.Cut(word, ":")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("give an http or https URL, such as %shttps://ntfy.sh/TOPIC", ntfy)
	}
	return Target(word), nil
}

// String returns the target without its path and query, which often are secret.
func (t Target) String() string {
	kind, address, _ := strings.Cut(string(t), ":")
	u, err := url.Parse(address)
	if err != nil {
		return kind
	}
	return kind + ":" + u.Scheme + "://" + u.Host
}

// The events.
const (
	waits = "waits" // a new item waits for the human
	ended = "ended" // the run has ended
)

// message is a notification, in the form for webhooks.
type message struct {
	Version int       `json:"v"`
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Run     string    `json:"run"`
	Title   string    `json:"title"`
	Kind    string    `json:"kind,omitempty"`   // question, acceptance, permission, trust, recovery
	Agent   string    `json:"agent,omitempty"`  // the agent that waits
	Host    string    `json:"host,omitempty"`   // host of the agent, if it is not the run's
	Status  string    `json:"status,omitempty"` // of a run that ended
}

// text describes the event in one line.
func (m message) text() string {
	run := m.Run[:min(8, len(m.Run))]
	if m.Event == ended {
		return fmt.Sprintf("The run has ended: %s (run %s)", strings.ReplaceAll(m.Status, "_", " "), run)
	}
	what := map[supervisor.InboxKind]string{
		supervisor.InboxQuestion:   "%s has a question",
		supervisor.InboxAcceptance: "the result was rejected: %s asks what to do",
		supervisor.InboxPermission: "%s asks for a permission",
		supervisor.InboxTrust:      "%s asks whether you trust the workspace",
		supervisor.InboxRecovery:   "%s failed: choose how to continue",
		supervisor.InboxLimit:      "the cost limit is reached: %s asks what to do",
	}[supervisor.InboxKind(m.Kind)]
	if what == "" {
		what = "%s waits for you"
	}
	who := m.Agent
	if m.Host != "" {
		who += " @" + m.Host
	}
	return fmt.Sprintf(what+" (run %s)", who, run)
}

func (t Target) request(ctx context.Context, m message) (*http.Request, error) {
	kind, address, _ := strings.Cut(string(t), ":")
	if kind+":" == webhook {
		raw, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
		}
		return r, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(m.text()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Title", mime.BEncoding.Encode("utf-8", m.Title))
	r.Header.Set("Tags", "hourglass")
	r.Header.Set("Priority", "high")
	if m.Event == ended {
		r.Header.Set("Tags", "checkered_flag")
		r.Header.Set("Priority", "default")
	}
	return r, nil
}

// post posts a message. It follows no redirection, because the user did not name the next host.
func (t Target) post(ctx context.Context, client *http.Client, m message) error {
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	r, err := t.request(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: the request cannot be made", t) // the cause contains the URL
	}
	r.Header.Set("User-Agent", "arbiter")
	resp, err := client.Do(r)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // without the URL
		}
		return fmt.Errorf("%s: %w", t, err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", t, resp.Status)
	}
	return nil
}
