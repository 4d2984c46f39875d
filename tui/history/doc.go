// Package history keeps all events that the frontends of a run received, in bounded memory, and lets a
// screen read any part of them: every event in order, the conversation, the stream of one agent, what a
// filter picks, and the text that is arriving at the moment.
//
// The events are in the run's event log: of each, only a small record with its position is kept here, and the
// event is read when it is shown. Events of earlier processes are added from the log ([Store.Recall]). New
// events stay in memory until they are found in the log ([Store.Past]); they are compared, so that no entry is
// ever confused with another. Events that no log has stay in memory, up to a limit: then the oldest are lost,
// and [Store.Lost] reports it.
//
// One goroutine, the writer, calls [Store.Add]. Any goroutine may read at the same time; readers see only
// whole entries. No lock is held while a log is read.
//
// Events are sanitised here: every string of an event passes package sanitize on its way in, whatever the
// event. Only json.RawMessage stays unchanged; code that decodes it sanitises the result.
//
// The package starts no goroutine.
package history
