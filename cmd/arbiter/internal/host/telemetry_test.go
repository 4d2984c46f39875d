package host

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

const secret = "what-nobody-may-read"

// telemetryStory is a run with the events for each kind of span. Every text in it is secret.
var telemetryStory = []contract.Event{
	{ID: contract.Supervisor, Body: contract.Session{Session: "run-1", CWD: secret, Version: "1.2.3"}},
	{ID: "arbiter", Body: contract.Spawn{Name: "Arbiter", SessionID: "s-1", Generation: 1, Prompt: secret}},
	{ID: "arbiter", Body: contract.Delivered{MessageID: "m1", From: "human"}},
	{ID: "orch-1", Body: contract.Spawn{Name: "Orchestrator I", SessionID: "s-2", Generation: 1,
		Mode: "developer", Prompt: secret}},
	{ID: "arbiter", Body: contract.Turn{Outcome: "done", CostUSD: 0.25,
		Usage: bridge.Usage{Input: 1, CacheRead: 10, Output: 3}}},
	{ID: "orch-1", Body: contract.Delivered{MessageID: "m2", From: "arbiter"}},
	{ID: "orch-1", Body: contract.Assistant{Text: secret}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Task", ToolUse: "t1",
		Input: json.RawMessage(`{"prompt":"` + secret + `"}`)}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Bash", ToolUse: "t2", Subagent: "t1",
		Input: json.RawMessage(`{"command":"` + secret + `"}`)}},
	{ID: "orch-1", Body: contract.PermissionRequest{Request: "p1", Tool: "Bash", Action: secret,
		Reason: secret, Subagent: "t1"}},
	{ID: "orch-1", Body: contract.Permission{Request: "p1", Behavior: "allow", By: "human",
		Scope: "once", Reason: secret, Action: secret}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t2", Subagent: "t1", IsError: true, Text: secret}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t1", Text: secret}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Read", ToolUse: "t3"}},
	{ID: "orch-1", Body: contract.Turn{Outcome: "done"}},
	{ID: "orch-1", Body: contract.Check{Number: 1, Of: 1, Receipt: verdict.Receipt{Command: secret, Output: secret,
		Result: verdict.CheckFailed, DurationMS: 500}}},
	{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Generation: 1, SuccessorOf: "orch-1"}},
	{ID: "orch-1", Body: contract.Done{Reason: secret}},
	{ID: "orch-2", Body: contract.Delivered{MessageID: "m3"}},
	{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Generation: 2, Resumed: true}},
	{ID: contract.Supervisor, Body: contract.Result{Status: contract.StatusComplete, CostUSD: 1.5, Summary: secret}},
}

// collector is a server that stores what it receives.
func collector(t *testing.T, status int) (*httptest.Server, chan string) {
	t.Helper()
	bodies := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		testkit.Check(t, err == nil && r.Header.Get("Authorization") == "Bearer k" &&
			r.Header.Get("Content-Type") == "application/json", "%v, %v", err, r.Header)
		bodies <- string(raw)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, bodies
}

// exporterTo returns an exporter for a server; failed gets its first error.
func exporterTo(url string, failed func(error)) *Exporter {
	return NewExporter(
		TelemetrySettings{URL: url, Header: http.Header{"Authorization": {"Bearer k"}}, Timeout: time.Minute,
			Resource: map[string]string{"service.name": "arbiter"}},
		NewTrace("run-1", ""),
		failed,
	)
}

