// Package notify alerts a human who is not watching the screen: by the terminal's title, its bell,
// and the notifications that terminals offer.
//
// All of it is pure: texts and byte sequences to be written by the owner of the
// terminal, and a [State] that says when one is due. What goes into a sequence was
// sanitised here, even if it was sanitised before.
package notify
