package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
)

// controlTimeout bounds a control request that has no bound of its own. The CLI answers in milliseconds,
// even in the middle of a turn; CLI 2.0 never answered unknown requests.
const controlTimeout = 15 * time.Second

// calls are the driver's control requests that wait for an answer.
type calls struct {
	in *stdin

	mu      sync.Mutex
	last    int
	pending map[string]func(controlResponse) // receive the answers; the reader calls them
	over    chan struct{}                    // closed by end
	posts   sync.WaitGroup                   // of the goroutines of post
}

type controlLine struct {
	Type      string         `json:"type"`
	RequestID string         `json:"request_id"`
	Request   map[string]any `json:"request"`
}

func newControlLine(id, subtype string, fields map[string]any) controlLine {
	request := map[string]any{"subtype": subtype}
	maps.Copy(request, fields)
	return controlLine{Type: "control_request", RequestID: id, Request: request}
}

// post sends a control request and returns at once. The reader passes the answer to then, which must not
// block; if the request cannot be sent, then is not called. ctx ends with the process.
func (c *calls) post(ctx context.Context, subtype string, fields map[string]any, then func(controlResponse)) {
	_, _ = c.open(then, func(id string) { // an agent that has ended answers nothing
		c.request(ctx, id, subtype, fields)
	})
}

// ask is like post, but returns only when the request was sent. It is for requests that must precede
// whatever is sent next.
func (c *calls) ask(ctx context.Context, subtype string, fields map[string]any, then func(controlResponse)) {
	if id, err := c.open(then, nil); err == nil {
		c.request(ctx, id, subtype, fields)
	}
}

// request sends the request that open registered, and forgets it if it cannot be sent.
func (c *calls) request(ctx context.Context, id, subtype string, fields map[string]any) {
	if err := c.in.send(ctx, newControlLine(id, subtype, fields)); err != nil {
		c.forget(id)
	}
}

// do sends a control request and returns the payload of its answer.
func (c *calls) do(ctx context.Context, timeout time.Duration, subtype string,
	fields map[string]any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer := make(chan controlResponse, 1) // the one answer never blocks the reader
	id, err := c.open(func(res controlResponse) { answer <- res }, nil)
	if err != nil {
		return nil, err
	}
	defer c.forget(id)
	if err := c.in.send(ctx, newControlLine(id, subtype, fields)); err != nil {
		return nil, err
	}
	select {
	case res := <-answer:
		return res.Response, refusal(subtype, res)
	case <-c.over:
		select {
		case res := <-answer: // its last words
			return res.Response, refusal(subtype, res)
		default:
			return nil, errEnded()
		}
	case <-ctx.Done():
		return nil, &bridge.RPCError{Code: bridge.CodeTimeout, Category: bridge.CatTimeout,
			Message: fmt.Sprintf("the CLI did not answer %s: %v", subtype, ctx.Err())}
	}
}

func refusal(subtype string, res controlResponse) error {
	if res.Error == "" {
		return nil
	}
	code := bridge.CodeRefused
	if res.ErrorCode == "unsupported_request" {
		code = bridge.CodeUnsupported
	}
	return &bridge.RPCError{Code: code, Message: fmt.Sprintf("the CLI refused %s: %s", subtype, res.Error)}
}

// open registers what receives an answer under a new id, and has post send the request if post is not nil.
func (c *calls) open(then func(controlResponse), post func(id string)) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if driver.IsClosed(c.over) {
		return "", errEnded()
	}
	c.last++
	id := "arbiter-" + strconv.Itoa(c.last)
	c.pending[id] = then
	if post != nil {
		c.posts.Go(func() { post(id) })
	}
	return id, nil
}

func (c *calls) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// answered passes an answer on and reports whether it was awaited. The reader calls it.
func (c *calls) answered(res controlResponse) bool {
	c.mu.Lock()
	then, ok := c.pending[res.ID]
	delete(c.pending, res.ID)
	c.mu.Unlock()
	if ok && !driver.IsClosed(c.over) {
		then(res)
	}
	return ok
}

// end fails all pending and all later requests. It is called once.
func (c *calls) end() {
	c.mu.Lock()
	close(c.over)
	c.mu.Unlock()
	c.posts.Wait()
}

func errEnded() error {
	return &bridge.RPCError{Code: bridge.CodeEnded, Message: "the agent has ended"}
}

// asks holds the control requests of the CLI that are being answered, each by its own goroutine: a client
// that takes long to answer must not stop the reader.
type asks struct {
	in *stdin

	mu      sync.Mutex
	cancels map[string]context.CancelFunc
	ended   bool
	wg      sync.WaitGroup
}

func newAsks(in *stdin) *asks {
	return &asks{in: in, cancels: map[string]context.CancelFunc{}}
}

type answerLine struct {
	Type     string     `json:"type"`
	Response answerBody `json:"response"`
}

type answerBody struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
}

// writeAnswer writes an answer that is already known.
func (a *asks) writeAnswer(ctx context.Context, id string, payload any) {
	a.serve(ctx, id, func(context.Context) (any, error) { return payload, nil })
}

// serve runs answer in a goroutine and writes what it returns, unless the
// request was withdrawn or the agent ended meanwhile.
func (a *asks) serve(ctx context.Context, id string, answer func(context.Context) (any, error)) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	if a.ended {
		a.mu.Unlock()
		cancel()
		return
	}
	a.cancels[id] = cancel
	a.wg.Add(1)
	a.mu.Unlock()
	go func() {
		defer a.wg.Done()
		defer a.cancel(id)
		payload, err := answer(ctx)
		if ctx.Err() != nil {
			return // the CLI ignores late answers
		}
		body := answerBody{Subtype: "success", RequestID: id, Response: payload}
		if err != nil {
			body = answerBody{Subtype: "error", RequestID: id, Error: err.Error()}
		}
		// A failure here means that the child has ended, which its own watchers report.
		_ = a.in.write(ctx, answerLine{Type: "control_response", Response: body})
	}()
}

// cancel withdraws a request; an unknown id is ignored.
func (a *asks) cancel(id string) {
	a.mu.Lock()
	cancel := a.cancels[id]
	delete(a.cancels, id)
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// end cancels all and waits for their goroutines.
func (a *asks) end() {
	a.mu.Lock()
	a.ended = true
	for _, cancel := range a.cancels {
		cancel()
	}
	a.mu.Unlock()
	a.wg.Wait()
}
