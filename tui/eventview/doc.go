// Package eventview turns the events of a run into lines to draw: the conversation ([Talk]), what one agent
// does ([Stream]), the logbook ([Log]), text that is still arriving ([Live]). Its texts are those of
// package eventtext.
//
// All of them are pure functions of an entry and its [Options]; the package has no state and no goroutines,
// except for [Subagents], which records which subagent started which.
//
// Callers pass sanitised events. The input of a tool is JSON and not sanitised: what this package decodes
// or shows of it, it sanitises. No line is wider than requested. Folded text is not laid out: the cost of a
// folded card depends on what it shows, that of an unfolded one is linear in its text.
package eventview
