package contract

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Who decides a permission, as its By has it; Human is one of them.
const (
	ByRule      = policy.ByRule
	ByMode      = policy.ByMode
	ByRole      = "role"    // the Arbiter reads and rules
	ByAgent     = "agent"   // the mode's own list of tools
	ByNobody    = "nobody"  // there is no human to ask
	ByTimeout   = "timeout" // nor did one answer
	ByWithdrawn = "withdrawn"
	ByShutdown  = "shutdown" // the caller is being ended, or is not known any more
	ByHalt      = "halted"
	ByLimit     = "limit"   // of subagents, or of what may be spent
	ByJournal   = "journal" // what is decided could not be recorded
)

// deciders are all of them, in words.
var deciders = [][2]string{
	{ByRule, "by a rule"},
	{Human, "by the human"},
	{ByMode, "by the permission mode"},
	{ByRole, "because of its role"},
	{ByAgent, "because its mode has no such tool"},
	{ByNobody, "because no human is present"},
	{ByTimeout, "because nobody answered in time"},
	{ByWithdrawn, "because it is not asked any more"},
	{ByShutdown, "because the run is ending"},
	{ByHalt, "because everything is halted"},
	{ByLimit, "because a limit is reached"},
	{ByJournal, "because it cannot be recorded"},
}

// DecidedBy says in words who decided a permission, or why it was decided; nothing where
// this version does not know.
func DecidedBy(by string) string {
	for _, d := range deciders {
		if d[0] == by {
			return d[1]
		}
	}
	return ""
}

func deciderNames() string {
	names := make([]string, len(deciders))
	for i, d := range deciders {
		names[i] = d[0]
	}
	return strings.Join(names, ", ")
}
