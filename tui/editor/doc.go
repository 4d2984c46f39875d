// Package editor is the input of the screen: a multi-line editor with history, pastes of any size,
// completion and slash commands, and a list to pick from ([Picker]).
//
// The text is one string. A paste that is too long to read is represented in it by a chip, which is one
// character to the cursor and all of its text to [Editor.Text]. The text area of the widget library was
// tried and rejected: ordinary keys and pastes make it panic with wide clusters and several edits.
//
// All input – keys, pastes, history, candidates – passes package sanitize once, here. Only typed text is
// executed: a paste is never sent by itself, and a chip is never a command.
//
// Everything belongs to the goroutine that draws. No goroutines, no I/O.
package editor
