// Package notify alerts a human who is not watching the screen: by the terminal's title, its bell, and the
// notifications that terminals support.
//
// All of it is pure: it returns texts and byte sequences that the owner of the terminal must write, and a
// [State] decides when one is due. The content of a sequence is sanitised here, even if it was sanitised
// before.
package notify
