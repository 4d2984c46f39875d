// Package attach hands the session of an agent to a human's terminal, and takes it back.
//
// [Context.Attach] stops the agent's own process, notes how its session and the repository stand, and opens the
// terminal. When the human gives the session back ([Context.Detach]), leaves the terminal, or loses it, what was done
// there is read and reported to the Arbiter, and the agent's process is started again on the session. The stages of a
// takeover are values of package takeover.
//
// Events: takeover, done of an agent without a process. Effects: OpenPTY, ClosePTY, Kill, Survey of a takeover.
package attach
