// Package decider holds those who decide at the two points of the task machine: which
// agent works next, and what follows from what was done. Each is a [Decider]; they wrap
// each other, as [Build] chains them by name:
//
//	session    Session: the Arbiter rules in its own conversation
//	stateless  Fallback ( Cached ( Model ))
//	hybrid     Fallback ( Hybrid ( Rules, Cached ( Model )))
//	rules      Rules
//
// [Rules] are deterministic and pure. [Model] asks through an [Asker] with nothing but the
// input, corrects answers that cannot be used and waits out trouble that passes. [Cached]
// keeps first answers in a [Store]. [Fallback] has the rules decide where all that failed,
// and says so.
//
// # What the seeds leave open
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
// No goroutines are started; deciders and stores are safe for concurrent use. They end
// when the context does, as far as the Asker does, whose the processes are. [DirStore]
// is the only one to touch files. With an error of a Model's comes a Decision that holds
// no decision but what was asked and what it has cost.
package decider
