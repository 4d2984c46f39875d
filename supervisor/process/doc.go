// Package process starts, stops and watches the processes of agents, and hands the session of an agent to a human.
//
// A process run is one process of an agent, named by its generation. [Context.Add] and [Context.Restart] start one,
// [Context.Relaunch] replaces one, [Context.Release] ends an agent for good. [Context.Probed] judges whether a
// process is alive. [Context.Distrusted] keeps agents stopped if their workspace is not as the human trusted it. In a
// takeover ([Context.Attach] to [Context.Detach]) the session of an agent is open in a human's terminal; afterwards,
// what the human did there is read and reported.
//
// The package changes the parts of the state that a [Context] points to, and collects effects. Package restart
// decides which class of failure leads to which restart; package lifecycle tracks the bridges. Package
// supervisor decides what a lost agent means for the task.
//
// Events: spawn, done of agents without a process, takeover, quiet. Effects: Spawn, Kill, Probe, OpenPTY, ClosePTY,
// Survey of a takeover, timers.
package process
