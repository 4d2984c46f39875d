package rehearsal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// The stream, event by event, as the API sends it.
func TestStream(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - think: Hm.
        say: Speak, mortal, and be brief.
        use: [{tool: Bash, input: {command: ls}}]
        usage: {input: 1, cache_read: 2, cache_creation: 3, output: 4}
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash").addMessage("x")
	status, header, body := c.do(c.request(true))
	testkit.Check(t, status == 200 && strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") &&
		strings.HasPrefix(header.Get("Request-Id"), "req_"), "status %d, header %v", status, header)
	var got []string
	for ev := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		name, data, ok := strings.Cut(ev, "\n")
		var f frame
		testkit.Need(t, ok && json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &f) == nil &&
			"event: "+f.str("type") == name, "bad event %q", ev)
		for _, random := range []frame{f.sub("message"), f.sub("content_block")} {
			if id := random.str("id"); id != "" {
				random["id"], _, _ = strings.Cut(id, "_")
			}
		}
		b := testkit.Must(json.Marshal(f))(t)
		got = append(got, string(b))
	}
	want := []string{
		`{"message":{"content":[],"id":"msg","model":"claude-opus-5-5","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"input_tokens":1,"output_tokens":1}},"type":"message_start"}`,
		`{"type":"ping"}`,
		`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`,
		`{"delta":{"thinking":"Hm.","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`,
		`{"delta":{"signature":"cmVoZWFyc2Fs","type":"signature_delta"},"index":0,"type":"content_block_delta"}`,
		`{"index":0,"type":"content_block_stop"}`,
		`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`,
		`{"delta":{"text":"Speak, mortal, and be br","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"delta":{"text":"ief.","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"index":1,"type":"content_block_stop"}`,
		`{"content_block":{"id":"toolu","input":{},"name":"Bash","type":"tool_use"},"index":2,"type":"content_block_start"}`,
		`{"delta":{"partial_json":"{\"command\":\"ls\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"index":2,"type":"content_block_stop"}`,
		`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"input_tokens":1,"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	}
	testkit.Same(t, "", want, got)
}

func TestWhole(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {think: Hm., say: "Speak.", use: [{tool: Bash, input: {n: 1.5, list: [a, null, true]}}], stop_reason: max_tokens}
`, rehearsal.Options{})
	a := converse(t, srv, "s", "Bash").ask("x")
	delete(a.Content[2], "id")
	want := []frame{
		{"type": "thinking", "thinking": "Hm.", "signature": "cmVoZWFyc2Fs"},
		{"type": "text", "text": "Speak."},
		{"type": "tool_use", "name": "Bash", "input": map[string]any{"n": 1.5, "list": []any{"a", nil, true}}},
	}
	diff := cmp.Diff(want, a.Content)
	testkit.Check(t, diff == "" && a.Stop == "max_tokens", "stop %s (-want +got):\n%s", a.Stop, diff)
}

const oneWord = `
actors:
  - name: a
    otherwise: {say: word}
`

func TestOtherPaths(t *testing.T) {
	srv := play(t, oneWord, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash").addMessage("x")
	for _, tt := range []struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		{"HEAD", "/", "", "", 200, ""},
		{"GET", "/", "", "", 200, ""},
		{"GET", "/v1/models", "", "", 404, "not_found_error"},
		{"DELETE", "/", "", "", 404, "not_found_error"},
		{"POST", "/v1/messages/count_tokens?beta=true", "",
			`{"model":"m","messages":[{"role":"user","content":"four score"}]}`, 200, `"input_tokens":17`},
		{"POST", "/v1/messages", "", "{}", 401, "authentication_error"},
		{"POST", "/v1/messages", "sk-ant-api03-real", "{}", 401, "authentication_error"},
		{"POST", "/v1/messages", srv.Key(), "{", 400, "invalid_request_error"},
		{"POST", "/v1/messages", srv.Key(), `{"model":"m","messages":[]}`, 400, "model and messages are required"},
		{"POST", "/v1/messages", srv.Key(), strings.Repeat(" ", 64<<20+1), 413, "request_too_large"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, srv.URL()+tt.path, strings.NewReader(tt.body))
		testkit.OK(t, err)
		if tt.key != "" {
			req.Header.Set("Authorization", "Bearer "+tt.key)
		}
		status, _, body := c.do(req)
		testkit.Check(t, status == tt.status && strings.Contains(body, tt.want),
			"%s %s: %d %s; want %d %s", tt.method, tt.path, status, body, tt.status, tt.want)
	}
	for _, p := range srv.Problems() {
		testkit.Excludes(t, "a key was kept", p, "api03")
	}
	wantProblems(t, srv, "carried no key", "real credentials must not come here", "read request: ",
		"model and messages are required")
}

// sent sends a request, and returns what ended its answer. The tests wait for that.
func sent(req *http.Request) <-chan error {
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		failed <- err
	}()
	return failed
}

// Close ends waits of the script that would never end, and waits for their goroutines.
func TestCloseEndsWaits(t *testing.T) {
	for _, how := range []string{"delay: 24h", "fault: {stall: 24h}", "fault: {stall_mid: 24h}", "chunk_delay: 24h"} {
		t.Run(how, func(t *testing.T) {
			srv := play(t, "actors:\n  - name: a\n    steps:\n      - say: a word\n        "+how+"\n",
				rehearsal.Options{})
			failed := sent(converse(t, srv, "s", "Bash").addMessage("x").request(true))
			awaitRequests(t, srv, 1)
			testkit.Works(t, "close", srv.Close())
			testkit.Check(t, testkit.Receive(t, "the answer's end", failed) != nil, "the cut answer looks whole")
		})
	}
}

// The pace delays the answers of the play, and no others.
func TestPace(t *testing.T) {
	srv := play(t, oneWord, rehearsal.Options{Pace: 24 * time.Hour})
	testkit.Same(t, "beside the play", "A rehearsal.", converse(t, srv, "s").askText("a title, please"))
	ctx, cancel := context.WithCancel(t.Context())
	failed := sent(converse(t, srv, "s", "Bash").addMessage("x").request(false).WithContext(ctx))
	awaitRequests(t, srv, 2)
	cancel()
	testkit.Fails(t, "the answer did not wait", <-failed, context.Canceled)
}

func TestRecord(t *testing.T) {
	long := strings.Repeat("x", 10000)
	for _, record := range []bool{false, true} {
		var log bytes.Buffer
		srv := play(t, oneWord,
			rehearsal.Options{Record: record,
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		c := converse(t, srv, "session-1", "Bash")
		c.agent = "a7"
		c.askText(long)
		r := srv.Requests()[0]
		testkit.Check(t, r.Session == "session-1" && r.Agent == "a7" && r.Role == rehearsal.RoleSubagent &&
			r.Actor == "a" && r.Step == "test.yaml:4", "record %+v", r)
		testkit.Same(t, "", []string{"Bash"}, r.Tools)
		whole := len(r.First) == 10000 && r.System == "You are an agent." && json.Valid(r.Messages) && json.Valid(r.Body)
		summary := len(r.First) == 4096 && r.System == "" && r.Messages == nil && r.Body == nil
		testkit.Check(t, (!record || whole) && (record || summary), "record %v: %+v", record, r)
		testkit.Works(t, "close", srv.Close())
		testkit.Includes(t, "log", log.String(), "step=test.yaml:4")
	}
}
