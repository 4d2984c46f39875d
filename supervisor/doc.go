// Package supervisor runs the hierarchy: it routes messages between the human, the
// Arbiter and the Orchestrators, and decides by rule where no model does.
//
// [Apply] is the whole of it: a pure function from a [State] and one [Input] to the
// next state and the [Effect]s that are wanted. [Loop] is the one goroutine that owns
// a state, folds inputs into it in the order they come, and has effects carried out by
// workers, whose outcomes come back as inputs. Everybody else puts inputs in
// ([Loop.Put], and the methods by which it is a bridge's handler) and reads snapshots.
//
// Order: inputs from one agent are folded in the order the agent's events happened;
// short requests to one agent (a message, an interrupt) are carried out in the order
// they were decided. Effects and events name the agent's generation, so that a late
// word of one incarnation never touches the next.
//
// Shutdown: a run ends by a decision of Apply (complete, a limit, a signal …), which
// stops the agents and says `result` when they are gone. [Loop.Run] then returns, after
// all its workers.
package supervisor
