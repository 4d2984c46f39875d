// Package history keeps all events that the frontends of a run received, in bounded memory,
// and lets a screen read any part of them: every event in order, the conversation, the
// stream of one agent, what a filter picks, and the text that is arriving just now.
//
// The events are in the run's event log: only their positions are kept here, and they are
// read when they are shown. Events of earlier process runs are added from the log
// ([Store.Recall]); new events are looked for in it when it would have to be written
// here ([Store.Past]), and compared, so that no entry ever is another one's. Only what the
// log does not have, or where there is none, is kept here.
//
// One goroutine, the writer, calls [Store.Add]. Any goroutine reads at the same
// time; reading sees whole entries only. Nothing is held in memory but the most
// recent bytes and what is still open: events that no log has lie in a file of their own, and
// the threads over them in files of records of a fixed size. The files are scratch. They
// have no name from the start, so that nothing of them is left behind, not even by a
// crash. No lock is held while a file is read or written.
//
// A disk that is full, or fails, or has given as much as it may, stops nothing: what is new is then kept in rings in
// memory, the oldest of it is lost, and [Store.Lost] says so. The disk is tried
// again from time to time.
//
// Here is the edge for events: every string of an event passes package sanitize on
// its way in, whatever the event. Only json.RawMessage stays as it is; code that
// decodes it sanitises what comes out.
//
// The package starts no goroutine. Close comes last.
package history
