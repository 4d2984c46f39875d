package eventview

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// prose says an event in one sentence.
func prose(e contract.Event, name func(string) string) string {
	who := called(name, e.ID)
	switch b := e.Body.(type) {
	case nil:
		return ""
	case contract.Session:
		if b.ClaudeVersion == "" { // none was found
			return opening(b) + after(" In ", one(b.CWD, maxToolSummary))
		}
		return opening(b) + after(" Claude Code ", one(b.ClaudeVersion, maxName)) + after(", in ", one(b.CWD, maxToolSummary))
	case contract.State:
		return "from " + one(b.From, maxName) + " to " + one(b.To, maxName) + after(", by ", one(b.Trigger, maxName))
	case contract.Spawn:
		return strings.ReplaceAll(summoned(e, b, name), " – ", " as ")
	case contract.Message:
		return address(name, b) + ": " + one(b.Text, maxWords)
	case contract.Delivered:
		return "message " + one(b.MessageID, maxName) + " was taken up"
	case contract.Assistant:
		return one(b.Text, maxWords)
	case contract.Delta:
		return one(b.Text, maxWords)
	case contract.ToolUse:
		return ToolName(b.Tool) + after(": ", gist(b.Tool, b.Input))
	case contract.ToolResult:
		if b.IsError {
			return exit(b.Text) + after(": ", one(b.Text, maxWords))
		}
		return firstOf(one(b.Text, maxWords), "an empty result")
	case contract.ToolCall:
		return ToolName(b.Tool) + after(": ", gist(b.Tool, b.Input))
	case contract.SubagentStart:
		return "subagent: " + one(b.Description, maxToolSummary) + after(", as ", one(b.Type, maxName))
	case contract.SubagentStop:
		text, _ := ended(b)
		return "subagent: " + one(b.Description, maxToolSummary) + ": " + text
	case contract.SubagentProgress:
		return "subagent: " + one(b.Description, maxToolSummary) + ": " + progress(b)
	case contract.Turn:
		return turn(b)
	case contract.Cost:
		return "cost of this turn so far: " + dollars(b.CostUSD) + ", of the run: " + dollars(b.RunCostUSD)
	case contract.Context:
		return "context: " + words.Tokens(b.Tokens) + " of " + words.Tokens(b.Window) + ", " + percent(b.Pct)
	case contract.ContextWarning:
		return "Context thins. " + who + ": " + percent(b.Pct) + after(", ", one(b.Level, maxName))
	case contract.Compact:
		return compacted(b, who)
	case contract.Check:
		return lower(checkNumber(b)) + ", " + outcome(b.Receipt) + ": " + one(b.Receipt.Command, maxToolSummary)
	case contract.Handoff:
		return called(name, b.From) + " hands off to " + amid(called(name, b.To)) + after(": ", holdings(b))
	case contract.Decision:
		text := decisionText(name, b) + after(" (", closed(authority(b.Source))) + after(" ", one(b.Reason, maxWords)) + after(" Warning: ", strings.Join(warnings(b), " "))
		if b.Number > 0 {
			text = decisionNumber(b) + ": " + text
		}
		return text
	case contract.Plan:
		return plannedText(b)
	case contract.PermissionRequest:
		return who + " asks leave to use " + ToolName(b.Tool) + after(": ", gist(b.Tool, b.Input))
	case contract.Permission:
		return answered(b) + after(": ", ToolName(b.Tool))
	case contract.Question:
		return who + " asks: " + one(b.Text, maxWords)
	case contract.Accepted:
		return "accepted: " + one(b.Message, maxWords)
	case contract.Rejected:
		return "refused: " + one(b.Message, maxWords)
	case contract.Takeover:
		return takeover(b, who)
	case contract.Withdrawn:
		return "a word was taken back before it was sent"
	case contract.Halted:
		return halted(b)
	case contract.Retry:
		return "Patience. The API is asked again" + after(" after ", millis(b.DelayMS)) + ", attempt " + strconv.Itoa(b.Attempt) + after(": ", one(b.Reason, maxWords))
	case contract.Restart:
		return who + " is started again" + after(" after ", millis(b.DelayMS)) + ", attempt " + strconv.Itoa(b.Attempt) + after(": ", one(b.Reason, maxWords))
	case contract.Error:
		return category(string(b.Category)) + ": " + one(b.Message, maxWords) + after(" Choose: ", choices(b.RecoveryOptions))
	case contract.Notice:
		return one(b.Text, maxWords)
	case contract.Done:
		return who + " has gone" + after(": ", parting(name, b.Reason))
	case contract.Result:
		return ending(b.Status) + after(" ", one(b.Summary, maxWords))
	case contract.Unknown:
		return one(b.Name, maxName) + after(": ", one(b.Problem, maxToolSummary)) + " " + brief(orObject(b.Raw), maxToolSummary)
	}
	raw, _ := json.Marshal(e.Body)
	return one(e.Body.EventName(), maxName) + " " + brief(orObject(raw), maxToolSummary)
}

