// Package acpagent serves the Agent Client Protocol (version 1) on a pair of pipes: an editor opens sessions, and each
// session is a run of Arbiter.
//
// # Sessions and runs
//
// The id of a session is the id of its run, so an editor finds the run again after any restart. The run begins with the
// first prompt, which is its task. Later prompts are messages to the Arbiter, which answer its questions; a prompt to a
// run that is over gives it another task. A prompt ends when the run waits for the human, or is over.
//
// # Updates
//
// A [mapper] turns the events of a run into updates of its session. It is a function of the events alone, so a loaded
// session shows what was shown live. What the protocol calls notices is the exception: they belong to no history.
//
// What waits for the human is never derived from events: it is the inbox of the run's status. Permission requests in it
// become session/request_permission, and are withdrawn when somebody else has answered.
//
// # Goroutines, shutdown
//
// [Serve] owns the connection and all goroutines: one for each session that follows its run, and one for each request
// of the client or to it. It returns when the client has closed its end, and waits for all of them. No run ends by
// that.
package acpagent
