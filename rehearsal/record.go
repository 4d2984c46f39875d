package rehearsal

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
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
	Used    transcript.Usage
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

// enter keeps a request.
func (s *Server) enter(c *call, q cue, body []byte) {
	r := Request{
		Time: time.Now(), Session: c.session, Agent: c.agent, Role: q.role, Actor: q.actor, Step: q.step,
		Model: c.Model, Stream: c.Stream, Size: c.size, Cwd: c.cwd, First: c.firstText, Incoming: c.incoming,
		Used: q.reply.usage,
	}
	if s.options.Record {
		r.Tools, r.System, r.Body = c.Tools, c.System.text(), body
		var raw struct{ Messages json.RawMessage }
		_ = json.Unmarshal(body, &raw) // it was read before
		r.Messages = raw.Messages
	} else {
		for _, t := range c.Tools {
			r.Tools = append(r.Tools, Tool{Name: t.Name})
		}
		// Cloned, so that a cut string does not hold the whole body.
		r.First, r.Incoming = strings.Clone(r.First[:min(len(r.First), summaryText)]),
			strings.Clone(r.Incoming[:min(len(r.Incoming), summaryText)])
	}
	s.note(&r, q.problems...)
}

// note records a request, unless it is nil, and problems.
func (s *Server) note(r *Request, problems ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil {
		if !s.options.Record && len(s.requests) >= keepSummary {
			s.requests = slices.Delete(s.requests, 0, keepSummary/10)
		}
		s.requests = append(s.requests, *r)
	}
	s.problems = append(s.problems, problems...)
	s.problems = s.problems[:min(len(s.problems), keepProblem)]
	close(s.changed)
	s.changed = make(chan struct{})
}

// Requests returns the model requests recorded so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Problems returns deviations from the script: expectations that failed, requests for which no step was
// left, conversations that no actor matched, templates that could not be filled, keys that look real.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Await returns nil as soon as met holds for the requests recorded so far, or
// the context's error.
func (s *Server) Await(ctx context.Context, met func([]Request) bool) error {
	for {
		s.mu.Lock()
		requests, changed := slices.Clone(s.requests), s.changed
		s.mu.Unlock()
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
