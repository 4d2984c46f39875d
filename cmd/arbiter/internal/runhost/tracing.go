package runhost

import (
	"context"
	"maps"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/askmodel"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/telemetry"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// lastSpans is how long the end of a run's process waits for the collector, when all else is done.
const lastSpans = time.Second

// openTelemetry begins to send spans, if the environment names a collector.
func (r *runtimeRun) openTelemetry() {
	settings, err := telemetry.FromEnvironment(os.Getenv)
	if err != nil {
		r.tellOf("no telemetry: %v", err)
		return
	}
	if settings.URL != "" {
		r.telemetry = telemetry.New(settings, telemetry.NewTrace(r.choices.Options.Run, settings.Traceparent),
			r.telemetryFailed)
	}
}

// telemetryFailed tells the human, once.
func (r *runtimeRun) telemetryFailed(err error) {
	r.log.Warn("telemetry", "error", err)
	if r.loop != nil {
		r.remark("telemetry: " + err.Error() + ". The run goes on; further failures there are not reported.")
	}
}

func (r *runtimeRun) closeTelemetry() {
	if r.telemetry == nil {
		return
	}
	lost := r.telemetry.Close(lastSpans)
	if lost > 0 && r.log != nil {
		r.log.Warn("telemetry", "spans that found no room", lost)
	}
}

// traced tells telemetry each event on its way.
func (r *runtimeRun) traced(next runloop.Sink) runloop.Sink {
	if r.telemetry == nil {
		return next
	}
	return func(at time.Time, e contract.Event) {
		r.telemetry.Add(at, e)
		next(at, e)
	}
}

const traceparent = "TRACEPARENT"

// tracedEnv adds to the environment of an agent's process what puts its spans below the agent's.
func (p port) tracedEnv(env map[string]string, ref bridge.AgentRef) map[string]string {
	if p.telemetry == nil {
		return env
	}
	return with(env, traceparent, p.telemetry.Trace().Traceparent(ref.ID, ref.Generation))
}

// tracedQuerier puts questions whose spans are those of a trace.
type tracedQuerier struct {
	askmodel.Querier
	telemetry *telemetry.Exporter
}

// Query implements querier.
func (q tracedQuerier) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	parent, end := q.telemetry.Question()
	p.Env = with(p.Env, traceparent, parent)
	result, err := q.Querier.Query(ctx, p)
	end(err != nil)
	return result, err
}

// with is a copy of an environment with one variable more.
func with(env map[string]string, name, value string) map[string]string {
	more := maps.Clone(env)
	if more == nil {
		more = map[string]string{}
	}
	more[name] = value
	return more
}
