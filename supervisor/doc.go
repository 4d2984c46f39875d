// Package supervisor runs the hierarchy: it routes messages between the human, the
// Arbiter and the Orchestrators, and decides by rule where no model does.
//
// [Apply] is all of it: a pure function from a [State] and one input (package input) to the next state and the effects
// that are wanted (package effect). Package runloop owns a state, applies inputs in the order in which they come, and
// carries effects out. This package reads no file, no clock and no random source; a test holds its imports to that.
//
// Effects and events name the agent's generation, so that a late event of one process never touches the next.
//
// Where what is. What Apply goes by:
//
//	state                              what a run knows (packages roster, conversation, handoff, task and permission have their parts)
//	decisionstate                      … what is to be decided
//	contextstate                       … full contexts
//	humanstate                         … what the human was asked
//	lifecyclestate                     … processes and the bridge
//	apply, happened, timers, fold      what each input and each timer leads to; a history applied again
//	step, timerkeys, standing          what every part uses: effects, keys of timers, questions about the state
//	origin, snapshot                   who an input is from, a state in the journal
//	told                               what the event log takes up of a step
//	phase, points, decisionrequest     the task machine, and who decides at its points …
//	decide, reading                    … by whom, and what the Arbiter has read when it does
//	carryout, fallback, fallbackmode   … what follows, and the rules in the Arbiter's place
//	turns, ruling, route, tools        an agent's turn: its verdict, where that leads, our own tools
//	exchange                           messages between agents are counted
//	mail, config, attached, proof      a message's way to an agent, and what it carries
//	refused                            … when the API refuses its turn
//	shelve, retouch, names             … that is withheld, or changed by the human; what things are called
//	oversized                          what is too large: for a command, for a model
//	lifecycle, summon, modes, forget   the agents: their beginning and end, and what is kept of them
//	restarts, revive, resume, bridge   what comes back, and how: an agent, a run, a bridge
//	backoff                            how long an agent waits for another attempt
//	spending                           what running turns have cost, and the limit they share
//	watch, limits                      looks from outside, limits
//	contextlow, execution              a context that is nearly full, stretches of work
//	handover, checks                   a document's way from its author, or the supervisor in its place …
//	successors                         … to a successor
//	renewal                            the Arbiter's own succession
//	plan, tasks                        the plan, and agents' own lists
//	commands, human, halt, halfdone    a human's commands and words, stopping, what that cuts off
//	configure, model                   … settings that are changed while the run is played
//	takeover, takeoverend              … a session in the human's hands: its beginning and end (package takeover)
//	permissions, rights                what is answered to a request (package permission), who may do what
//	trust                              a workspace that changed
//	completion, ending                 the checks repeated before COMPLETE, the end of a run
//
// Shutdown: a run ends by a decision of Apply (complete, a limit, a signal …), which stops the agents and emits `result`
// when they are gone.
package supervisor
