// Package playback replays a run from its event log, at a pace that a person chooses. It only reads the
// log: no process is started, and nothing is written.
//
// A [Player] passes the events to a [Stage], in order and each at its time. A viewer gets from it the state
// of the run that follows from those events ([Player.Snapshot]), which has what a screen shows, and the
// time of the playback ([Player.Now]). To go back, the stage drops all events, and receives the events
// again from the beginning.
//
// One goroutine plays ([Player.Play]); the other methods are safe for concurrent use.
package playback
