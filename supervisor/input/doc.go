// Package input has every kind of input that a run's state is made from, and their codec.
//
// An [Input] is something that happened outside of the core, at a time. It carries all that the core needs to
// know about it and cannot compute: the time, what a policy decided, what a process answered. Facts are what the
// journal keeps, so that a run can be continued from them; [EncodeInput] and [DecodeInput] are their format.
package input
