// Package telemetry turns the events of a run into OpenTelemetry spans and posts them to a collector.
//
// A trace is a tree: the run, its agents, their turns, and in a turn the tools and the waits for a permission. The
// checks of hand-off documents belong to their agent. The span of a successor links to the span of the agent whose
// work it continues. The attributes follow OpenTelemetry's conventions for generative AI, version 1.37, which are
// still in development; Arbiter's own names begin with "arbiter.". Spans contain names, numbers and outcomes. They
// never contain texts, contents of files or commands.
//
// # Identity
//
// The id of the trace is that of TRACEPARENT, if arbiter was started with one. Otherwise it is computed from the
// run's id, so that a resumed run continues its trace. The id of an agent's span is computed from the run, the
// agent and its generation. So [Trace.Traceparent] is known before the agent starts, and the agent's CLI can put
// its own spans below.
//
// # Configuration
//
// The variables of OpenTelemetry's specification configure telemetry, see [FromEnvironment]. Without an endpoint it
// is off. Spans are sent as OTLP in JSON over HTTP, the only encoding that needs no library.
//
// # Cost
//
// [Exporter.Add] does no I/O: spans wait in a bounded queue, and spans that do not fit are dropped and counted. A
// slow, absent or hostile collector delays only the end of the process, by at most the time passed to
// [Exporter.Close].
package telemetry
