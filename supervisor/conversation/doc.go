// Package conversation holds the messages of a run: those on their way to agents, and what was said.
//
// A message waits in [State.Mail] until it is sent, and stays there until its reader was proven to have it. Then it is
// kept in InTurn until the turn is over: a process that dies at once may not have recorded it. A human's messages
// beyond a bound wait in the backlog. A report expects no answer: it waits in the work log, and travels with the next
// message to the Arbiter. [Ledger] counts what became of messages; each one is delivered, returned, or still waits.
//
// The package decides neither who may write to whom nor when a message is sent: package supervisor does, and sets the
// timers. It emits nothing.
package conversation
