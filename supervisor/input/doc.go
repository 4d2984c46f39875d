// Package input defines the inputs from which a run's state is computed, their codec, and the effects that follow.
//
// An [Input] is something that happened outside of the core, with its time. It contains all that the core needs
// and cannot compute: the time, a policy's decision, a process's answer. The journal keeps inputs, so that a
// run can be continued from them; [EncodeInput] and [DecodeInput] are their format.
package input
