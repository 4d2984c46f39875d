package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// tracedSpan is a span that arbiter or the CLI sent to a collector.
type tracedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string

	service string
}

// spanCollector is a collector of traces.
type spanCollector struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex
	spans []tracedSpan
}

func newSpanCollector(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *spanCollector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var body struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct{ Spans []tracedSpan }
		}
	}
	testkit.Check(c.t, err == nil && json.Unmarshal(raw, &body) == nil && r.URL.Path == "/v1/traces", "%s: %q, %v",
		r.URL.Path, raw, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range body.ResourceSpans {
		service := ""
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.StringValue
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				s.service = service
				c.spans = append(c.spans, s)
			}
		}
	}
}

// lineages returns, for each span, its name after those of the spans above it, the outermost first.
func (c *spanCollector) lineages(service string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]tracedSpan{}
	for _, s := range c.spans {
		byID[s.SpanID] = s
	}
	var list []string
	for _, s := range c.spans {
		line := s.Name
		for up, found := byID[s.ParentSpanID]; found; up, found = byID[up.ParentSpanID] {
			line = up.Name + " > " + line
		}
		if s.service == service {
			list = append(list, line)
		}
	}
	return list
}

// traceOf prepares a run that is not a rehearsal, and that sends its spans and those of its agents to a collector.
func traceOf(t *testing.T, p player, endpoint string, env ...string) *script {
	t.Helper()
	model := scriptedModel(t, "workflow")
	return prepare(t, append([]string{
		"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_TRACES_EXPORTER=otlp",
		"CLAUDE_CODE_ENABLE_TELEMETRY=1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1",
	}, env...), "--json", "--no-input", "--claude", p.program(t), "--cwd", t.TempDir(), "--allow", "Write",
		"--allow", "Bash(*)", "--task", "Weave", "--decider", "stateless")
}

// TestTraces: the spans of a run are a tree below the span of the process that started arbiter. Each span of
// the CLI is below the span of its agent, or below that of the decision that it answers.
func TestTraces(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const outer = "0af7651916cd43dd8448eb211c80319c"
	eachPlayerLong(t, func(t *testing.T, p player) {
		c := newSpanCollector(t)
		s := traceOf(t, p, c.URL, "TRACEPARENT=00-"+outer+"-b7ad6b7169203331-01")
		s.launch()
		s.finish(contract.ExitComplete)
		own := map[string]int{}
		for _, line := range c.lineages("arbiter") {
			own[line[strings.LastIndex(line, "> ")+1:]]++
			testkit.Check(t, strings.HasPrefix(line, "invoke_workflow arbiter"), "%s is not below the run", line)
		}
		spawned, asked, turns := len(collect[contract.Spawn](s)), 0, len(collect[contract.Turn](s))
		for _, d := range collect[contract.Decision](s) {
			if d.Source == "model" {
				asked++
			}
		}
		agents := 0
		for name, n := range own {
			if strings.HasPrefix(name, " invoke_agent ") {
				agents += n
			}
		}
		testkit.Check(t, agents == spawned && own[" turn"] == turns && own[" decide"] == asked && asked != 0 &&
			spawned >= 2, "spans %v of %d agents, %d turns, %d questions", own, spawned, turns, asked)
		clis := c.lineages("claude-code")
		testkit.Check(t, !p.real || len(clis) >= spawned+asked, "the CLI sent the spans %q", clis)
		for _, line := range clis {
			testkit.Check(t, strings.HasPrefix(line, "invoke_workflow arbiter > invoke_agent ") ||
				strings.HasPrefix(line, "invoke_workflow arbiter > decide > "), "%s of the CLI is not below its agent",
				line)
		}
		for _, span := range c.spans {
			testkit.Check(t, span.TraceID == outer, "%+v is of another trace", span)
		}
	})
}
