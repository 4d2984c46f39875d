package supervisor

import (
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// QuestionRecovery is what the human can choose about the last error, until an option is chosen or the error is solved.
type QuestionRecovery struct {
	Options []string // as the command `choose` takes them
	Agent   string   // whose error it was
	Text    string   `json:",omitempty"` // its message, shortened
}

// Fail emits an error about an agent or the supervisor, with the recovery options.
func (r *QuestionRecovery) Fail(
	c *effect.Collector,
	id string,
	category bridge.Category,
	message string,
	options []string,
) {
	*r = QuestionRecovery{Options: options, Agent: id, Text: words.Head(strings.TrimSpace(message), 500)}
	c.Emit(id, contract.Error{Category: category, Message: message, RecoveryOptions: options})
}

// Overcome withdraws the choices about the failure of an Orchestrator: the dialogue continues without them.
func (r *QuestionRecovery) Overcome(agents *Roster, id string) {
	if agents.IsOrchestrator(id) && r.Agent == id {
		*r = QuestionRecovery{}
	}
}

// QuestionChoices are the recovery options for a failed execution, as the command `choose` takes them.
func QuestionChoices(f *decider.DecisionFailure) []string {
	var options []string
	for _, o := range decider.RecoveryOptions(*f) {
		options = append(options, string(o.Action))
	}
	return options
}
