package crashpoint

// Point is a place with a name.
type Point struct {
	Name string // package.what-was-just-done
	Doc  string // what a death here must not break
}

// Points are all the places that Here is called with. The journal has a separate list.
var Points = []Point{
	{"bridge.event", "the bridge has read an agent's event; the supervisor has not received it"},
	{"bridge.kill", "the bridge has the request to end an agent, and has not ended it"},
	{"bridge.message", "the bridge has a message for an agent, and has not written it"},
	{"bridge.messaged", "the bridge has written a message, and has not answered the request"},
	{"bridge.spawn", "the bridge has the request to start an agent, and has not started it"},
	{"bridge.spawned", "the bridge has started an agent, and has not answered the request"},
	{"fork.copied", "the sessions and events of a forked run are copied, and not visible"},
	{"fork.staged", "a forked run is complete, and not visible"},
	{"fork.committed", "a forked run is visible; it has no files of its own"},
	{"fork.place", "an Orchestrator of a forked run is about to get its directory"},
	{"fork.placed", "the files of a forked run are made; that is not recorded"},
	{"loop.accept", "a command is on disk, and not answered: it must not be lost"},
	{"loop.append", "an input is recorded in memory; none of its effects has happened"},
	{"loop.apply", "an input is applied and not recorded; none of its effects has happened"},
	{"loop.bridge.open", "a lost bridge is about to be replaced"},
	{"loop.bridge.opened", "a lost bridge is replaced; none of its agents is restarted"},
	{"loop.check", "a check of a document is about to be requested"},
	{"loop.checked", "a check has run; its result is not recorded"},
	{"loop.decide", "a decider is about to be asked"},
	{"loop.decided", "a decider has answered; its decision is not recorded"},
	{"loop.emit", "an input is on disk; its event is about to be passed to the frontend"},
	{"loop.finish", "the result is reported; the process has not ended"},
	{"loop.kill", "an agent is about to be ended"},
	{"loop.merge", "the work of an agent is about to be merged"},
	{"loop.merged", "it is merged, or in conflict; the outcome is not recorded"},
	{"loop.note", "a decision is carried out; its input, prompt and answer are not recorded"},
	{"loop.permission.answer", "a permission is decided; the agent has no answer"},
	{"loop.place", "an agent is about to get a directory of its own"},
	{"loop.placed", "the agent has the directory, and is not started"},
	{"loop.send", "a message is about to be written to an agent"},
	{"loop.sent", "a message is written; its delivery is not confirmed"},
	{"loop.shutdown", "all agents are about to be ended"},
	{"loop.spawn", "an agent is about to be started"},
	{"loop.spawned", "an agent has started; this is not recorded"},
	{"loop.stopped", "all agents have ended; the result is not reported"},
	{"loop.snapshot", "the files are about to be recorded: after a turn, for a check, or at the end"},
	{"loop.snapshot.taken", "the files are recorded; the run does not refer to them"},
	{"loop.inspect", "an agent that cannot write its own hand-off is about to be inspected"},
	{"loop.tool.answer", "a tool of Arbiter has done its work; the agent has no answer"},
	{"resume.replayed", "a run is replayed; none of its agents is restarted"},
	{"resume.locked", "a run is locked and recovered, and not replayed"},
	{"shutdown.step", "between two steps of the shutdown"},
}
