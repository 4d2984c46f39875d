package eventtext

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// wording is the text of an event.
type wording struct {
	line string        // on one line, without a full stop
	text func() string // in full; nil: the line as a sentence
}

// Line returns the text of an event on one line, as in a log. name returns the name of a party; nil:
// [Name].
func Line(e contract.Event, name func(id string) string) string {
	return word(history.Entry{Event: e}, name).line
}

// Text returns an entry as prose, for plain output and for a file: nothing is folded, nothing depends on a
// column. It is Markdown if the event's own text is. It returns false for events that are too fine-grained.
func Text(e history.Entry, name func(id string) string) (string, bool) {
	if e.Event.Body == nil || contract.Fine(e.Event.Body) {
		return "", false
	}
	if f, ok := e.Event.Body.(contract.Forecast); ok && f.Step > 0 && e.Event.ID == contract.Supervisor {
		return "", false // the forecast of the plan has it
	}
	w := word(e, name)
	if w.text == nil {
		return words.Sentence(w.line), true
	}
	return w.text(), true
}

// word is the table of all events and their texts. The cards of the screen show the parts of an event at
// places of their own, and take their phrases from this package, too.
func word(e history.Entry, name func(string) string) wording {
	who := Called(name, e.Event.ID)
	line := func(text string) wording { return wording{line: text} }
	switch b := e.Event.Body.(type) {
	case nil:
		return line("")
	case contract.Session:
		return sessionWords(b)
	case contract.State:
		return line("from " + phase(b.From) + " to " + phase(b.To) +
			After(", by ", One(b.Trigger, MaxName)))
	case contract.Spawn:
		return line(strings.ReplaceAll(AgentSpawned(e.Event, b, name), " – ", " as "))
	case contract.Message:
		return messageWords(e, b, name)
	case contract.Delivered:
		return line("message " + One(b.MessageID, MaxName) + " was taken up")
	case contract.Assistant:
		return wording{One(b.Text, MaxWords), func() string {
			if b.Subagent != "" {
				return introduce("A subagent of "+amid(who), b.Text)
			}
			return introduce(who, b.Text)
		}}
	case contract.Delta:
		return line(One(b.Text, MaxWords))
	case contract.ToolUse:
		text := CallText(b.Tool, b.Input)
		return wording{text, func() string {
			if b.Subagent != "" {
				return "A subagent of " + amid(who) + " uses " + text
			}
			return who + " uses " + text
		}}
	case contract.ToolCall:
		text := CallText(b.Tool, b.Input)
		return wording{text, func() string { return who + " calls " + text }}
	case contract.ToolResult:
		if b.IsError {
			return wording{Exit(b.Text) + After(": ", One(b.Text, MaxWords)),
				func() string { return introduce("The tool failed", indented(b.Text)) }}
		}
		return wording{FirstOf(One(b.Text, MaxWords), "an empty result"),
			func() string { return introduce("The tool answered", indented(b.Text)) }}
	case contract.SubagentStart:
		text := "subagent: " + One(b.Description, MaxSummary) + After(", as ", One(b.Type, MaxName))
		return wording{text, func() string { return who + ", " + text + "." }}
	case contract.SubagentStop:
		ended, _ := SubagentEnd(b)
		text := "subagent: " + One(b.Description, MaxSummary) + ": " + ended
		return wording{text, func() string { return who + ", " + text + "." }}
	case contract.SubagentProgress:
		return line("subagent: " + One(b.Description, MaxSummary) + ": " + Progress(b))
	case contract.Turn:
		return line(Turn(b))
	case contract.Cost:
		if e.Event.ID == contract.Supervisor {
			return line("cost of an unused decision: " + Dollars(b.CostUSD) + ", of the run: " + Dollars(b.RunCostUSD))
		}
		return line("cost of this turn so far: " + Dollars(b.CostUSD) + ", of the run: " + Dollars(b.RunCostUSD))
	case contract.Context:
		return line("context: " + words.Tokens(b.Tokens) + " of " + words.Tokens(b.Window) + ", " + Percent(b.Pct))
	case contract.ContextWarning:
		return wording{"Context thins. " + who + ": " + Percent(b.Pct) + After(", ", One(b.Level, MaxName)), func() string {
			text := "Context of " + amid(who) + ": " + strings.Replace(Percent(b.Pct), " %", " percent", 1)
			return text + map[bool]string{true: ", critical.", false: ", warning."}[b.Level == "critical"]
		}}
	case contract.Compact:
		return line(compacted(b, who))
	case contract.Check:
		return wording{Lower(CheckNumber(b)) + ", " + Outcome(b.Receipt) + ": " + One(b.Receipt.Command, MaxSummary),
			func() string { return checkText(b, name) }}
	case contract.Handoff:
		return wording{
			Called(name, b.From) + " hands off to " + successorName(b, name) + After(": ", holdings(b)),
			func() string { return handoffText(b, name) },
		}
	case contract.Decision:
		return decisionWords(b, name)
	case contract.Plan:
		_, now := stands(b.Steps)
		return wording{Lower(Planned(b)) + After("; now: ", now), func() string { return planText(b, name) }}
	case contract.Workspace:
		return line(who + " works in " + One(b.Dir, 0) + After(" on branch ", One(b.Branch, MaxName)))
	case contract.Changes:
		return line(who + " changed " + changedText(b, e.Event.ID, name))
	case contract.Overlap:
		return line(overlapText(b, name))
	case contract.Merge:
		return line(mergeText(b, who))
	case contract.Acceptance:
		return line(acceptanceText(b))
	case contract.PermissionRequest:
		return permissionWords(b, who)
	case contract.Permission:
		return wording{Answered(b) + After(": ", ToolName(b.Tool)), func() string {
			return words.Sentence(Answered(b) + After(": ",
				ToolName(b.Tool)+" for "+map[bool]string{true: "a subagent of "}[b.Subagent != ""]+amid(who)))
		}}
	case contract.Question:
		return wording{who + " asks: " + One(b.Text, MaxWords), func() string { return introduce(who+" asks", b.Text) }}
	case contract.Accepted:
		return line("accepted: " + One(b.Message, MaxWords))
	case contract.Rejected:
		return wording{"refused: " + One(b.Message, MaxWords),
			func() string { return words.Sentence("Refused: " + One(b.Message, MaxWords)) }}
	case contract.Takeover:
		text := takeover(b, who)
		return wording{text, func() string { return words.Sentence(text) + After("\n\n", strings.Trim(b.Digest, "\n")) }}
	case contract.Withdrawn:
		return line("a word was taken back before it was sent")
	case contract.Halted:
		return line(halted(b))
	case contract.Retry:
		return line("Patience. The API is asked again" + attempt(b.DelayMS, b.Attempt, b.Reason))
	case contract.Restart:
		if e.Event.ID == contract.Supervisor { // what ended is its bridge, here or on a host
			who = "The bridge"
		}
		return line(who + " is started again" + attempt(b.DelayMS, b.Attempt, b.Reason))
	case contract.Host:
		return line(hostText(b))
	case contract.Error:
		return wording{Category(string(b.Category)) + ": " + One(b.Message, MaxWords) +
			After(" Choose: ", choices(b.RecoveryOptions)), func() string {
			text := introduce("Trouble, "+Category(string(b.Category)), b.Message)
			return text + After("\nChoose one of: ", choices(b.RecoveryOptions))
		}}
	case contract.Notice:
		return wording{One(b.Text, MaxWords), func() string { return introduce("Notice", b.Text) }}
	case contract.Budget:
		return line(budgetText(b, who))
	case contract.Forecast:
		return line(forecastText(b, who))
	case contract.Fuse:
		return line(fuseText(b, who))
	case contract.Quota:
		return line(quotaText(b))
	case contract.Settled:
		return line(One(b.Item, MaxSummary) + " no longer waits for a human")
	case contract.Quiet:
		return line(who + " has been quiet for " + Span(time.Duration(b.Seconds)*time.Second) +
			After(": ", One(b.Doing, MaxSummary)))
	case contract.Done:
		return line(who + " has gone" + After(": ", parting(name, b.Reason)))
	case contract.Result:
		return wording{Ending(b.Status) + After(" ", One(b.Summary, MaxWords)), func() string { return resultText(b) }}
	case contract.Unknown:
		text := One(b.Name, MaxName) + After(": ", One(b.Problem, MaxSummary)) + " " +
			brief(orObject(b.Raw))
		return wording{text, func() string { return "An event this version does not know: " + text }}
	}
	raw, _ := json.Marshal(e.Event.Body)
	return line(One(e.Event.Body.EventName(), MaxName) + " " + brief(orObject(raw)))
}

