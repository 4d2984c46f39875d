package host

// This part of the package turns the events of a run into OpenTelemetry spans and posts them to a collector.
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
// agent and its generation. So [TelemetryTrace.Traceparent] is known before the agent starts, and the agent's CLI can
// put its own spans below.
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

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// mostOpen bounds the number of open spans, because spans of tools without a result would accumulate.
const mostOpen = 4096

// span is one span. Attributes are strings, int64s, float64s or bools.
type span struct {
	name, id, parent string
	link             string // id of another span of the trace that this one continues; "": none
	begin, end       time.Time
	attributes       map[string]any
	failed           bool
}

// recorder converts the events of one process of a run to spans. It is not safe for concurrent use.
type recorder struct {
	trace    TelemetryTrace
	open     map[key]*span
	runs     map[string]int // the generation of each agent
	finished []span         // since the last take
}

// key identifies an open span.
type key struct{ kind, agent, id string }

func newRecorder(t TelemetryTrace) *recorder {
	return &recorder{trace: t, open: map[key]*span{}, runs: map[string]int{}}
}

var runKey = key{kind: "run"}

// take returns the spans that have ended since the last call.
func (r *recorder) take() []span {
	list := r.finished
	r.finished = nil
	return list
}

// begin opens a span.
func (r *recorder) begin(k key, parent string, at time.Time, name string, attributes map[string]any) *span {
	if old := r.open[k]; old != nil {
		r.end(k, at, true, nil)
	}
	if len(r.open) >= mostOpen {
		return &span{id: r.trace.span("dropped"), attributes: attributes}
	}
	s := &span{name: name, parent: parent, begin: at, attributes: attributes,
		id: r.trace.span(k.kind, k.agent, k.id, strconv.FormatInt(at.UnixNano(), 10))}
	r.open[k] = s
	return s
}

// end closes a span, if it is open.
func (r *recorder) end(k key, at time.Time, failed bool, attributes map[string]any) {
	s := r.open[k]
	if s == nil {
		return
	}
	delete(r.open, k)
	maps.Copy(s.attributes, attributes)
	s.end, s.failed = at, failed
	r.finished = append(r.finished, *s)
}

// endAll closes open spans, inner ones first, and marks them as unfinished.
func (r *recorder) endAll(at time.Time, of func(key) bool) {
	keys := slices.Collect(maps.Keys(r.open))
	slices.SortFunc(keys, func(a, b key) int { return r.open[b].begin.Compare(r.open[a].begin) })
	for _, k := range keys {
		if of(k) {
			r.end(k, at, false, map[string]any{"arbiter.unfinished": true})
		}
	}
}

// inner returns the id of the innermost open span for an activity in an agent's turn.
func (r *recorder) inner(agent, subagent string) string {
	for _, k := range []key{{"tool", agent, subagent}, {"turn", agent, ""}, {"agent", agent, ""}, runKey} {
		if s := r.open[k]; s != nil {
			return s.id
		}
	}
	return ""
}

// add processes an event that happened at a time.
func (r *recorder) add(at time.Time, e contract.Event) {
	switch b := e.Body.(type) {
	case contract.Session:
		r.begin(runKey, r.trace.parent, at, "invoke_workflow arbiter", map[string]any{
			"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "arbiter",
			"gen_ai.conversation.id": r.trace.run, "arbiter.resumed": b.Resumed, "arbiter.version": b.Version,
			"arbiter.claude_version": b.ClaudeVersion, "arbiter.rehearsal": b.Rehearsal})
	case contract.Spawn:
		r.spawn(at, e.ID, b)
	case contract.Done:
		r.endAgent(at, e.ID, nil)
	case contract.Result:
		r.endAll(at, func(k key) bool { return k != runKey })
		r.end(runKey, at, b.Status != contract.StatusComplete, map[string]any{"arbiter.status": b.Status,
			"arbiter.cost_usd": b.CostUSD,
			"arbiter.crashes":  int64(b.Crashes), "arbiter.iterations": int64(b.Iterations)})
	case contract.Check:
		r.check(at, e.ID, b)
	default:
		r.addTurn(at, e)
	}
}

