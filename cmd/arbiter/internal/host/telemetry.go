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
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

const (
	// mostWaiting bounds the spans that wait to be sent; more are dropped.
	mostWaiting = 2048
	// batch is how many spans one request has at most.
	batch = 512
	// every is the maximum time that a span waits before it is sent, while the collector answers.
	every = 5 * time.Second
	// answerMost is how much of a response is read, so that the connection can be reused.
	answerMost = 64 << 10
)

// Exporter sends the spans of a run. Its methods are safe for concurrent use. Nil takes events and sends nothing.
type Exporter struct {
	settings TelemetrySettings
	trace    TelemetryTrace
	failed   func(error)
	client   *http.Client
	wake     chan struct{} // a batch is full, or the run ends
	done     chan struct{}
	cancel   context.CancelFunc
	dropped  int // spans that did not fit into the queue; valid when done is closed

	mu        sync.Mutex
	recorder  *recorder
	questions int // asked so far
	begun     bool
	closed    bool
}

// NewExporter starts sending the spans of a run. failed is called once, on another goroutine, with the error of the
// first failed request; it must not block for long. The caller closes the exporter.
func NewExporter(s TelemetrySettings, t TelemetryTrace, failed func(error)) *Exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exporter{settings: s, trace: t, failed: failed, cancel: cancel, recorder: newRecorder(t),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		client: &http.Client{Timeout: s.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers may have a key
		}}}
	go e.work(ctx) // Close waits for it
	return e
}

// Add processes an event of the run that happened at a time. It does no I/O.
func (e *Exporter) Add(at time.Time, event contract.Event) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.recorder.add(at, event)
	if n, _ := e.recorder.ended.Waiting(); n >= batch || !e.begun && n > 0 { // to detect a missing collector early
		e.begun = true
		backlog.Hint(e.wake)
	}
}

// Question begins the span of a question to a model that no agent asks. It returns the TRACEPARENT for the process
// that asks the question, and a function that ends the span.
func (e *Exporter) Question() (traceparent string, end func(failed bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.questions++
	k := key{kind: "question", id: strconv.Itoa(e.questions)}
	s := e.recorder.begin(k, e.recorder.inner("", ""), time.Now(), "decide", map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "decider"})
	return e.trace.traceparent(s.id), func(failed bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.recorder.end(k, time.Now(), failed, nil)
	}
}

// Close ends all open spans, sends the waiting ones, and gives up after a time. It returns how many spans did not
// fit into the queue.
func (e *Exporter) Close(within time.Duration) (lost int) {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	if !e.closed {
		e.recorder.endAll(time.Now(), func(key) bool { return true })
		e.closed = true
	}
	e.mu.Unlock()
	backlog.Hint(e.wake)
	late := time.AfterFunc(within, e.cancel)
	<-e.done
	late.Stop()
	e.cancel()
	e.client.CloseIdleConnections()
	return e.dropped
}

func (e *Exporter) work(ctx context.Context) {
	defer func() {
		_, lost, _ := e.recorder.ended.Take(0) // free what will not be sent
		e.dropped += lost
		close(e.done)
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	reported := false
	for last := false; !last && ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-e.wake:
		}
		e.mu.Lock()
		last = e.closed // read first: all spans are then in the queue
		e.mu.Unlock()
		for more := true; more; {
			spans, lost, left := e.recorder.ended.Take(batch)
			e.dropped += lost
			if more = left && ctx.Err() == nil; len(spans) == 0 {
				continue
			}
			if err := e.post(ctx, spans); err != nil && !reported {
				reported = true
				e.failed(err)
			}
		}
	}
}

// post sends spans. It does not retry: more requests would not help an overloaded collector.
func (e *Exporter) post(ctx context.Context, spans []span) error {
	body, err := encode(e.trace, e.settings.Resource, spans)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = e.settings.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if whole, ok := errors.AsType[*url.Error](err); ok {
		err = whole.Err // without the URL, which may have a key
	}
	if err != nil {
		return fmt.Errorf("the collector at %s does not answer: %w", e.address(), err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, answerMost) // the content of the response does not matter
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector at %s answers %s", e.address(), resp.Status)
	}
	return nil
}

