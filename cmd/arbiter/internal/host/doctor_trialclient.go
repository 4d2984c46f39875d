package host

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TrialClient is the client side of a trial: it records the bridge's events, and answers requests according to the
// script.
type TrialClient struct {
	mu     sync.Mutex
	events []bridge.Event
	change chan struct{} // closed and replaced with each event
	judged map[string]bool
	asked  map[string]bool

	called  chan struct{} // closed when the tool is called
	release chan struct{} // closed when it may answer
	once    sync.Once
}

var _ bridge.Handler = (*TrialClient)(nil)

// NewTrialClient returns a client for one trial.
func NewTrialClient() *TrialClient {
	return &TrialClient{change: make(chan struct{}), judged: map[string]bool{}, asked: map[string]bool{},
		called: make(chan struct{}), release: make(chan struct{})}
}

// Event implements bridge.Handler.
func (e *TrialClient) Event(ev bridge.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, ev)
	close(e.change)
	e.change = make(chan struct{})
}

// ToolCall implements bridge.Handler. The tool answers when the trial releases it.
func (e *TrialClient) ToolCall(ctx context.Context, _ bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	e.once.Do(func() { close(e.called) })
	select {
	case <-e.release:
		return bridge.ToolCallResult{Text: "Heard."}, nil
	case <-ctx.Done():
		return bridge.ToolCallResult{}, ctx.Err()
	}
}

// Judge implements bridge.Handler.
func (e *TrialClient) Judge(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	switch word := wordOf(string(p.Input)); word {
	case wordDenied:
		e.note(e.judged, word)
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: "This is denied."}, nil
	case wordAsked:
		e.note(e.judged, word)
		return bridge.JudgeResult{Behavior: bridge.Ask}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// Permission implements bridge.Handler.
func (e *TrialClient) Permission(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	word := wordOf(string(p.Input))
	e.note(e.asked, word)
	if word == wordAsked {
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	return bridge.PermissionResult{Behavior: bridge.Deny, Message: "This was not to come."}, nil
}

// The commands of the script create files with these names.
const (
	wordAsked  = "asked"
	wordDenied = "denied"
)

func wordOf(input string) string {
	for _, word := range []string{wordAsked, wordDenied} {
		if strings.Contains(input, "touch "+word) {
			return word
		}
	}
	return ""
}

func (e *TrialClient) note(in map[string]bool, word string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	in[word] = true
}

func (e *TrialClient) noted(in map[string]bool, word string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return in[word]
}

// errEnded says that the session ended while the trial waited for an event.
var errEnded = errors.New("the session ended")

// await waits for a matching event of one incarnation, including past events.
func (e *TrialClient) await(ctx context.Context, ref bridge.AgentRef, fits func(bridge.EventBody) bool) error {
	at := 0
	for {
		e.mu.Lock()
		events, change := e.events, e.change
		e.mu.Unlock()
		for ; at < len(events); at++ {
			if events[at].AgentRef != ref {
				continue
			}
			if fits(events[at].Body) {
				return nil
			}
			if _, over := events[at].Body.(bridge.Done); over {
				return errEnded
			}
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// saw reports whether there has been a matching event.
func (e *TrialClient) saw(ref bridge.AgentRef, fits func(bridge.EventBody) bool) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return e.await(over, ref, fits) == nil
}

// is matches events of a type; with a function, only those for which it returns true.
func is[B bridge.EventBody](that func(B) bool) func(bridge.EventBody) bool {
	return func(body bridge.EventBody) bool {
		b, ok := body.(B)
		return ok && (that == nil || that(b))
	}
}
