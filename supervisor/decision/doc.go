// Package decision builds what a decider sees: the inputs of SPEC-0006, from
// the record of a task. It is pure and knows no model: the same record makes the same
// input, byte for byte, and costs what its windows cost, however long the history is.
//
// [Select] and [Evaluate] build the two inputs; their Key names the situation for a cache.
// [History] holds what a task's executions were, bounded; [Cut] shortens texts and keeps
// what reports errors, files and steps; [RecoveryOptions] says what can be done about an
// error. Where SPEC-0006 contradicts itself, the comment at the place says what holds.
//
// No goroutines: all of it are values that are never changed once they are made.
package decision
