package host

import (
	"context"
	"maps"

	"github.com/arbiter-cli/arbiter/bridge"
)

// traceparent is the environment variable that names the parent span of a process's spans.
const traceparent = "TRACEPARENT"

// Traced returns a Querier whose questions are spans of the trace. Without telemetry it returns q.
func Traced(q Querier, t *Exporter) Querier {
	if t == nil {
		return q
	}
	return tracedQuerier{q, t}
}

type tracedQuerier struct {
	Querier
	telemetry *Exporter
}

// Query implements [Querier].
func (q tracedQuerier) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	parent, end := q.telemetry.Question()
	p.Env = with(p.Env, traceparent, parent)
	result, err := q.Querier.Query(ctx, p)
	end(err != nil)
	return result, err
}

// with returns a copy of an environment with one more variable.
func with(env map[string]string, name, value string) map[string]string {
	more := maps.Clone(env)
	if more == nil {
		more = map[string]string{}
	}
	more[name] = value
	return more
}
