// Package mcpserver serves Arbiter's runs to a client of the Model Context Protocol, so that a model can start long
// work, wait for it, and answer its questions.
//
// # Ownership
//
// Each run is a separate process. The server keeps no state of runs: each call asks the run, or reads its event
// log. So the server can be killed and restarted at any time, and a client continues where it was: a cursor is the
// number of a line in the run's event log, which does not change when any process restarts.
//
// # Who answers
//
// The model that calls the tools may answer questions. Permission requests and trust in a workspace are for the
// human: the server shows them as a form (elicitation) if the client supports it, and otherwise says which command
// the human must type. Only with [Options.ModelAnswers] the model answers permission requests, and then each answer
// holds once.
//
// # Two ways to wait
//
// Clients with the capability io.modelcontextprotocol/tasks get a task from start_run: its id is the run's, and
// items that wait for a human become its input requests. All other clients call wait repeatedly.
//
// # Reading order
//
// server.go has the options and the table of tools; start.go, wait.go and answer.go implement the tools; view.go is
// what a model sees of a run, news.go the events in it; form.go has the forms for the human; tasks.go and
// taskstate.go the tasks.
//
// # Goroutines
//
// The SDK runs each call in a goroutine and waits for all of them at the end. The package starts one more
// goroutine: it watches the run while a form is shown, and ends with the form.
package mcpserver
