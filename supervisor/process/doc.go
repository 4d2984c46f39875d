// Package process starts, stops and watches the processes of agents.
//
// A process run is one process of an agent, named by its generation. [Context.Add] and [Context.Restart] start one,
// [Context.Relaunch] replaces one, [Context.Release] ends an agent for good. [Context.Probed] judges whether a
// process is alive. [Context.Distrusted] keeps agents stopped if their workspace is not as the human trusted it.
//
// The package changes the parts of the state that a [Context] points to, and collects effects. Package restart
// decides which class of failure leads to which restart; package lifecycle tracks the bridges; package attach hands
// the session of an agent to a human. Package supervisor decides what a lost agent means for the task.
//
// Events: spawn, done of agents without a process, takeover that failed or ended with its agent, quiet.
// Effects: Spawn, Kill, Probe, timers.
package process