// address returns the collector's URL without the parts that may have a key.
func (e *Exporter) address() string {
	u, err := url.Parse(e.settings.URL)
	if err != nil {
		return "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	return u.Scheme + "://" + u.Host
}

const (
	kindInternal = 1 // SPAN_KIND_INTERNAL
	statusError  = 2 // STATUS_CODE_ERROR
)

type object map[string]any

// encode encodes spans as the body of a request of OTLP 1.x in its JSON encoding:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit numbers are strings, ids are hexadecimal.
func encode(t TelemetryTrace, resource map[string]string, spans []span) ([]byte, error) {
	list := make([]object, 0, len(spans))
	for _, s := range spans {
		o := object{"traceId": t.id, "spanId": s.id, "name": s.name, "kind": kindInternal,
			"startTimeUnixNano": strconv.FormatInt(s.begin.UnixNano(), 10),
			"endTimeUnixNano":   strconv.FormatInt(s.end.UnixNano(), 10), "attributes": attributesOf(s.attributes)}
		if s.parent != "" {
			o["parentSpanId"] = s.parent
		}
		if s.link != "" {
			o["links"] = []object{{"traceId": t.id, "spanId": s.link}}
		}
		if s.failed {
			o["status"] = object{"code": statusError}
		}
		list = append(list, o)
	}
	scope := object{"scope": object{"name": "github.com/arbiter-cli/arbiter"}, "spans": list}
	return json.Marshal(object{"resourceSpans": []object{{"resource": object{"attributes": attributesOf(resource)},
		"scopeSpans": []object{scope}}}})
}

// attributesOf converts attributes, sorted by name. Attributes without a value are omitted.
func attributesOf[T any](m map[string]T) []object {
	list := make([]object, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		value := object{}
		switch x := any(m[k]).(type) {
		case string:
			if x == "" {
				continue
			}
			value["stringValue"] = x
		case int64:
			value["intValue"] = strconv.FormatInt(x, 10)
		case float64:
			value["doubleValue"] = x
		case bool:
			value["boolValue"] = x
		}
		list = append(list, object{"key": k, "value": value})
	}
	return list
}

// TelemetrySettings say where spans are sent.
type TelemetrySettings struct {
	URL         string // of the collector, with its path; "": telemetry is off
	Header      http.Header
	Timeout     time.Duration     // of one request
	Resource    map[string]string // attributes of this program
	Traceparent string            // of arbiter itself; "": none
}

// defaultTimeout is the request timeout of the specification.
const defaultTimeout = 10 * time.Second

// FromEnvironment reads the variables of OpenTelemetry's specification: OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, and of the OTEL_EXPORTER_OTLP_… family ENDPOINT, HEADERS, TIMEOUT and
// PROTOCOL with their TRACES_ variants; and TRACEPARENT. An error names the variable. Settings without a URL mean
// that telemetry is off.
func FromEnvironment(get func(string) string) (TelemetrySettings, error) {
	of := func(name string) (string, string) {
		for _, full := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value := strings.TrimSpace(get(full)); value != "" {
				return full, value
			}
		}
		return "", ""
	}
	variable, endpoint := of("ENDPOINT")
	exporters := strings.FieldsFunc(cmp.Or(get("OTEL_TRACES_EXPORTER"), "otlp"), func(r rune) bool {
		return r == ',' || r == ' '
	})
	if endpoint == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || !slices.Contains(exporters, "otlp") {
		return TelemetrySettings{}, nil
	}
	if name, protocol := of("PROTOCOL"); strings.EqualFold(protocol, "grpc") {
		return TelemetrySettings{}, fmt.Errorf("%s is grpc, and arbiter sends its own spans over HTTP only: "+
			"for them set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and the endpoint of the collector's HTTP port", name)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return TelemetrySettings{}, fmt.Errorf("%s is not the URL of a collector, such as http://localhost:4318", variable)
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	s := TelemetrySettings{URL: u.String(), Header: http.Header{}, Timeout: defaultTimeout,
		Resource: map[string]string{"service.name": "arbiter"}, Traceparent: strings.TrimSpace(get("TRACEPARENT"))}
	name, headers := of("HEADERS")
	if err := eachPair(headers, s.Header.Add); err != nil {
		return TelemetrySettings{}, fmt.Errorf("%s: %w", name, err)
	}
	err = eachPair(get("OTEL_RESOURCE_ATTRIBUTES"), func(key, value string) { s.Resource[key] = value })
	if err != nil {
		return TelemetrySettings{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if service := get("OTEL_SERVICE_NAME"); service != "" {
		s.Resource["service.name"] = service
	}
	if name, text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return TelemetrySettings{}, fmt.Errorf("%s is not a number of milliseconds: %q", name, text)
		}
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	return s, nil
}

// eachPair calls f with the keys and values of a list such as "a=1,b=2"; values are URL-encoded.
func eachPair(list string, f func(key, value string)) error {
	for _, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, encoded, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if key = strings.TrimSpace(key); !found || err != nil || key == "" {
			return errors.New("it is not a list such as key=value,key=value")
		}
		f(key, value)
	}
	return nil
}

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
	trace TelemetryTrace
	open  map[key]*span
	runs  map[string]int // the generation of each agent
	sent  map[string]sent
	ended *backlog.Queue[span]
}

// sent says when an agent was sent the first message of its turn, and whether more followed.
type sent struct {
	at   time.Time
	more bool
}

// key identifies an open span.
type key struct{ kind, agent, id string }

func newRecorder(t TelemetryTrace) *recorder {
	return &recorder{trace: t, open: map[key]*span{}, runs: map[string]int{}, sent: map[string]sent{},
		ended: backlog.New[span]()}
}

