package eventtext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Name returns the default name of a party.
func Name(id string) string {
	switch id {
	case contract.Arbiter:
		return "The Arbiter"
	case contract.Human:
		return "You"
	case contract.Supervisor:
		return "The supervisor"
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "orch-")); err == nil && n > 0 && n < 4000 &&
		strings.HasPrefix(id, "orch-") {
		return "Orchestrator " + contract.Roman(n)
	}
	return One(id, MaxName)
}

func Called(name func(string) string, id string) string {
	if name == nil {
		return Name(id)
	}
	if n := One(name(id), MaxName); n != "" {
		return n
	}
	return Name(id)
}

// One returns a text on one line.
func One(s string, max int) string { return strings.TrimSpace(sanitize.Line(s, max)) }

// Decision phrases a decision in the oracle's voice.
func Decision(name func(string) string, d contract.Decision) string {
	to := Called(name, d.To)
	switch d.Decision {
	case verdict.Complete:
		return "Let it be done." // it takes effect when nothing speaks against it
	case verdict.SelectMode:
		return "Another is summoned" + After(" – ", One(d.Mode, MaxName)) + "."
	case verdict.Continue:
		if d.To != "" {
			return "The thread continues with " + to + "."
		}
		return "The thread continues."
	case verdict.Retry:
		if d.To != "" {
			return "Let it be tried again by " + to + "."
		}
		return "Let it be tried again."
	case verdict.AddressHuman:
		return "A word for you."
	case verdict.AddressOrchestrator:
		if d.To != "" {
			return "A word for " + to + "."
		}
		return "A word is sent."
	case verdict.Handoff:
		return "Another shall hold the vision."
	}
	return One(d.Decision, MaxName)
}

// Authority names who decided, if it was not the Arbiter's own session.
func Authority(source string) string {
	switch source {
	case "", "session":
		return ""
	case "rules":
		return "by the rules"
	case "fallback":
		return "by the rules, for want of a valid verdict"
	case "human":
		return "by the human"
	case "model":
		return "by a model asked once"
	case "cache":
		return "as it was ruled before"
	}
	return "by " + One(source, MaxName)
}

// Ending phrases a result's status in the oracle's voice, and plainly.
func Ending(status string) string {
	switch status {
	case contract.StatusComplete:
		return "It is done."
	case contract.StatusIncomplete:
		return "It is done, but a check fails."
	case contract.StatusFailed:
		return "It has failed."
	case contract.StatusCancelled:
		return "It is ended before its time."
	case contract.StatusNeedsInput:
		return "It waits for a human's word."
	case contract.StatusLimit:
		return "The limit is reached."
	case contract.StatusInterrupted:
		return "The run was interrupted."
	}
	return "It has ended: " + One(status, MaxName) + "."
}

// decider names who decided a permission.
func decider(p contract.Permission) string {
	text := contract.DecidedBy(p.By)
	switch p.By {
	case contract.Human:
		switch p.Scope {
		case contract.ScopeRun:
			text += ", for this run"
		case contract.ScopeAlways:
			text += ", always here"
		}
		return text + After(", as ", One(p.Rule, 200))
	case contract.ByRule:
		if r := One(p.Rule, 200); r != "" {
			return "by the rule " + r
		}
	}
	return FirstOf(text, "by "+One(p.By, MaxName))
}

// Answered describes how a permission was decided.
func Answered(p contract.Permission) string {
	word := "Denied"
	if p.Behavior == "allow" {
		word = "Allowed"
	}
	return word + " " + decider(p)
}

func After(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

func Percent(pct float64) string {
	if math.IsNaN(pct) || math.IsInf(pct, 0) {
		return "? %"
	}
	return strconv.FormatFloat(math.Round(pct), 'f', 0, 64) + " %"
}

func Dollars(usd float64) string {
	if math.IsNaN(usd) || math.IsInf(usd, 0) {
		return "$?"
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Simulated marks an amount of money that a rehearsal made up.
func Simulated(rehearsal bool) string {
	if rehearsal {
		return " simulated"
	}
	return ""
}

// Span returns a duration as text.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func millis(ms int64) string {
	if ms > math.MaxInt64/int64(time.Millisecond) || ms < 0 {
		return ""
	}
	return Span(time.Duration(ms) * time.Millisecond)
}

// DecisionNumber returns the number by which a decision can be requested.
func DecisionNumber(d contract.Decision) string { return "no. " + words.Number(d.Number) }

// Warnings returns what went wrong before a decision, one sentence each.
func Warnings(d contract.Decision) []string {
	var list []string
	for _, w := range d.Warnings {
		if text := One(w, MaxWords); text != "" {
			list = append(list, Sentence(capital(text)))
		}
	}
	return list
}

// AgentSpawned announces an agent.
func AgentSpawned(e contract.Event, s contract.Spawn, name func(string) string) string {
	who := One(s.Name, MaxName)
	if who == "" {
		who = Called(name, e.ID)
	}
	who = OnHost(who, s.Host)
	switch {
	case s.Resumed:
		return who + " takes up its thread again" + After(" – ", One(s.Mode, MaxName))
	case e.ID == contract.Arbiter:
		return Name(contract.Arbiter) + " wakes."
	}
	text := who + " is summoned" + After(" – ", One(s.Mode, MaxName))
	if s.SuccessorOf != "" {
		text += ", successor of " + Called(name, s.SuccessorOf)
	}
	return text
}

// OnHost adds the agent's host to its name; an empty host is the one of arbiter, which is not named.
func OnHost(name, host string) string {
	mark := " @" + One(host, MaxName)
	if host == "" || strings.HasSuffix(name, mark) {
		return name
	}
	return name + mark
}

// hostText describes the state of a host.
func hostText(h contract.Host) string {
	text := "Host " + One(h.Name, MaxName)
	switch h.Status {
	case contract.HostUp:
		text += " is up"
	case contract.HostLost:
		text += " is lost; its agents wait"
	case contract.HostWaiting:
		text += " is waited for"
	default:
		text += " is " + One(h.Status, MaxName)
	}
	return text + After(": ", One(h.Reason, MaxSummary))
}

// contextLow says that the context of an agent is nearly full.
func contextLow(who string, b contract.ContextWarning) string {
	return "Context thins. " + who + ": " + Percent(b.Pct)
}

const (
	MaxName  = 60  // runes of a name, a tool, a mode: shown in a line with others
	MaxWords = 600 // runes of a text on one line
)
