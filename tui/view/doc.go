// Package view has what the screens of package tui are made of: the rows and lines into which events, states,
// files and time are projected, the primitives that draw them, slash commands, and the playback of a stored
// run.
package view
