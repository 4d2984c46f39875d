// Package supervisor runs the hierarchy: it routes messages between the human, the
// Arbiter and the Orchestrators, and decides by rule where no model does.
//
// Its core is [Apply], a pure function from a [State] and one input (package input) to the next state and the effects
// to carry out ([input.Effect]). Package runloop owns a state, applies inputs in the order in which they come, and
// carries effects out. This package reads no file, no clock and no random source; a test holds its imports to that.
//
// Effects and events name the agent's generation, so that a late event of one process never touches the next.
//
// The files of one part of the state begin with its name: roster, conversation, handoff, task, rulings, renewal,
// question, budget, lifecycle, takeover. They do not know the whole state. A file uses only files that are listed
// below it:
//
//	audit                         the record of who did what
//	fork                          the state before a decision, as the first one of another run
//	replayer                      replay of a history, input by input
//	playback                      the state of a run according to its events
//	apply, resume                 what each input and each timer leads to; how a run begins or is resumed
//	commands, taskcommands, say   what a human commands: the run, the task; messages to agents, from humans and queued
//	afterend                      inputs that come while a run ends
//	tools                         calls of our own tools
//	processevents, bridge         a process that started or ended, the bridge that processes run behind
//	checkresults                  results of merges and snapshots
//	turns                         the end of an agent's turn and its verdict
//	decide                        the points of decision that are due, the rules' answers, what is done about an answer
//	route                         validation of a verdict, and what follows from it
//	restarts                      what restarts after a failure, and what stays stopped until a human decides
//	rhythm                        work that repeats itself
//	contextlow, failures, spawn   a full context, an agent that cannot continue, another Orchestrator
//	handover, completion          documents on their way to the Arbiter, checks and criteria before a COMPLETE
//	human                         questions to the human
//	spending                      limits of costs and reserves that are reached
//	attach                        sessions of agents in a human's terminal
//	ending, phase                 the end of a run, the task machine
//	result                        the result of a run
//	snapshot                      a state in the journal
//	settings, approval            what a human changes in a live run; permission requests
//	documents, filechanges        documents and their checks; changes of files, and their snapshots
//	rulecheck                     whether a ruling fits the state
//	succession, spawning          full contexts and the Arbiter's successor; where and how an Orchestrator starts
//	planning                      the plan, and how executions end
//	inbox                         the list of what waits for a human
//	process, agentconfig          processes of agents, and their configuration
//	costs                         costs of agents and their limits
//	delivery                      messages to agents
//	openpoints                    what speaks against the end of the task
//	lookback                      what a check that passes says of the files before the work
//	points, sender                the point of decision that is due; who sent an input
//	state                         the state of a run and questions about it; the application of one input, and its timers
//	toolset                       our own tools: names, schemas, inputs
//	question, renewal, budget, rulings, rights, task, acceptance   parts of the state
//	handoff, lifecycle, conversation, roster, envelope, takeover   the same
//
// Shutdown: a run ends by a decision of Apply (complete, a limit, a signal …), which stops the agents. When all
// of them have ended, Apply emits `result`.
package supervisor
