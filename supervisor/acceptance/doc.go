// Package acceptance holds the criteria that a task must meet before a COMPLETE takes effect, and judges them.
//
// A criterion is a text, and usually a command whose exit code 0 proves it. Humans set criteria with --accept, the
// configuration, the command set_acceptance or /accept; the Arbiter sets them with its tool. The Arbiter may add
// criteria, and change or drop its own. It can neither drop a criterion that a human set nor change its text or
// command: [State.ArbiterSets] refuses the whole call.
//
// # A round
//
// A round judges a COMPLETE on one tree, the Git tree of the final snapshot:
//
//	runs := s.Begin(tree)              // the commands to run, in order; after a crash: s.Pending()
//	s.Finish(run, result)              // for each of them; results of other rounds or trees are ignored
//	outcome, ok := s.Judge()           // ok when nothing is pending
//	events := s.Entries(tree)          // the events, and result.acceptance
//
// Each round runs all commands: it uses no result of an earlier round. A change of the criteria ends the round
// without an outcome ([State.Round] is nil), and the caller begins another.
//
// A command that could not run, was not permitted or exceeded its time limit counts as failed: in doubt, a
// criterion does not pass.
//
// # Rejections
//
// A failed criterion rejects the COMPLETE, a human's and the Arbiter's alike. The third rejection ([MaxRejections]) is
// an outcome of its own, [Exhausted]: the human is asked, and without a human the run fails with exit code 1.
// [State.Answered] lets the Arbiter try again after the human has answered.
//
// # Criteria without a command
//
// Nothing can prove them, so they are listed as unproven and do not reject. [State.AskHow] makes the Arbiter
// say once, in the summary of its COMPLETE, how each of them holds; that is the Arbiter's statement and is not
// checked. So exit code 0 means that every criterion with a command passed on the delivered tree, and that
// those without a command were listed as unproven. A human who needs proof gives a command.
//
// The package performs no I/O and emits no events. Slices of a State are never written to in place, so copies of a
// State are independent.
package acceptance
