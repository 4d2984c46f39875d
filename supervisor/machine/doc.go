// Package machine is the task machine of a run as data: its states, its triggers, and
// one table of rows – from these states, by this trigger, if these guards hold, to that
// state, doing these things. [Next] is the only reader that decides; the graph, the
// documentation and the tests are made from the same table.
//
// Guards look at a [Situation], which the supervisor fills in; actions are names that the
// supervisor carries out. The package is pure: no state, no goroutine, no imports from this module.
package machine
