// Package planning applies changes of a run's plan, reminds agents of it, and records the results of executions.
//
// [Set], [Skip], [Assign] and [Follow] change the plan, announce it, and remind agents of it ([Remind]). [Settle] and
// [Stumbled] record how an execution ended.
//
// Package task keeps the plan and the executions. Package supervisor decides what follows from a failed execution.
//
// Events: plan. Effects: Configure, with what an agent reads after a compaction.
package planning
