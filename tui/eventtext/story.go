package eventtext

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// Story writes the account of a run that a person reads afterwards: who said, did, asked and proved what,
// each with its time. Internal events are omitted, and an agent's calls form one paragraph for each stretch
// of work. The zero value is ready to use. It is not safe for concurrent use.
type Story struct {
	Name func(id string) string // how a party is called; nil: [Name]

	day     string
	dir     string              // working directory of the run
	calls   map[string][]string // not reported yet, by agent
	plan    []contract.Step
	retried map[string]bool           // agents that wait for the API, which was reported
	agents  map[string]contract.Spawn // hosts and makes of agents
}

const (
	maxStoryCalls = 6  // at most reported of one stretch of work
	storyIndent   = 10 // columns, below the time
	maxNamed      = 6  // at most named in a summary
)

func (s *Story) name(id string) string {
	return Whole(Called(s.Name, id), s.agents[id].Host, s.agents[id].Make)
}

// Text returns what an event adds to the story: whole lines, or nothing.
func (s *Story) Text(at time.Time, e contract.Event) string {
	if b, ok := e.Body.(contract.Spawn); ok {
		if s.agents == nil {
			s.agents = map[string]contract.Spawn{}
		}
		s.agents[e.ID] = contract.Spawn{Host: b.Host, Make: b.Make}
	}
	text := s.words(at, e)
	if text = strings.Trim(text, "\n"); text == "" {
		return ""
	}
	var b strings.Builder
	if day := at.Format("2 January 2006"); day != s.day {
		s.day = day
		b.WriteString("— " + day + " —\n")
	}
	stamp, gap := at.Format("15:04:05")+"  ", strings.Repeat(" ", storyIndent)
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(stamp+line, " ") + "\n")
		stamp = gap
	}
	return b.String()
}

// words returns the text of an event, preceded by what its agent has done.
func (s *Story) words(at time.Time, e contract.Event) string {
	switch b := e.Body.(type) {
	case contract.ToolUse:
		if b.Subagent == "" && !strings.HasPrefix(b.Tool, "mcp__arbiter__") { // their events are in the story
			if s.calls == nil {
				s.calls = map[string][]string{}
			}
			s.calls[e.ID] = append(s.calls[e.ID], s.call(b.Tool, b.Input))
		}
		return ""
	case contract.PermissionRequest: // says the call itself, which may be denied
		if calls := s.calls[e.ID]; len(calls) > 0 && calls[len(calls)-1] == s.call(b.Tool, b.Input) {
			s.calls[e.ID] = calls[:len(calls)-1]
		}
	case contract.Session:
		s.dir = strings.TrimRight(b.CWD, "/")
	case contract.Retry:
		if s.retried[e.ID] {
			return ""
		}
		if s.retried == nil {
			s.retried = map[string]bool{}
		}
		s.retried[e.ID] = true
	case contract.Turn:
		delete(s.retried, e.ID)
		return s.done(e.ID)
	}
	text := s.own(at, e)
	if text == "" {
		return ""
	}
	return s.done(e.ID) + strings.Trim(text, "\n")
}

// own returns the text of the event alone; empty if the event is internal.
func (s *Story) own(at time.Time, e contract.Event) string {
	line := words.Sentence(capital(Line(e, s.name)))
	switch b := e.Body.(type) {
	case contract.State, contract.Delivered, contract.ToolCall, contract.ToolResult, contract.SubagentStart,
		contract.SubagentStop, contract.Workspace, contract.Accepted, contract.Cost, contract.Context:
		return ""
	case contract.Assistant:
		if b.Subagent != "" {
			return ""
		}
	case contract.Message:
		if b.From == contract.Supervisor && b.Kind != "correction" {
			return ""
		}
		b.Text, _, _ = strings.Cut(b.Text, contract.BriefCompany) // each message repeats this note
		if b.Kind == "handoff" || b.Kind == "done" {
			b.Text, _, _ = strings.Cut(b.Text, "\n\n## ") // its document has an event of its own
		}
		e.Body = b
	case contract.Decision:
		if b.Source == "" || b.Source == "session" {
			return After("The Arbiter decides: ", Decision(s.name, b)) + After(" Why: ", words.Sentence(One(b.Reason, 0)))
		}
	case contract.Permission:
		if b.By == "rule" || b.By == "mode" {
			return ""
		}
	case contract.Check:
		return checked(b)
	case contract.Handoff:
		return line + proofs(b)
	case contract.Plan:
		return s.planned(b, line)
	}
	text, _ := Text(history.Entry{At: at, Event: e}, s.name)
	return text
}

