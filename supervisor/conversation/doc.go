// Package conversation holds the messages of a run: those on their way to agents, and those of the past.
//
// A message waits in [State.Mail] until it is sent, and stays there until its delivery is proven. Then it is
// kept in InTurn until the turn is over, because a process that ends at once may not have recorded it. A
// human's messages above a bound wait in the backlog. A report expects no answer: it waits in the work log, and
// is sent with the next message to the Arbiter. [Ledger] counts messages by their delivery status: delivered,
// returned, or waiting.
//
// Package supervisor decides who may write to whom and when a message is sent, and sets the timers. This package emits
// nothing.
package conversation