func budgetText(b contract.Budget, who string) string {
	verb := " has cost "
	switch b.Scope {
	case contract.ScopeAgent:
	case contract.ScopeDay:
		who, verb = "All runs of this day", " have cost "
	default:
		who = "The " + One(b.Scope, MaxName)
	}
	text := who + verb + Dollars(b.SpentUSD) + Simulated(b.Rehearsal) + " of " + Dollars(b.LimitUSD)
	if b.Level == "limit" {
		return text + ", which is the most"
	}
	return text
}

// FuseSpent says how much of a fuse is spent.
func FuseSpent(spent, usd float64, rehearsal bool) string {
	return Dollars(spent) + Simulated(rehearsal) + " of its fuse of " + Dollars(usd) + Simulated(rehearsal)
}

// Price is a forecast on a screen: "≈ $0.40, 6 min"; empty: nothing is known.
func Price(f contract.Forecast) string {
	if f.From == 0 {
		return ""
	}
	return "≈ " + f.Price()
}

func forecastText(b contract.Forecast, who string) string {
	if b.From == 0 {
		return "no forecast: no earlier run here has finished such steps"
	}
	text := "step " + words.Number(b.Step)
	switch {
	case who != Called(nil, contract.Supervisor):
		text = who
	case b.Step == 0:
		text = "the plan"
	}
	text += ": " + Price(b) + ", by " + words.Count(b.From, "earlier run")
	if b.Unknown > 0 {
		text += "; nothing is known about " + words.Count(b.Unknown, "other step")
	}
	return text
}