func TestStory(t *testing.T) {
	server, bodies := collector(t, 200)
	e := exporterTo(server.URL, func(err error) { t.Error(err) })
	at := time.Unix(1000, 0)
	for _, event := range telemetryStory {
		at = at.Add(time.Second)
		e.Add(at, event)
	}
	testkit.Same(t, "spans were dropped", 0, e.Close(time.Minute))
	close(bodies)
	type spanSent struct {
		TraceID, SpanID, ParentSpanID, Name string
		StartTimeUnixNano, EndTimeUnixNano  string
		Links                               []struct{ SpanID string }
		Status                              *struct{ Code int }
	}
	var spans []spanSent
	for body := range bodies {
		testkit.Excludes(t, "it sends what somebody wrote", body, secret)
		var r struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []spanSent } }
		}
		testkit.OK(t, json.Unmarshal([]byte(body), &r))
		spans = append(spans, r.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	names := map[string]string{"": "nothing"}
	for _, s := range spans {
		testkit.Check(t, names[s.SpanID] == "" && isID(s.SpanID, 16) && s.TraceID == NewTrace("run-1", "").id,
			"the span %+v", s)
		names[s.SpanID] = s.Name
	}
	var got []string
	for _, s := range spans {
		line := fmt.Sprintf("%s < %s, %s to %s", s.Name, names[s.ParentSpanID], s.StartTimeUnixNano[:4],
			s.EndTimeUnixNano[:4])
		for _, l := range s.Links {
			line += ", after " + names[l.SpanID]
		}
		if s.Status != nil {
			line += ", failed"
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{
		"check < invoke_agent Orchestrator I, 1015 to 1016, failed",
		"execute_tool Bash < execute_tool Task, 1009 to 1012, failed",
		"execute_tool Read < turn, 1014 to 1015",
		"execute_tool Task < turn, 1008 to 1013",
		"invoke_agent Arbiter < invoke_workflow arbiter, 1002 to 1021",
		"invoke_agent Orchestrator I < invoke_workflow arbiter, 1004 to 1018",
		"invoke_agent Orchestrator II < invoke_workflow arbiter, 1017 to 1020, after invoke_agent Orchestrator I",
		"invoke_agent Orchestrator II < invoke_workflow arbiter, 1020 to 1021, after invoke_agent Orchestrator II",
		"invoke_workflow arbiter < nothing, 1001 to 1021",
		"turn < invoke_agent Arbiter, 1003 to 1005",
		"turn < invoke_agent Orchestrator I, 1006 to 1015",
		"turn < invoke_agent Orchestrator II, 1019 to 1020",
		"wait_permission < execute_tool Task, 1010 to 1011",
	}
	testkit.Check(t, slices.Equal(got, want), "spans:\n%s\nwant:\n%s", strings.Join(got, "\n"),
		strings.Join(want, "\n"))
	agent := strings.Split(NewTrace("run-1", "").Traceparent("orch-2", 2), "-")[2]
	testkit.Same(t, "TRACEPARENT names the span", "invoke_agent Orchestrator II", names[agent])
}

// TestTurnsBeginWithTheirMessage: the span of a turn begins when its first message is sent, also of a turn that fails
// before anything is delivered; a message that was sent meanwhile begins the next turn.
func TestTurnsBeginWithTheirMessage(t *testing.T) {
	r, start := newRecorder(NewTrace("run-1", "")), time.Unix(100, 0)
	for second, e := range []contract.Event{
		{ID: contract.Supervisor, Body: contract.Session{Session: "run-1"}},
		{ID: "orch-1", Body: contract.Spawn{Name: "Orchestrator I", Generation: 1}},
		{ID: "arbiter", Body: contract.Message{MessageID: "m1", To: "orch-1"}},
		{ID: "arbiter", Body: contract.Message{MessageID: "m2", To: "orch-1"}},
		{ID: "orch-1", Body: contract.Turn{Outcome: "failed", CostUSD: 0.5}},
		{ID: "orch-1", Body: contract.Delivered{MessageID: "m2", From: "arbiter"}},
		{ID: "orch-1", Body: contract.Turn{Outcome: "done"}},
	} {
		r.add(start.Add(time.Duration(second)*time.Second), e)
	}
	var began []string
	ended, _, _ := r.ended.Take(0)
	for _, s := range ended {
		if s.name == "turn" {
			began = append(began, fmt.Sprint(s.begin.Sub(start), s.attributes["arbiter.cost_usd"]))
		}
	}
	testkit.Same(t, fmt.Sprintf("turns began %q", began), began, []string{"2s 0.5", "4s 0"})
}

// TestBadCollectors: one failure is reported, without the parts of the URL that may have a key, and nothing waits
// longer than allowed.
func TestBadCollectors(t *testing.T) {
	refusing, _ := collector(t, 503)
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere?"+secret, http.StatusTemporaryRedirect))
	defer moved.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	stop := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-stop }))
	defer silent.Close()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			_, err := w.Write(make([]byte, 1<<20))
			if err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	defer close(stop)
	for name, c := range map[string]struct {
		url    string
		within time.Duration
		err    string
	}{
		"refusing": {refusing.URL, time.Minute, "answers 503"}, "moved": {moved.URL, time.Minute, "answers 307"},
		"gone":    {gone.URL, time.Minute, "does not answer"},
		"silent":  {silent.URL, time.Millisecond, "does not answer"},
		"endless": {endless.URL, time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []string
			e := exporterTo(c.url+"/"+secret, func(err error) { failed = append(failed, err.Error()) })
			for range batch {
				for _, event := range telemetryStory {
					e.Add(time.Now(), event)
				}
			}
			e.Close(c.within)
			if c.err == "" && len(failed) == 0 {
				return
			}
			testkit.Check(t, len(failed) == 1 && strings.Contains(failed[0], c.err) &&
				!strings.Contains(failed[0], secret), "failures %q, want one of %q", failed, c.err)
		})
	}
}

