// Package machine is the task machine of a run as data: its states, its triggers, and one table of transitions,
// each with states, trigger, guards, target and actions. Only [Next] makes decisions from it; the graph, the
// documentation and the tests are generated from the same table.
//
// Guards read a [Situation], which the supervisor fills in; actions are names of what the supervisor does. The
// package is pure: no state, no goroutine, no imports from this module.
package machine
