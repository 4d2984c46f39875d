package contract

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Who decided a permission, as Permission.By says; Human is another value.
const (
	ByRule      = policy.ByRule
	ByMode      = policy.ByMode
	ByRole      = "role"    // the Arbiter may only read
	ByAgent     = "agent"   // the mode's own list of tools
	ByNobody    = "nobody"  // there is no human to ask
	ByTimeout   = "timeout" // no human answered in time
	ByWithdrawn = "withdrawn"
	ByShutdown  = "shutdown" // the caller is being ended, or is no longer known
	ByHalt      = "halted"
	ByLimit     = "limit"   // of subagents or of costs
	ByExam      = "exam"    // a successor, before the Arbiter has answered it
	ByContext   = "context" // the caller's context is full
	ByJournal   = "journal" // the decision could not be recorded
)

// deciders has all of these values, in words.
var deciders = [][2]string{
	{ByRule, "by a rule"},
	{Human, "by the human"},
	{ByMode, "by the permission mode"},
	{ByRole, "because of its role"},
	{ByAgent, "because its mode has no such tool"},
	{ByNobody, "because no human is present"},
	{ByTimeout, "because nobody answered in time"},
	{ByWithdrawn, "because the request was withdrawn"},
	{ByShutdown, "because the run is ending"},
	{ByHalt, "because everything is halted"},
	{ByLimit, "because a limit is reached"},
	{ByExam, "because the Arbiter has not answered it yet"},
	{ByContext, "because its context is full"},
	{ByJournal, "because the decision cannot be recorded"},
}

// DecidedBy says in words who decided a permission, or why it was decided. It is empty if
// this version does not know the value.
func DecidedBy(by string) string {
	for _, d := range deciders {
		if d[0] == by {
			return d[1]
		}
	}
	return ""
}

// Answered says in words how a permission was decided.
func (p Permission) Answered() string {
	text := "Denied "
	if p.Behavior == "allow" {
		text = "Allowed "
	}
	switch {
	case p.By == ByRule && p.Rule != "":
		return text + "by the rule " + p.Rule
	case DecidedBy(p.By) == "":
		return text + "by " + p.By
	}
	text += DecidedBy(p.By)
	if p.By != Human {
		return text
	}
	switch p.Scope {
	case ScopeRun:
		text += ", for this run"
	case ScopeAlways:
		text += ", always here"
	}
	if p.Rule != "" {
		text += ", as " + p.Rule
	}
	return text
}

func deciderNames() string {
	names := make([]string, len(deciders))
	for i, d := range deciders {
		names[i] = d[0]
	}
	return strings.Join(names, ", ")
}

// Roman returns the number of an Orchestrator: I, II, III …. Numbers that have no Roman numeral are
// written in digits.
func Roman(n int) string {
	if n <= 0 || n > 3999 {
		return fmt.Sprint(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"},
		{50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for n >= d.value {
			b.WriteString(d.text)
			n -= d.value
		}
	}
	return b.String()
}
