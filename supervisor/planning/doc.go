// Package planning keeps the agents of a run at its plan, and records what came of their work.
//
// [Set], [Skip], [Assign] and [Follow] change the plan, announce it, and remind agents of it ([Remind]). [Settle] and
// [Stumbled] record how an execution ended.
//
// The plan and the executions themselves are kept in package task. Package supervisor decides what an execution that
// failed leads to.
//
// Events: plan. Effects: Configure, with what an agent reads after a compaction.
package planning
