// Package playback plays a run again from its event log, at a pace that a person chooses. It reads the log
// and nothing else: no process is started, and nothing is written.
//
// A [Player] passes the events to a [Stage], in order and each at its time. A viewer asks it for
// the state of the run as those events tell it ([Player.Snapshot]), which has what a screen shows, and for
// the time of the playback ([Player.Now]). To go back, the stage drops all events, and receives
// the events again from the beginning.
//
// One goroutine plays ([Player.Play]); the other methods are safe for concurrent use.
package playback
