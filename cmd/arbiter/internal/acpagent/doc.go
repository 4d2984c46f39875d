// Package acpagent serves the Agent Client Protocol (version 1) on a pair of pipes: an editor opens sessions, and
// each session is a run of Arbiter.
//
// # Sessions and runs
//
// The id of a session is the id of its run, so an editor finds the run again after any restart. The run begins with
// the first prompt, which is its task. Later prompts are messages to the Arbiter and answer its questions; a prompt
// to a finished run gives it a new task. A prompt ends when the run waits for the human or is over.
//
// # Updates
//
// A [mapper] turns the events of a run into updates of its session. It depends on the events alone, so a loaded
// session shows the same as a live one. The exception is what the protocol calls notices: they are not part of the
// history and are shown live only.
//
// What waits for the human is never derived from events: it is the inbox in the run's status. Its permission
// requests become session/request_permission, and are withdrawn when another client has answered.
//
// # Goroutines, shutdown
//
// [Serve] owns the connection and all goroutines: one for each session that follows its run, and one for each
// request of the client or to it. It returns when the client has closed its end, and waits for all of them. Runs
// continue after that.
package acpagent