// call is a call in words, with paths relative to the run's directory.
func (s *Story) call(tool string, input json.RawMessage) string {
	return One(Within(s.dir, CallText(tool, input)), 160)
}

func (s *Story) done(agent string) string {
	calls := s.calls[agent]
	delete(s.calls, agent)
	switch len(calls) {
	case 0:
		return ""
	case 1:
		return Called(s.name, agent) + " used " + calls[0] + "\n"
	}
	text := Called(s.name, agent) + " used\n"
	for _, call := range calls[:min(len(calls), maxStoryCalls)] {
		text += "  - " + call + "\n"
	}
	if more := len(calls) - maxStoryCalls; more > 0 {
		text += "  - and " + words.Count(more, "more call") + "\n"
	}
	return text
}

// planned reports all of a new plan, and otherwise what has changed.
func (s *Story) planned(p contract.Plan, line string) string {
	changed, same := PlanChanges(s.plan, p.Steps)
	if s.plan = p.Steps; same {
		return changed
	}
	for i, step := range p.Steps {
		line += fmt.Sprintf("\n  %d. %s", i+1, One(step.Text, MaxSummary))
	}
	return line
}

func checked(b contract.Check) string {
	text := CheckNumber(b) + ", " + FirstOf(One(b.Receipt.Result, MaxName), verdict.CheckUnrun)
	if b.Receipt.Result == verdict.CheckFailed && b.Receipt.Exit > 0 {
		text += " with exit code " + words.Number(b.Receipt.Exit)
	}
	text += After(", ", One(b.Receipt.Before, MaxName))
	return text + ": " + One(b.Receipt.Command, MaxSummary)
}

// proofs lists the claims of a document, each with what is known about it.
func proofs(h contract.Handoff) (text string) {
	if h.Document == nil {
		return ""
	}
	for i, c := range h.Document.Claims {
		proof := map[string]string{verdict.Verified: "proved", verdict.Refuted: "refuted"}[Proof(h, i)]
		text += "\n  - " + FirstOf(proof, "unproven") + ": " + One(c.Claim, MaxSummary)
	}
	return text
}

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
	charges               contract.Charges
	waits                 map[string]time.Time // since when what waits does, by its id
	result                *contract.Result
	happened, isRehearsal bool
	costUnknown           bool
}

// Take adds an event.
func (s *Since) Take(at time.Time, e contract.Event) {
	human := byHuman(e.Body)
	if s.from.IsZero() || human {
		*s = Since{from: at, waits: s.waits, charges: s.charges, isRehearsal: s.isRehearsal, changed: map[string]bool{}}
	}
	for _, c := range s.charges.Take(e) {
		s.cost += c.CostUSD
		s.costUnknown = s.costUnknown || c.Turn != nil && c.Turn.Unknown
	}
	if s.waits == nil {
		s.waits = map[string]time.Time{}
	}
	switch b := e.Body.(type) {
	case contract.Message:
		if b.To != contract.Human {
			return
		}
		s.messages++
	case contract.Session:
		s.isRehearsal, s.result = b.Rehearsal, nil
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
		for _, f := range b.Files {
			s.changed[f.Path] = true
		}
	case contract.Turn:
	case contract.Error:
		s.trouble = append(s.trouble, b.Message)
	case contract.Restart:
		s.trouble = append(s.trouble, b.Reason)
	case contract.PermissionRequest:
		s.waits[b.Request] = at
	case contract.Permission:
		delete(s.waits, b.Request)
	case contract.Question:
		s.waits[b.Question] = at
	case contract.Settled:
		delete(s.waits, b.Item)
		return
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
		return strings.Join(words.Few(list, maxNamed), ", ")
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
	add("handed off", strings.Join(words.Few(pairs, maxNamed), ", "))
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
	if waits := slices.Collect(maps.Values(s.waits)); len(waits) > 0 && s.result == nil {
		oldest := slices.MinFunc(waits, time.Time.Compare)
		add("waits for you", words.Count(len(waits), "request")+", the oldest for "+Span(now.Sub(oldest)))
	}
	add("cost", Total(s.cost, s.isRehearsal, s.costUnknown))
	if s.result != nil {
		parts = append(parts, Ending(s.result.Status))
	}
	return fmt.Sprintf("Since you last did something here, %s ago (%s): ", Span(now.Sub(s.from)),
		s.from.Local().Format("2 Jan 15:04")) + strings.Join(parts, " · ")
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