// addTurn processes an event within a turn.
func (r *recorder) addTurn(at time.Time, e contract.Event) {
	turn := key{"turn", e.ID, ""}
	switch b := e.Body.(type) {
	case contract.Delivered:
		if r.open[turn] == nil && r.open[key{"agent", e.ID, ""}] != nil {
			r.begin(turn, r.inner(e.ID, ""), at, "turn", map[string]any{
				"gen_ai.agent.id": e.ID, "arbiter.from": b.From})
		}
	case contract.Turn:
		u := b.Usage
		r.endAll(at, func(k key) bool { return k.agent == e.ID && k.kind == "tool" })
		r.end(turn, at, b.Outcome != "done", map[string]any{"arbiter.outcome": b.Outcome, "arbiter.cost_usd": b.CostUSD,
			"gen_ai.usage.input_tokens":                int64(u.Input + u.CacheRead + u.CacheCreation),
			"gen_ai.usage.output_tokens":               int64(u.Output),
			"gen_ai.usage.cache_read.input_tokens":     int64(u.CacheRead),
			"gen_ai.usage.cache_creation.input_tokens": int64(u.CacheCreation)})
	case contract.ToolUse:
		r.begin(key{"tool", e.ID, b.ToolUse}, r.inner(e.ID, b.Subagent), at, "execute_tool "+b.Tool, map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": b.Tool, "gen_ai.tool.call.id": b.ToolUse,
			"gen_ai.agent.id": e.ID})
	case contract.ToolResult:
		r.end(key{"tool", e.ID, b.ToolUse}, at, b.IsError, nil)
	case contract.PermissionRequest:
		r.begin(key{"permission", e.ID, b.Request}, r.inner(e.ID, b.Subagent), at, "wait_permission", map[string]any{
			"gen_ai.tool.name": b.Tool, "gen_ai.agent.id": e.ID})
	case contract.Permission:
		r.end(key{"permission", e.ID, b.Request}, at, false, map[string]any{"arbiter.behavior": b.Behavior,
			"arbiter.by": b.By, "arbiter.scope": b.Scope})
	}
}

// spawn begins the span of an agent's process.
func (r *recorder) spawn(at time.Time, id string, b contract.Spawn) {
	r.endAgent(at, id, nil) // another process continues the agent
	s := r.begin(key{"agent", id, ""}, r.inner("", ""), at, "invoke_agent "+b.Name, map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic", "gen_ai.agent.id": id,
		"gen_ai.agent.name": b.Name, "gen_ai.conversation.id": b.SessionID, "arbiter.mode": b.Mode,
		"arbiter.generation": int64(b.Generation), "arbiter.resumed": b.Resumed})
	s.id = r.trace.agent(id, b.Generation)
	if before, known := r.runs[b.SuccessorOf]; known {
		s.link = r.trace.agent(b.SuccessorOf, before)
	} else if before, known := r.runs[id]; known && before != b.Generation {
		s.link = r.trace.agent(id, before)
	}
	r.runs[id] = b.Generation
}

// endAgent ends the span of an agent and all spans below it.
func (r *recorder) endAgent(at time.Time, id string, attributes map[string]any) {
	r.endAll(at, func(k key) bool { return k.agent == id && k.kind != "agent" })
	r.end(key{"agent", id, ""}, at, false, attributes)
}

// check adds the span of a check. Its event comes when the check has ended.
func (r *recorder) check(at time.Time, id string, b contract.Check) {
	parent := r.inner(id, "")
	if s := r.open[key{"agent", id, ""}]; s != nil {
		parent = s.id
	}
	k := key{"check", id, strconv.Itoa(b.Number)}
	r.begin(k, parent, at.Add(-time.Duration(b.Receipt.DurationMS)*time.Millisecond), "check", map[string]any{
		"gen_ai.agent.id": id, "arbiter.check.number": int64(b.Number), "arbiter.check.result": b.Receipt.Result,
		"arbiter.check.again": b.Again})
	r.end(k, at, b.Receipt.Result != verdict.CheckPassed, nil)
}

// close ends all open spans, because the process of the run ends.
func (r *recorder) close(at time.Time) { r.endAll(at, func(key) bool { return true }) }
