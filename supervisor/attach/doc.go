// Package attach gives the session of an agent to a human's terminal, and takes it back.
//
// [Context.Attach] stops the agent's own process, records the state of its session and of the repository, and
// opens the terminal. When the human gives the session back ([Context.Detach]), leaves the terminal, or loses
// it, the package reads what was done there, reports it to the Arbiter, and starts the agent's process again on
// the session. The stages of a takeover are values of package takeover.
//
// Events: takeover, done of an agent without a process. Effects: OpenPTY, ClosePTY, Kill, Inspect of a takeover.
package attach