// parting is why an agent was let go; who takes its place has a name.
func parting(name func(string) string, reason string) string {
	if heir, ok := strings.CutPrefix(reason, "succeeded by "); ok {
		return "succeeded by " + amid(called(name, heir))
	}
	return category(reason)
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func closed(text string) string {
	if text == "" {
		return ""
	}
	return text + ")"
}

// amid is a name in the middle of a sentence.
func amid(name string) string {
	if name == "You" || strings.HasPrefix(name, "The ") {
		return lower(name)
	}
	return name
}

// address says who speaks to whom.
func address(name func(string) string, m contract.Message) string {
	text := called(name, m.From) + " to " + amid(called(name, m.To))
	if m.Kind != "" && m.Kind != "message" {
		text += ", " + one(m.Kind, maxName)
	}
	if m.Edited {
		text += ", edited"
	}
	return text
}

func compacted(b contract.Compact, who string) string {
	text := "The context of " + amid(who) + " was compacted"
	if b.Blocked {
		text = "A compaction of " + amid(who) + " was prevented"
	}
	if b.PreTokens > 0 {
		text += ": " + words.Tokens(b.PreTokens) + " tokens"
		if b.PostTokens > 0 {
			text += ", then " + words.Tokens(b.PostTokens)
		}
	}
	return text + after(" (", closed(one(b.Trigger, maxName)))
}

// holdings counts what a hand-off document holds.
func holdings(h contract.Handoff) string {
	d := h.Document
	if d == nil {
		return ""
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, words.Number(n)+" "+what)
		}
	}
	checks := func(n int, what string) {
		if n > 0 {
			parts = append(parts, words.Count(n, "check")+" "+what)
		}
	}
	passed, failed, open := d.Tally(h.Receipts)
	add(len(d.Accomplished), "accomplished")
	add(len(d.Remaining), "remaining")
	add(len(d.Decisions), "decided")
	add(len(d.OpenQuestions), "open")
	checks(passed, "passed")
	checks(failed, "failed")
	checks(open, "unproven")
	if h.DrawnUp != "" {
		parts = append(parts, "drawn up by the supervisor")
	}
	return strings.Join(parts, ", ")
}

func plannedText(p contract.Plan) string {
	done, now := 0, ""
	for _, s := range p.Steps {
		switch {
		case s.Status == contract.StepDone:
			done++
		case s.Status == contract.StepActive && now == "":
			now = one(s.Text, maxToolSummary)
		}
	}
	return "the plan: " + strconv.Itoa(done) + " of " + words.Count(len(p.Steps), "step") + " done" + after("; now: ", now)
}

func choices(options []string) string {
	var list []string
	for _, option := range options {
		if text := one(option, 200); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// proven says in words what is known of a document: its own sections, with what came
// of the checks.
func proven(d *verdict.Document, receipts []verdict.Receipt) string {
	return strings.TrimRight(d.Proven(receipts), "\n")
}
