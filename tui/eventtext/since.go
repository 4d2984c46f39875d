package eventtext

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// awayFrom is how long a human does nothing in a run until a summary is worth more than the conversation.
const awayFrom = 10 * time.Minute

// Since sums up what happened in a run after its human last did something there: wrote, answered, gave an order.
// The zero value is ready to use. It is not safe for concurrent use.
type Since struct {
	from                  time.Time // of the last act, or of the first event
	begun, ended          []string  // agents
	handoffs, decisions   []string
	trouble               []string
	changed               map[string]bool // files
	messages              int             // to the human
	passed, failed        int             // checks
	cost                  float64
	requests              map[string]time.Time // for permission, that wait
	asked                 time.Time            // when the last question was asked that was not answered
	result                *contract.Result
	happened, isRehearsal bool
}

// Take adds an event.
func (s *Since) Take(at time.Time, e contract.Event) {
	human := byHuman(e.Body)
	if s.from.IsZero() || human {
		*s = Since{from: at, requests: s.requests, isRehearsal: s.isRehearsal}
	}
	switch b := e.Body.(type) {
	case contract.Message:
		if b.To != contract.Human {
			return
		}
		s.messages++
	case contract.Session:
		s.isRehearsal = b.Rehearsal
		return
	case contract.Spawn:
		if b.Resumed || e.ID == contract.Arbiter {
			return
		}
		s.begun = append(s.begun, e.ID)
	case contract.Done:
		s.ended = append(s.ended, e.ID)
	case contract.Handoff:
		s.handoffs = append(s.handoffs, b.From+" "+b.To)
	case contract.Decision:
		s.decisions = append(s.decisions, b.Decision)
	case contract.Check:
		switch b.Receipt.Result {
		case verdict.CheckPassed:
			s.passed++
		case verdict.CheckFailed:
			s.failed++
		}
	case contract.Changes:
		if s.changed == nil {
			s.changed = map[string]bool{}
		}
		for _, f := range b.Files {
			s.changed[f.Path] = true
		}
	case contract.Turn:
		s.cost += b.CostUSD
	case contract.Error:
		s.trouble = append(s.trouble, b.Message)
	case contract.Restart:
		s.trouble = append(s.trouble, b.Reason)
	case contract.PermissionRequest:
		if s.requests == nil {
			s.requests = map[string]time.Time{}
		}
		s.requests[b.Request] = at
	case contract.Permission:
		delete(s.requests, b.Request)
	case contract.Question:
		s.asked = at
	case contract.Result:
		s.result = &b
	default:
		return
	}
	s.happened = !human
}

// byHuman reports whether an event is an act of the human, or answers one.
func byHuman(b contract.Body) bool {
	switch b := b.(type) {
	case contract.Message:
		return b.From == contract.Human
	case contract.Permission:
		return b.By == contract.Human
	case contract.Halted:
		return b.By == "screen" || b.By == "socket"
	case contract.Takeover, contract.Withdrawn, contract.Accepted:
		return true
	}
	return false
}

// Text returns a summary for one paragraph, or nothing if the human did something a short time ago, or if nothing
// happened.
func (s *Since) Text(now time.Time, name func(id string) string) string {
	if !s.happened || now.Sub(s.from) < awayFrom {
		return ""
	}
	called := func(ids []string) string {
		var list []string
		for _, id := range ids {
			list = append(list, Called(name, id))
		}
		return strings.Join(few(list), ", ")
	}
	var parts []string
	add := func(what, text string) {
		if text != "" {
			parts = append(parts, what+": "+text)
		}
	}
	var agents []string
	if len(s.begun) > 0 {
		agents = append(agents, called(s.begun)+" began")
	}
	if len(s.ended) > 0 {
		agents = append(agents, called(s.ended)+" ended")
	}
	add("agents", strings.Join(agents, "; "))
	if s.messages > 0 {
		add("messages for you", words.Number(s.messages))
	}
	var pairs []string
	for _, h := range s.handoffs {
		from, to, _ := strings.Cut(h, " ")
		pairs = append(pairs, Called(name, from)+" → "+Called(name, to))
	}
	add("handed off", strings.Join(few(pairs), ", "))
	add("decisions", tally(s.decisions))
	if s.passed+s.failed > 0 {
		add("checks", fmt.Sprintf("%d passed, %d failed", s.passed, s.failed))
	}
	if len(s.changed) > 0 {
		add("files changed", words.Number(len(s.changed)))
	}
	if n := len(s.trouble); n > 0 {
		add("trouble", words.Count(n, "time")+", last: "+One(s.trouble[n-1], 200))
	}
	waits := slices.Collect(maps.Values(s.requests))
	if !s.asked.IsZero() {
		waits = append(waits, s.asked)
	}
	if len(waits) > 0 && s.result == nil {
		oldest := slices.MinFunc(waits, time.Time.Compare)
		add("waits for you", words.Count(len(waits), "request")+", the oldest for "+Span(now.Sub(oldest)))
	}
	if s.cost > 0 {
		add("cost", Dollars(s.cost)+Simulated(s.isRehearsal))
	}
	if s.result != nil {
		parts = append(parts, Ending(s.result.Status))
	}
	return fmt.Sprintf("Since you last did something here, %s ago (%s): ", Span(now.Sub(s.from)),
		s.from.Local().Format("2 Jan 15:04")) + strings.Join(parts, " · ")
}

// few shortens a list: its first entries, and how many more there are.
func few(list []string) []string {
	const most = 6
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), words.Number(len(list)-most)+" more")
}

// tally counts equal texts, in the order of their first.
func tally(list []string) string {
	var order []string
	counts := map[string]int{}
	for _, text := range list {
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	for i, text := range order {
		order[i] = fmt.Sprintf("%d × %s", counts[text], One(text, MaxName))
	}
	return strings.Join(order, ", ")
}
