// Package decision builds what whoever decides is shown: the inputs of SPEC-0006, from
// the record of a task. It is pure and knows no model: the same record makes the same
// input, byte for byte, and costs what its windows cost, however long the history is.
package decision
