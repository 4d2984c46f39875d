package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// mostWaiting bounds the spans that wait to be sent; more are dropped.
	mostWaiting = 2048
	// batch is how many spans one request has at most.
	batch = 512
	// every is the maximum time that a span waits before it is sent, while the collector answers.
	every = 5 * time.Second
	// answerMost is how much of a response is read, so that the connection can be reused.
	answerMost = 64 << 10
)

// Exporter sends the spans of a run. Its methods are safe for concurrent use.
type Exporter struct {
	settings TelemetrySettings
	trace    TelemetryTrace
	failed   func(error)
	client   *http.Client
	wake     chan struct{} // a batch is full, or the run ends
	done     chan struct{}
	cancel   context.CancelFunc

	mu        sync.Mutex
	recorder  *recorder
	questions int // asked so far
	waiting   []span
	dropped   int // because the queue was full
	begun     bool
	closed    bool
}

// NewExporter starts sending the spans of a run. failed is called once, on another goroutine, with the error of the
// first failed request; it must not block for long. The caller closes the exporter.
func NewExporter(s TelemetrySettings, t TelemetryTrace, failed func(error)) *Exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exporter{settings: s, trace: t, failed: failed, cancel: cancel, recorder: newRecorder(t),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		client: &http.Client{Timeout: s.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers may have a key
		}}}
	go e.work(ctx) // Close waits for it
	return e
}

// Trace returns the trace that the spans belong to.
func (e *Exporter) Trace() TelemetryTrace { return e.trace }

// Add processes an event of the run that happened at a time. It does no I/O.
func (e *Exporter) Add(at time.Time, event contract.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.recorder.add(at, event)
	e.collect()
	if len(e.waiting) >= batch || !e.begun && len(e.waiting) > 0 { // to detect a missing collector early
		e.begun = true
		e.wakeUp()
	}
}

// Question begins the span of a question to a model that no agent asks. It returns the TRACEPARENT for the process
// that asks the question, and a function that ends the span.
func (e *Exporter) Question() (traceparent string, end func(failed bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.questions++
	k := key{kind: "question", id: strconv.Itoa(e.questions)}
	s := e.recorder.begin(k, e.recorder.inner("", ""), time.Now(), "decide", map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "decider"})
	return e.trace.traceparent(s.id), func(failed bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recorder.end(k, time.Now(), failed, nil)
	}
}

// collect queues the ended spans, as far as there is room.
func (e *Exporter) collect() {
	ended := e.recorder.take()
	if e.trace.dropped {
		return
	}
	fit := min(len(ended), mostWaiting-len(e.waiting))
	e.waiting = append(e.waiting, ended[:fit]...)
	e.dropped += len(ended) - fit
}

func (e *Exporter) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Close ends all open spans, sends the waiting ones, and gives up after a time. It returns how many spans did not
// fit into the queue.
func (e *Exporter) Close(within time.Duration) (lost int) {
	e.mu.Lock()
	if !e.closed {
		e.recorder.close(time.Now())
		e.collect()
		e.closed = true
	}
	dropped := e.dropped
	e.mu.Unlock()
	e.wakeUp()
	late := time.AfterFunc(within, e.cancel)
	<-e.done
	late.Stop()
	e.cancel()
	e.client.CloseIdleConnections()
	return dropped
}

// next returns a batch, and reports whether it is the last one.
func (e *Exporter) next() (spans []span, last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(batch, len(e.waiting))
	spans = e.waiting[:n:n]
	if e.waiting = e.waiting[n:]; len(e.waiting) == 0 {
		e.waiting = nil
	}
	return spans, e.closed && len(e.waiting) == 0
}

func (e *Exporter) work(ctx context.Context) {
	defer close(e.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	reported := false
	for last := false; !last && ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-e.wake:
		}
		for more := true; more && ctx.Err() == nil; {
			var spans []span
			spans, last = e.next()
			more = len(spans) == batch
			if len(spans) == 0 {
				break
			}
			err := e.post(ctx, spans)
			if err != nil && !reported {
				reported = true
				e.failed(err)
			}
		}
	}
}

// post sends spans. It does not retry: more requests would not help an overloaded collector.
func (e *Exporter) post(ctx context.Context, spans []span) error {
	body, err := encode(e.trace, e.settings.Resource, spans)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = e.settings.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err // without the URL, which may have a key
	}
	if err != nil {
		return fmt.Errorf("the collector at %s does not answer: %w", e.address(), err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, answerMost) // the content of the response does not matter
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector at %s answers %s", e.address(), resp.Status)
	}
	return nil
}

// address returns the collector's URL without the parts that may have a key.
func (e *Exporter) address() string {
	u, err := url.Parse(e.settings.URL)
	if err != nil {
		return "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	return u.Scheme + "://" + u.Host
}
