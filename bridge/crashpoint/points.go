package crashpoint

// Point is a place with a name.
type Point struct {
	Name string // package.what-was-just-done
	Doc  string // what a death here must not break
}

// Points are all the places that Here is called with. The journal has a separate list.
var Points = []Point{
	{"bridge.event", "an agent has said something, and the supervisor does not know"},
	{"bridge.kill", "the bridge was told to end an agent, and has not"},
	{"bridge.message", "the bridge was told to write a message, and has not"},
	{"bridge.messaged", "the bridge has written a message, and not said so"},
	{"bridge.spawn", "the bridge was told to start an agent, and has not"},
	{"bridge.spawned", "the bridge has started an agent, and not said so"},
	{"loop.accept", "a command is on disk, and not answered: it must not be lost"},
	{"loop.append", "a fact is recorded in memory: nothing it leads to has happened"},
	{"loop.apply", "a fact is applied and not recorded: nothing of it has happened"},
	{"loop.bridge.open", "a lost bridge is about to be replaced"},
	{"loop.bridge.opened", "a lost bridge is replaced, and no agent is back"},
	{"loop.check", "a check of a document is about to be asked for"},
	{"loop.checked", "a check has run, and the journal does not know"},
	{"loop.decide", "another than the Arbiter is about to be asked for a decision"},
	{"loop.decided", "it has decided, and the journal does not know"},
	{"loop.emit", "a fact is on disk, and the face is about to be told"},
	{"loop.finish", "the result is said, and the process has not ended"},
	{"loop.kill", "an agent is about to be ended"},
	{"loop.merge", "the work of an agent is about to be merged"},
	{"loop.merged", "it is merged or in conflict, and the run does not know it"},
	{"loop.note", "a decision is carried out, and not recorded with what it was made from"},
	{"loop.permission.answer", "a permission is decided, and the agent does not know"},
	{"loop.place", "an agent is about to get a directory of its own"},
	{"loop.placed", "it has the directory, and is not started"},
	{"loop.send", "a message is about to be written to an agent"},
	{"loop.sent", "a message is written, and nobody has proven to have it"},
	{"loop.shutdown", "all agents are about to be ended"},
	{"loop.spawn", "an agent is about to be started"},
	{"loop.spawned", "an agent is up, and the journal does not know"},
	{"loop.stopped", "all agents are ended, and the result is not said"},
	{"loop.snapshot", "the files are about to be recorded after a turn, to judge them, or at the end"},
	{"loop.snapshot.taken", "they are recorded, and the run does not know it"},
	{"loop.survey", "somebody who can speak no more is about to be looked at"},
	{"loop.tool.answer", "a tool of Arbiter has done its work, and the agent has no answer yet"},
	{"resume.folded", "a run is read, and nothing of it has come back"},
	{"resume.locked", "a run is locked and recovered, and not read"},
	{"shutdown.step", "between two steps of the end"},
}