var runKey = key{kind: "run"}

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
	if s.end, s.failed = at, failed; !r.trace.dropped {
		r.ended.Put(*s, 0, backlog.Limit{Items: mostWaiting})
	}
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
	turn := key{"turn", e.ID, ""}
	switch b := e.Body.(type) {
	case contract.Session:
		r.begin(runKey, r.trace.parent, at, "invoke_workflow arbiter", map[string]any{
			"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "arbiter",
			"gen_ai.conversation.id": r.trace.run, "arbiter.resumed": b.Resumed, "arbiter.version": b.Version,
			"arbiter.claude_version": b.ClaudeVersion, "arbiter.rehearsal": b.Rehearsal})
	case contract.Spawn:
		r.spawn(at, e.ID, b)
	case contract.Done:
		r.endAgent(at, e.ID)
	case contract.Result:
		r.endAll(at, func(k key) bool { return k != runKey })
		r.end(runKey, at, b.Status != contract.StatusComplete, map[string]any{"arbiter.status": b.Status,
			"arbiter.cost_usd": b.CostUSD,
			"arbiter.crashes":  int64(b.Crashes), "arbiter.iterations": int64(b.Iterations)})
	case contract.Check:
		r.check(at, e.ID, b)
	case contract.Message:
		if first, ok := r.sent[b.To]; ok {
			r.sent[b.To] = sent{first.at, true}
		} else {
			r.sent[b.To] = sent{at: at}
		}
	case contract.Delivered:
		r.beginTurn(at, e.ID, b.From)
	case contract.Turn:
		r.beginTurn(at, e.ID, "") // of a turn that failed nothing is delivered
		first := r.sent[e.ID]
		if delete(r.sent, e.ID); first.more {
			r.sent[e.ID] = sent{at: at}
		}
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

// beginTurn begins the span of a turn, unless it is open, when its first message was sent: that is delivered only when
// a model has answered.
func (r *recorder) beginTurn(at time.Time, id, from string) {
	agent := r.open[key{"agent", id, ""}]
	if agent == nil || r.open[key{"turn", id, ""}] != nil {
		return
	}
	if first, ok := r.sent[id]; ok {
		at = first.at
	}
	if at.Before(agent.begin) {
		at = agent.begin
	}
	r.begin(key{"turn", id, ""}, r.inner(id, ""), at, "turn", map[string]any{
		"gen_ai.agent.id": id, "arbiter.from": from})
}

// spawn begins the span of an agent's process.
func (r *recorder) spawn(at time.Time, id string, b contract.Spawn) {
	r.endAgent(at, id) // another process continues the agent
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
func (r *recorder) endAgent(at time.Time, id string) {
	r.endAll(at, func(k key) bool { return k.agent == id && k.kind != "agent" })
	r.end(key{"agent", id, ""}, at, false, nil)
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

// TelemetryTrace identifies the trace of a run, and the spans in it that others refer to.
type TelemetryTrace struct {
	run     string
	id      string // 32 hexadecimal digits
	parent  string // of the run's span, 16 hexadecimal digits; "" if it has none
	dropped bool   // the program that started arbiter does not record this trace
}

// NewTrace returns the trace of a run. traceparent is the value with which arbiter itself was started, in the
// format of W3C Trace Context; an invalid value is ignored.
func NewTrace(run, traceparent string) TelemetryTrace {
	t := TelemetryTrace{run: run, id: hash(16, run)}
	version, rest, _ := strings.Cut(traceparent, "-")
	fields := strings.Split(rest, "-")
	if !isID(version, 2) || version == "ff" || len(fields) < 3 || version == "00" && len(fields) > 3 {
		return t
	}
	id, parent, flags := fields[0], fields[1], fields[2]
	if !isID(id, 32) || !isID(parent, 16) || !isID(flags, 2) ||
		strings.Trim(id, "0") == "" || strings.Trim(parent, "0") == "" {
		return t
	}
	sampled, err := strconv.ParseUint(flags, 16, 8)
	t.id, t.parent, t.dropped = id, parent, err == nil && sampled&1 == 0
	return t
}

// Traceparent returns the TRACEPARENT for an agent's process: the agent's span is the parent of its spans.
func (t TelemetryTrace) Traceparent(agent string, generation int) string {
	return t.traceparent(t.agent(agent, generation))
}

// traceparent returns the TRACEPARENT for a process whose spans belong below span.
func (t TelemetryTrace) traceparent(span string) string {
	flags := "01"
	if t.dropped {
		flags = "00"
	}
	return "00-" + t.id + "-" + span + "-" + flags
}

// agent returns the id of an agent's span.
func (t TelemetryTrace) agent(agent string, generation int) string {
	return t.span("agent", agent, strconv.Itoa(generation))
}

// span returns the id of a span that these parts identify in the run.
func (t TelemetryTrace) span(parts ...string) string {
	return hash(8, append([]string{t.run}, parts...)...)
}

// hash computes an id of bytes bytes, as hexadecimal digits.
func hash(bytes int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:bytes])
}

// isID reports whether s has exactly digits lower-case hexadecimal digits.
func isID(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
