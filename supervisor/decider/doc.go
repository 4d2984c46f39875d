// Package decider implements the deciders for the two decision points of the task machine:
// which agent works next, and what follows from a result. Each implements [Decider], and they
// wrap each other. [Build] chains them by name:
//
//	session    Session: the Arbiter rules in its own conversation
//	stateless  Fallback ( Cached ( Model ))
//	hybrid     Fallback ( Hybrid ( Rules, Cached ( Model )))
//	rules      Rules
//
// [Rules] is deterministic and pure. [Model] sends the input, and nothing else, through an [Asker]; it asks
// again about unusable answers and after transient errors. [Cached] keeps first answers in a [Store].
// [Fallback] lets the rules decide when that fails, and marks the decision.
//
// # What the designs leave open
//
// ADR-0005's prompt has no way to select an agent in an evaluation, but its type has one: here it is allowed.
// Its COMPLETE has a summary and no reason in the type, both in the prompt: here either replaces the other. It
// takes everything from the first brace to the last as the answer: here it is the last complete object with a
// decision. Its fallback plans before it checks for an error: here a failed planner is an error, too, otherwise
// no limit of failures would ever count. That fallback has no end and no evaluation: here the rules lead a task
// to its end in the order of its «Fixed Workflows». Its cache has no bounds, and keeps COMPLETE: here each end
// is decided anew.
//
// # Concurrency and errors
//
// The package starts no goroutines; deciders and stores are safe for concurrent use. Calls return when the
// context ends, provided that the Asker does; the Asker owns the processes. Only [DirStore] uses files. With an
// error, Model also returns a Decision that contains the question and its cost.
package decider
