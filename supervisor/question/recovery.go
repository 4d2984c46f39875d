package question

import (
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Recovery is what the human can choose about the last error, until an option is chosen or the error is solved.
type Recovery struct {
	Options []string // as the command `choose` takes them
	Agent   string   // whose error it was
	Text    string   `json:",omitempty"` // its message, shortened
}

// Fail emits an error about an agent or the supervisor, with the recovery options.
func (r *Recovery) Fail(c *effect.Collector, id string, category bridge.Category, message string, options []string) {
	*r = Recovery{Options: options, Agent: id, Text: words.Head(strings.TrimSpace(message), 500)}
	c.Emit(id, contract.Error{Category: category, Message: message, RecoveryOptions: options})
}

// Overcome withdraws the choices about the failure of an Orchestrator: the dialogue continues without them.
func (r *Recovery) Overcome(agents *roster.Roster, id string) {
	if agents.IsOrchestrator(id) && r.Agent == id {
		*r = Recovery{}
	}
}

// Choices are the recovery options for a failed execution, as the command `choose` takes them.
func Choices(f *decision.Failure) []string {
	var options []string
	for _, o := range decision.RecoveryOptions(*f) {
		options = append(options, string(o.Action))
	}
	return options
}
