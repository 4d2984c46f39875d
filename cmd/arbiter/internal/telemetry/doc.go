// Package telemetry turns the events of a run into OpenTelemetry spans and posts them to a collector.
//
// A trace is a tree: the run, its agents, their turns, and in a turn the tools and the waits for a permission; the
// checks of hand-off documents belong to their agent. A successor's span links to that of the agent whose work it
// continues. The attributes follow OpenTelemetry's conventions for generative AI, version 1.37, which are still in
// development; Arbiter's own names begin with "arbiter.". Spans hold names, numbers and outcomes. They never hold
// texts, contents of files or commands.
//
// # Identity
//
// The trace's id is that of TRACEPARENT, if arbiter was started with one; otherwise it is computed from the run's id,
// so that a resumed run continues its trace. The id of an agent's span is computed from the run, the agent and its
// generation. [Trace.Traceparent] is known before the agent starts for that reason: its CLI puts its own spans below.
//
// # Configuration
//
// The variables of OpenTelemetry's specification configure it, see [FromEnvironment]. Without an endpoint it is off.
// Spans go out as OTLP in JSON over HTTP, the one encoding that needs no library.
//
// # Cost
//
// [Exporter.Add] does no I/O: spans wait in a bounded queue, and those that find no room are dropped and counted. A
// slow, absent or hostile collector delays nothing but the end of the process, by at most what [Exporter.Close] is
// given.
package telemetry
