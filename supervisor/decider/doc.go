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
// ADR-0005 gives its evaluation no way to select an agent in the prompt, and one in the
// type: here it may. Its COMPLETE has a summary and no reason in the type, both in the
// prompt: either stands for the other. It takes everything from the first brace to the
// last for the answer: here it is the last whole object with a decision. Its fallback
// plans before it looks at an error: here a planner that failed is an error, too, or no
// limit of failures would ever count. That fallback knows no end, and no evaluation: the
// rules lead a task to its end by the order of its «Fixed Workflows». Its cache has no
// bounds, and keeps COMPLETE: an end is looked at each time.
//
// # Concurrency and errors
//
// The package starts no goroutines; deciders and stores are safe for concurrent use. Calls return
// when the context ends, provided that the Asker does; the Asker owns the processes. Only [DirStore]
// uses files. With an error, Model also returns a Decision that holds the question and its cost.
package decider