// TestFullQueue: spans that do not fit are dropped and counted, and the number of spans that are never closed is
// bounded.
func TestFullQueue(t *testing.T) {
	stop := make(chan struct{})
	asked := make(chan struct{}, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-stop
	}))
	defer silent.Close()
	defer close(stop)
	e := exporterTo(silent.URL, func(error) {})
	tool := func(i int) contract.Event {
		return contract.Event{ID: "a", Body: contract.ToolUse{Tool: "Bash", ToolUse: fmt.Sprint(i)}}
	}
	turn := contract.Event{ID: "a", Body: contract.Turn{Outcome: "done"}}
	for i := range batch {
		e.Add(time.Now(), tool(i))
	}
	e.Add(time.Now(), turn)
	<-asked // the first batch is being sent
	for i := range 2 * mostOpen {
		e.Add(time.Now(), tool(i))
	}
	e.Add(time.Now(), turn)
	testkit.Same(t, "spans were dropped", mostOpen-mostWaiting, e.Close(time.Millisecond))
}

// TestNotSampled: nothing is sent if the parent of arbiter does not record the trace.
func TestNotSampled(t *testing.T) {
	server, bodies := collector(t, 200)
	e := NewExporter(
		TelemetrySettings{URL: server.URL},
		NewTrace("run-1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
		func(err error) { t.Error(err) },
	)
	for _, event := range telemetryStory {
		e.Add(time.Now(), event)
	}
	e.Close(time.Minute)
	testkit.Empty(t, "what it sent", bodies)
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, env string // see environment
		url, err  string
	}{
		{name: "nothing"},
		{name: "a collector", env: "+ENDPOINT=http://h:4318", url: "http://h:4318/v1/traces"},
		{name: "below a path", env: "+ENDPOINT=https://h/x/", url: "https://h/x/v1/traces"},
		{name: "for traces", env: "+ENDPOINT=http://h +TRACES_ENDPOINT=http://t/y", url: "http://t/y"},
		{name: "disabled", env: "+ENDPOINT=http://h OTEL_SDK_DISABLED=true"},
		{name: "no exporter", env: "+ENDPOINT=http://h OTEL_TRACES_EXPORTER=none"},
		{name: "two exporters", env: "+ENDPOINT=http://h OTEL_TRACES_EXPORTER=console,otlp", url: "http://h/v1/traces"},
		{name: "protobuf", env: "+ENDPOINT=http://h +PROTOCOL=http/protobuf", url: "http://h/v1/traces"},
		{name: "grpc", env: "+ENDPOINT=http://h +PROTOCOL=grpc", err: "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"},
		{name: "no URL", env: "+ENDPOINT=h:4318", err: "OTEL_EXPORTER_OTLP_ENDPOINT is not the URL"},
		{name: "headers", env: "+ENDPOINT=http://h +HEADERS=key", err: "OTEL_EXPORTER_OTLP_HEADERS: it is not a list"},
		{name: "attributes", env: "+ENDPOINT=http://h OTEL_RESOURCE_ATTRIBUTES=a=%zz",
			err: "OTEL_RESOURCE_ATTRIBUTES: "},
		{name: "timeout", env: "+ENDPOINT=http://h +TRACES_TIMEOUT=10s",
			err: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromEnvironment(environmentTelemetry(c.env))
			if c.err != "" {
				testkit.Check(t, err != nil && strings.Contains(err.Error(), c.err), "error %v, want one of %q", err,
					c.err)
			} else if err != nil || got.URL != c.url {
				t.Errorf("%q, %v; want %q", got.URL, err, c.url)
			}
		})
	}
	s, err := FromEnvironment(environmentTelemetry("+ENDPOINT=http://h +HEADERS=a=1,Authorization=Bearer%20k " +
		"OTEL_RESOURCE_ATTRIBUTES=team=weavers,service.name=x OTEL_SERVICE_NAME=loom +TIMEOUT=1500 TRACEPARENT=tp"))
	testkit.Check(t, err == nil && s.Header.Get("Authorization") == "Bearer k" && s.Header.Get("A") == "1" &&
		s.Resource["team"] == "weavers" && s.Resource["service.name"] == "loom" && s.Timeout == 1500*time.Millisecond &&
		s.Traceparent == "tp", "%+v, %v", s, err)
}

