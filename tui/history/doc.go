// Package history keeps all events that the frontends of a run received, in bounded memory, and lets a
// screen read any part of them: every event in order, the conversation, the stream of one agent, what a
// filter picks, and the text that is arriving at the moment.
//
// The events are in the run's event log: only their positions are kept here, and they are read when they
// are shown. Events of earlier processes are added from the log ([Store.Recall]). Before new events would
// be written here, they are searched in the log ([Store.Past]) and compared, so that no entry is ever
// confused with another. Only events that the log does not have, or all if there is no log, are kept here.
//
// One goroutine, the writer, calls [Store.Add]. Any goroutine may read at the same time; readers see only
// whole entries. Memory holds only the most recent bytes and what is still open: events that no log has are
// in a file of their own, and the threads over them in files of records of a fixed size. The files are
// temporary. They are unlinked at once, so that nothing of them is left behind, not even after a crash. No
// lock is held while a file is read or written.
//
// A disk that is full or fails, or files that have reached their limit, stop nothing: new events are then
// kept in rings in memory, the oldest are lost, and [Store.Lost] reports it. The disk is tried again from
// time to time.
//
// Events are sanitised here: every string of an event passes package sanitize on its way in, whatever the
// event. Only json.RawMessage stays unchanged; code that decodes it sanitises the result.
//
// The package starts no goroutine. Call Close last.
package history
