// Package restart decides what happens after an agent's process has ended: Arbiter restarts the
// agent, now or later, gives it a fresh session, or parks it until a person decides.
//
// [Decide] is a pure function of the policy, the history of the run, the exit and the time. Jitter is a hash of
// the exit's Seed, so that replaying the same inputs gives the same decisions. The caller adds each decision
// that it carries out to the history:
//
//	d := restart.Decide(policy, history, exit, now)
//	history = history.Add(policy, d.Entry(exit, now), now)
//
// # Guarantees
//
//   - An agent is started at most Intensity times in any Window, whatever its exits were. An agent that failed
//     Intensity times in a Window is parked, and so is one that failed Streak times without a healthy process
//     run in between.
//   - Starts of different agents keep a distance: Stagger after limits, because many sessions that start at the
//     moment of a reset are refused again; otherwise CrashStagger.
//   - Waiting for the API (overload, a usage limit) does not count as a failure of the agent.
//   - A delay is never negative. After a failure it is at most Cap plus the wait for the agent's place in the
//     queue, for a limit at most MaxWait, even if the clock was set back and the history is in the future.
//
// The package is a leaf: no state, no goroutines, no clock, no imports from this module.
package restart