func fuseText(b contract.Fuse, who string) string {
	switch b.Status {
	case contract.FuseSet:
		return who + " may cost " + Dollars(b.USD) + Simulated(b.Rehearsal)
	case contract.FuseWarn:
		return who + " has spent " + FuseSpent(b.Spent, b.USD, b.Rehearsal) + ", and must hand off"
	case contract.FuseBlown:
		return who + " has spent " + FuseSpent(b.Spent, b.USD, b.Rehearsal) + ", and is parked; the Arbiter is asked"
	}
	return who + " has spent " + FuseSpent(b.Spent, b.USD, b.Rehearsal) + After(", ", One(b.Status, MaxName))
}

func quotaText(b contract.Quota) string {
	text := strings.ReplaceAll(One(b.Window, MaxName), "_", " ") + " window of the plan: " + Percent(b.UsedPct) +
		" used" + After(", resets at ", One(b.ResetsAt, MaxName))
	if b.LeftSeconds > 0 {
		text += ", used up at this rate in " + Span(time.Duration(b.LeftSeconds)*time.Second)
	}
	return text
}

func attempt(delayMS int64, n int, reason string) string {
	return After(" after ", millis(delayMS)) + ", attempt " + strconv.Itoa(n) + After(": ", One(reason, MaxWords))
}

// CallText is a tool's call on one line.
func CallText(tool string, input json.RawMessage) string {
	return ToolName(tool) + After(": ", Summary(tool, input))
}

func sessionWords(b contract.Session) wording {
	text := Opening(b) + After(" Claude Code ", One(b.ClaudeVersion, MaxName)) + After(", in ", One(b.CWD, MaxSummary))
	if b.ClaudeVersion == "" { // none was found
		text = Opening(b) + After(" In ", One(b.CWD, MaxSummary))
	}
	return wording{text, func() string {
		full := text + "."
		for _, line := range append(Safety(b), RiskWarnings(b)...) {
			full += " " + words.Sentence(capital(line))
		}
		return full
	}}
}

func messageWords(e history.Entry, b contract.Message, name func(string) string) wording {
	return wording{address(name, b) + ": " + One(b.Text, MaxWords), func() string {
		if e.Edited != nil {
			b = *e.Edited
		}
		if Withdrawn(e) {
			return introduce(address(name, b)+", taken back", b.Text)
		}
		return introduce(address(name, b), b.Text)
	}}
}

func decisionWords(b contract.Decision, name func(string) string) wording {
	text := Decision(name, b)
	warned := After(" Warning: ", strings.Join(Warnings(b), " "))
	line := text + Parenthesis(Authority(b.Source)) + After(" ", One(b.Reason, MaxWords)) + warned
	if b.Number > 0 {
		line = DecisionNumber(b) + ": " + line
	}
	return wording{line, func() string {
		if by := Authority(b.Source); by != "" {
			text += " Ruled " + by + "."
		}
		text += warned + After(" Reason: ", words.Sentence(strings.TrimSpace(b.Reason)))
		if b.Number > 0 {
			text += " Decision " + words.Number(b.Number) + "."
		}
		return text
	}}
}

func permissionWords(b contract.PermissionRequest, who string) wording {
	return wording{who + " asks to use " + CallText(b.Tool, b.Input), func() string {
		if b.Subagent != "" {
			who = "A subagent of " + amid(who)
		}
		text := introduce(who+" asks to use "+ToolName(b.Tool), indented(inputText(b.Input)))
		if Concealed(b.Input) {
			text += "\n" + Unseen
		}
		text += After("\nWhy it asks: ", strings.TrimSpace(b.Reason)) + After("\nWhere: ", PlaceOf(b.Place))
		return text + After("\n", DeniedAt(b.Deadline))
	}}
}

// PlaceOf describes where a tool call runs: the directory, the host, and whether it is confined.
func PlaceOf(p *contract.CallPlace) string {
	if p == nil {
		return ""
	}
	text := OnHost(One(p.CWD, MaxWords), p.Host)
	if p.Own {
		text += ", a copy of its own"
	}
	if !p.Sandboxed {
		text += ", no sandbox"
	}
	return text
}

// DeniedAt says when a permission request is denied without an answer; empty: it waits.
func DeniedAt(deadline string) string {
	at, err := time.Parse(time.RFC3339, deadline)
	if err != nil {
		return ""
	}
	return "Denied at " + Clock(at, time.Now(), "15:04") + " if nobody answers."
}

// Clock is a time of day, in a layout and the time zone of now, with its date if that is another day.
func Clock(at, now time.Time, layout string) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "2 Jan " + layout
	}
	return at.Format(layout)
}
