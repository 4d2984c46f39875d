// Package delivery delivers the messages of a run.
//
// [Context.Post] queues and announces a message, [Context.Send] writes one to an agent, [Context.Delivered] handles the
// proof that an agent has read it. A message without proof is written again ([Context.ProofOverdue]); one that was lost
// with a process goes back to its queue ([Context.Requeue]). Reports that expect no answer go to the work log
// ([Context.Log]). Package conversation keeps the queues.
//
// The package changes the parts of the state that a [Context] points to, and collects effects. Package supervisor
// decides when a message is sent, and restarts an agent's process when a method asks for it.
//
// Events: message, delivered, withdrawn. Effects: Send, AskAgent, AnswerTool, timers.
package delivery
