// Package delivery brings the messages of a run to their readers.
//
// [Context.Post] queues and announces a message, [Context.Send] writes one to an agent, [Context.Delivered] takes the
// proof that an agent has read it. A message without proof is written again ([Context.ProofOverdue]); one that was lost
// with a process goes back to its queue ([Context.Requeue]). Reports that expect no answer go to the work log
// ([Context.Log]). The queues themselves are kept in package conversation.
//
// The package changes the parts of the state that a [Context] points to, and collects effects. Package supervisor
// decides when a message is sent, and starts the process of an agent again where a method says that it must be.
//
// Events: message, delivered, withdrawn. Effects: Send, AskAgent, AnswerTool, timers.
package delivery
