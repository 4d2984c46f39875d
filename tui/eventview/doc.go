// Package eventview turns what was reported of a run into lines to draw: the conversation
// ([Talk]), what one agent does ([Stream]), the logbook ([Log]), text that is still
// arriving ([Live]). Its words are those of package eventtext.
//
// All of them are pure functions of an entry and its [Options]; the package has no
// state and no goroutines, but for [Subagents], which remembers who started which subagent.
//
// Text of events is sanitised when it comes here. The input of a tool is not, being
// JSON: what is decoded out of it, or shown of it, is sanitised here. No line is wider
// than the width asked for. What is folded is not laid out: a folded card costs what it
// shows, an unfolded one is linear in its text.
package eventview
