package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// TaskState says where the task stands, and what its executions came to.
type TaskState struct {
	Task          string // what the human wants, as first said
	Phase         machine.State
	Plan          []contract.Step
	AgentTasks    []contract.Tasks  // what agents keep in lists of their own
	Iterations    int               // entries into `executing` by a summon, for this task
	Failures      int               // failed executions in a row
	TotalFailures int               // failed executions of this task
	History       decision.History  // of its executions
	LastError     *decision.Failure // that nobody has got over yet
}
