// Package editor is where a person writes: an editor of several lines with
// history, pastes of any size, completion and slash commands, and a list to pick
// from ([Picker]).
//
// The text is one string; a paste that is
// too long to read stands in it as a chip, which is one character to the cursor and
// all of its text to [Editor.Text]. The widget library's text area was tried and
// left: keys and pastes of clean text make it panic where wide clusters and several
// edits meet.
//
// All that comes in – keys, pastes, history, candidates – goes through package
// sanitize once, here. Nothing is executed that was not typed: a paste never sends,
// and a chip never is a command.
//
// Everything belongs to the goroutine that draws. No goroutines, no I/O.
package editor
