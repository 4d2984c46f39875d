// Package input defines the inputs from which a run's state is computed, and their codec.
//
// An [Input] is something that happened outside of the core, with its time. It carries all that the core needs and
// cannot compute: the time, what a policy decided, what a process answered. The journal keeps inputs, so that a run
// can be continued from them; [EncodeInput] and [DecodeInput] are their format.
package input
