// Package decision builds the input of a decider (SPEC-0006) from the record of a task. It is pure and
// independent of models: the same record gives the same input, byte for byte. The windows bound the cost, not
// the length of the history.
//
// [Select] and [Evaluate] build the two inputs; their Key names the situation for a cache.
// [History] holds a bounded list of a task's executions; [Cut] shortens texts but keeps lines about errors, files
// and steps; [RecoveryOptions] lists the possible responses to an error. Where SPEC-0006 contradicts itself, a
// comment at the place says which statement holds.
//
// All values are immutable, and there are no goroutines.
package decision