// environmentTelemetry returns a getenv for entries separated by spaces; + stands for OTEL_EXPORTER_OTLP_.
func environmentTelemetry(entries string) func(string) string {
	entries = strings.ReplaceAll(entries, "+", "OTEL_EXPORTER_OTLP_")
	return func(name string) string {
		for _, entry := range strings.Fields(entries) {
			if value, found := strings.CutPrefix(entry, name+"="); found {
				return value
			}
		}
		return ""
	}
}

func TestTraceparent(t *testing.T) {
	const outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	own := NewTrace("run-1", "").Traceparent("orch-1", 2)
	fields := strings.Split(own, "-")
	testkit.Check(t, len(fields) == 4 && isID(fields[1], 32) && isID(fields[2], 16) && fields[3] == "01",
		"the agent gets %q", own)
	testkit.Same(t, "a resumed run has another trace", own, NewTrace("run-1", "").Traceparent("orch-1", 2))
	for _, other := range []string{
		NewTrace("run-2", "").Traceparent("orch-1", 2), NewTrace("run-1", "").Traceparent("orch-2", 2),
		NewTrace("run-1", "").Traceparent("orch-1", 3), NewTrace("run-1", outer).Traceparent("orch-1", 2),
	} {
		testkit.Check(t, other != own, "two agents have the span %q", own)
	}
	inherited := NewTrace("run-1", outer)
	got := inherited.Traceparent("orch-1", 2)
	testkit.Check(t, strings.HasPrefix(got, outer[:36]) && inherited.parent == outer[36:52],
		"%q does not go on from %q, below %q", got, outer, inherited.parent)
	got = NewTrace("run-1", outer[:53]+"00").Traceparent("orch-1", 2)
	testkit.Check(t, strings.HasSuffix(got, "-00"), "a trace that is not recorded goes on as %q", got)
	for _, bad := range []string{
		"nonsense", "ff" + outer[2:], outer[:50], outer + "-more", strings.ToUpper(outer), outer[:53] + "0x",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
	} {
		testkit.Same(t, fmt.Sprintf("%q counts as a trace", bad), own, NewTrace("run-1", bad).Traceparent("orch-1", 2))
	}
	got = NewTrace("run-1", "01"+outer[2:]+"-more").Traceparent("orch-1", 2)
	testkit.Check(t, strings.HasPrefix(got, outer[:36]), "a later version of the header is not read: %q", got)
}
