// Package mcpserver serves Arbiter's runs to a client of the Model Context Protocol, so that a model can start long
// work, wait for it, and answer what it asks.
//
// # Ownership
//
// A run is a process of its own. The server keeps nothing of it: each call asks the run, or reads its event log. So
// the server may be killed and started again at any time, and a client continues where it was: a cursor is the number
// of a line in the run's event log, which no restart of anything changes.
//
// # Who answers
//
// Questions may be answered by the model that calls the tools. Permission requests and trust in a workspace are for
// the human: the server shows them as a form (elicitation) where the client can show one, and otherwise says which
// command the human types. Only with [Options.ModelAnswers] the model answers permission requests, and then each of
// them once.
//
// # Two ways to wait
//
// Clients that send the capability io.modelcontextprotocol/tasks get a task from start_run: its id is the run's, and
// what waits for a human comes as its input requests. All others call wait again and again.
//
// # Reading order
//
// server.go has the options and the table of tools; start.go, wait.go and answer.go their work; view.go what a model
// is shown of a run, news.go what happened in it; form.go what a human is asked; tasks.go and taskstate.go the tasks.
//
// # Goroutines
//
// The SDK runs each call in a goroutine and waits for all of them at the end. The package starts one goroutine beside
// them: it looks after the run while a form is shown, and ends with the form.
package mcpserver
