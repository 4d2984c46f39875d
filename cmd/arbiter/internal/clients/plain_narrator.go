package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// narrator decides what is printed for an event, and remembers what was printed, so that nothing is
// repeated. It belongs to the frontend's loop.
type narrator struct {
	name    func(string) string
	verbose bool

	open     []request      // permission requests that wait, oldest first
	numbers  map[string]int // numbers of waiting items, by id
	question string         // the waiting question
	plan     []contract.Step
	used     map[string]*use      // tools since the last report on them, by agent
	retried  map[string]time.Time // when a problem with the API was last reported, by agent
	reminded string               // ids of the items in the last reminder
	remindAt time.Time            // when
}

// request is a permission request that waits for a human.
type request struct {
	number int
	item   supervisor.InboxItem
}

// use is what an agent has done with tools.
type use struct {
	count int
	last  string
}

func newNarrator(f *Frontend) *narrator {
	return &narrator{name: f.Name, verbose: f.Verbose, used: map[string]*use{}, retried: map[string]time.Time{},
		numbers: map[string]int{}}
}

// describe returns the text for an event; empty if it is not worth one. urgent reports that a person waits for
// it.
func (v *narrator) describe(at time.Time, e contract.Event) (text string, urgent bool) {
	text, ok := eventtext.Text(history.Entry{At: at, Event: e}, v.name)
	if !ok {
		return "", false
	}
	urgent = contract.Urgent(e.Body)
	switch b := e.Body.(type) {
	case contract.Question:
		if b.Text == v.question {
			return "", false
		}
		v.question = b.Text
		return strings.TrimRight(text, "\n") + "\nType your answer.", urgent
	case contract.PermissionRequest:
		return v.asked(b, text), urgent
	case contract.Permission:
		return v.decided(b, text), urgent
	case contract.ToolUse:
		if v.verbose {
			return text, false
		}
		v.count(e.ID, text)
		return "", false
	case contract.Message:
		if !v.verbose && (b.From == contract.Supervisor || b.From == contract.Human && !b.Edited) {
			return "", false // messages of the program, and what was typed here
		}
		if b.Kind == "brief" && !v.verbose {
			text, _, _ = strings.Cut(text, contract.BriefCompany) // each message repeats this note
		}
		if before, _, inherits := strings.Cut(text, handedOver); inherits && b.Kind == "brief" && !v.verbose {
			text = strings.TrimRight(before, "\n") + "\n\nThe document that was handed on goes with it."
		}
	case contract.Handoff:
		if !v.verbose {
			return eventtext.Sentence(eventtext.Line(e, v.name)), false // its author's message has it already
		}
	case contract.Decision:
		if !v.verbose && (b.Source == "" || b.Source == "session" || b.Source == contract.Human) {
			return "", false // other lines show the effect
		}
	case contract.Plan:
		return v.planned(b, text), false
	case contract.Retry:
		if last, ok := v.retried[e.ID]; ok && at.Sub(last) < progressPause && !v.verbose {
			return "", false
		}
		v.retried[e.ID] = at
	case contract.ToolCall, contract.SubagentStart, contract.SubagentStop, contract.Unknown:
		if !v.verbose {
			return "", false
		}
	}
	return text, urgent
}

// handedOver is the heading under which a brief contains its predecessor's document.
const handedOver = "\n## Handed over by "

// asked announces a permission request with a number, once.
func (v *narrator) asked(b contract.PermissionRequest, text string) string {
	if slices.ContainsFunc(v.open, func(r request) bool { return r.item.ID == b.Request }) {
		return ""
	}
	n, rules := v.numberOf(b.Request), b.Suggestions[:min(len(b.Suggestions), supervisor.OfferedRules)]
	v.open = append(v.open, request{n, supervisor.InboxItem{ID: b.Request, Request: &b}})
	offer := ""
	for i, rule := range rules {
		offer += fmt.Sprintf("\n  %c: %s: %s", 'a'+i, sanitize.Line(rule, 300), sanitize.Line(words.Rules(rule), 300))
	}
	if offer != "" {
		offer = fmt.Sprintf("\nRules that cover it, for %d run %c or %d always %c:%s", n, 'a', n, 'a', offer)
	}
	return fmt.Sprintf("Request %d. %s%s\nAnswer with: %d y, %d run (this very action, for the whole run), %d always "+
		"(in later runs here, too), or %d n REASON.",
		n, strings.TrimRight(text, "\n"), offer, n, n, n, n)
}

// decided reports how an announced request was decided.
func (v *narrator) decided(b contract.Permission, text string) string {
	i := slices.IndexFunc(v.open, func(r request) bool { return r.item.ID == b.Request })
	if i < 0 {
		if v.verbose {
			return text
		}
		return ""
	}
	n := v.open[i].number
	v.open = slices.Delete(v.open, i, i+1)
	return fmt.Sprintf("Request %d: %s", n, text)
}

// answered records that the question no longer waits.
func (v *narrator) answered() { v.question = "" }

// planned prints a plan: all of it at first, and later what has changed.
func (v *narrator) planned(b contract.Plan, text string) string {
	old := v.plan
	v.plan = b.Steps
	same := len(old) == len(b.Steps) && len(old) > 0
	var changes []string
	for i := 0; same && i < len(old); i++ {
		was, is := old[i], b.Steps[i]
		if was.Text != is.Text {
			same = false
		} else if was.Status != is.Status {
			status := is.Status
			if status == contract.StepActive {
				status = "under way"
			}
			changes = append(changes, fmt.Sprintf("Step %d of %d, %s: %s.", i+1, len(old), sanitize.Line(is.Text, 200),
				sanitize.Line(status, 60)))
		}
	}
	if !same {
		return text
	}
	return strings.Join(changes, "\n")
}

// count records a tool's call for the next report on progress.
func (v *narrator) count(agent, text string) {
	u := v.used[agent]
	if u == nil {
		u = &use{}
		v.used[agent] = u
	}
	u.count++
	if _, last, ok := strings.Cut(text, " uses "); ok {
		u.last = last
	}
}

// progress reports what was done since its last call, one line per agent.
func (v *narrator) progress() string {
	var lines []string
	for _, agent := range slices.Sorted(maps.Keys(v.used)) {
		u := v.used[agent]
		name := v.called(agent)
		tools := fmt.Sprintf("%d tools", u.count)
		if u.count == 1 {
			tools = "one tool"
		}
		lines = append(lines, fmt.Sprintf("%s is at work: %s since the last word; the last was %s.", name, tools,
			strings.TrimRight(sanitize.Line(u.last, 120), ".")))
	}
	clear(v.used)
	return strings.Join(lines, "\n")
}
