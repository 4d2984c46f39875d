// Package supervisor runs the hierarchy: it routes messages between the human, the
// Arbiter and the Orchestrators, and decides by rule where no model does.
//
// [Apply] is all of it: a pure function from a [State] and one input (package input) to the next state and the effects
// that are wanted (package effect). Package runloop owns a state, applies inputs in the order in which they come, and
// carries effects out. This package reads no file, no clock and no random source; a test holds its imports to that.
//
// Effects and events name the agent's generation, so that a late event of one process never touches the next.
//
// Parts of the state have packages of their own: roster, conversation, handoff, task, permission, takeover. What is here
// coordinates them, and reads like the story of what happens:
//
//	state, apply, timers               what a run knows; what each input and each timer leads to
//	snapshot, fold, origin             a state in the journal, a history applied again, who an input is from
//	standing                           questions about the whole state, and what things are called
//	phase, decisionpoints, decide      the task machine; the points at which somebody decides, and who
//	carryout, fallback                 … what follows, and the rules in the Arbiter's place
//	turns, ruling, route, tools        an agent's turn: its verdict, where that leads, our own tools
//	mail, delivery, config             a message's way to an agent, the proof that it arrived, what agents are started with
//	editmessage, oversized             … that the human changes, or that is too large
//	lifecycle, summon, bridge          the agents: their beginning and end, and the bridge they run behind
//	restarts, revive, resume           what comes back, and how: an agent, a session, a run
//	watch, limits, contextlow          signs of life, limits and spending, a context that is nearly full
//	handover, completion               documents on their way, and the checks repeated before COMPLETE
//	renewal                            the Arbiter's own succession
//	task                               the plan, and the executions of the task
//	commands, human, halt, configure   what a human commands, is asked, stops and changes
//	takeover, takeoverend              a session in the human's hands: its beginning and end
//	permissions, trust                 requests and who may do what; a workspace that changed
//	snapshots, acceptance              the files that agents changed; the criteria that a COMPLETE is judged by
//	ending                             the end of a run
//
// Shutdown: a run ends by a decision of Apply (complete, a limit, a signal …), which stops the agents and emits `result`
// when they are gone.
package supervisor
