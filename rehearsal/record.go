package rehearsal

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Request is the record of one model request.
type Request struct {
	Time    time.Time
	Session string // Claude's session id
	Agent   string // the subagent's id, if the client names one
	Role    Role
	Actor   string // the actor that answered; "" = none matched
	Step    string // file:line of the step that answered; "" = none
	Model   string
	Stream  bool
	Size    int    // bytes of the body
	Cwd     string // working directory according to the request
	Tools   []Tool // without Options.Record: only names
	Used    Figures
	// First and Incoming are the conversation's first text and the input to answer. Without Options.Record
	// they are cut to 4 KiB.
	First, Incoming string
	// The following fields are kept only with Options.Record.
	System   string
	Messages json.RawMessage
	Body     json.RawMessage
}

// Tool is a tool as a request offers it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// ToolNames lists the tools the request offers.
func (r Request) ToolNames() []string {
	names := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		names[i] = t.Name
	}
	return names
}

// UserText joins the texts of all messages of role user. It needs Options.Record.
func (r Request) UserText() string {
	var all []wireMessage
	_ = json.Unmarshal(r.Messages, &all) // without a record there are none
	var said content
	for _, m := range all {
		if m.Role == "user" {
			said = append(said, m.Content...)
		}
	}
	return said.text()
}

const (
	summaryText = 4 << 10
	keepSummary = 10000 // summaries kept; the oldest are removed first
	keepProblem = 1000
)

// recorder keeps requests and problems, for tests and for the report at the end.
type recorder struct {
	record bool

	mu       sync.Mutex
	requests []Request
	problems []string
	changed  chan struct{} // closed and replaced at each entry
}

func (l *recorder) enter(c *call, q cue, body []byte) {
	r := Request{
		Time: time.Now(), Session: c.session, Agent: c.agent, Role: q.role, Actor: q.actor, Step: q.step,
		Model: c.Model, Stream: c.Stream, Size: c.size, Cwd: c.cwd, First: c.firstText, Incoming: c.incoming,
		Used: q.reply.usage,
	}
	if l.record {
		r.Tools, r.System, r.Body = c.Tools, c.System.text(), body
		var raw struct {
			Messages json.RawMessage `json:"messages"`
		}
		if json.Unmarshal(body, &raw) == nil {
			r.Messages = raw.Messages
		}
	} else {
		for _, t := range c.Tools {
			r.Tools = append(r.Tools, Tool{Name: t.Name})
		}
		// Cloned, so that a cut string does not hold the whole body.
		r.First, r.Incoming = cut(r.First), cut(r.Incoming)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.record && len(l.requests) >= keepSummary {
		l.requests = slices.Delete(l.requests, 0, keepSummary/10)
	}
	l.requests = append(l.requests, r)
	l.addProblems(q.problems)
	close(l.changed)
	l.changed = make(chan struct{})
}

func cut(s string) string {
	return string([]byte(s[:min(len(s), summaryText)]))
}

func (l *recorder) complain(problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addProblems([]string{problem})
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *recorder) addProblems(ps []string) {
	for _, p := range ps {
		if len(l.problems) == keepProblem {
			return
		}
		l.problems = append(l.problems, p)
	}
}

func (l *recorder) snapshot() (requests []Request, problems []string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests), slices.Clone(l.problems), l.changed
}

// await returns when the condition holds for the requests recorded so far.
func (l *recorder) await(ctx context.Context, met func([]Request) bool) error {
	for {
		requests, _, changed := l.snapshot()
		if met(requests) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
