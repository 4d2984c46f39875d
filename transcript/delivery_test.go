package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const session = "0b1f1a6e-0000-4000-8000-000000000001"

// scribe writes a transcript as the CLI does: each line continues the last one.
type scribe struct {
	lines []string
	leaf  string
	n     int
}

func (s *scribe) line(fields map[string]any) string {
	s.n++
	if _, ok := fields["uuid"]; !ok {
		fields["uuid"] = fmt.Sprintf("u%d", s.n)
	}
	if _, ok := fields["parentUuid"]; !ok {
		fields["parentUuid"] = s.leaf
		if s.leaf == "" {
			fields["parentUuid"] = nil
		}
	}
	if _, ok := fields["timestamp"]; !ok {
		fields["timestamp"] = fmt.Sprintf("2026-11-21T06:%02d:00.000Z", s.n)
	}
	if _, ok := fields["sessionId"]; !ok {
		fields["sessionId"] = session
	}
	s.leaf = fields["uuid"].(string)
	parent, _ := json.Marshal(fields["parentUuid"])
	delete(fields, "parentUuid")
	data, _ := json.Marshal(fields)
	s.lines = append(s.lines, `{"parentUuid":`+string(parent)+","+string(data[1:])) // as the CLI's lines begin
	return s.leaf
}

type m = map[string]any

func (s *scribe) prompt(id string) string {
	s.line(m{"type": "user", "uuid": id, "promptSource": "sdk",
		"message": m{"role": "user", "content": "words of " + id}})
	return s.line(m{"type": "attachment", "attachment": m{"type": "environment"}})
}

func (s *scribe) assistant(stop string, blocks ...m) string {
	return s.line(m{"type": "assistant", "message": m{"id": fmt.Sprintf("msg_%d", s.n), "role": "assistant",
		"model": "opus", "stop_reason": stop, "content": blocks}})
}

func text(t string) m { return m{"type": "text", "text": t} }

func use(id, name string, input any) m {
	return m{"type": "tool_use", "id": id, "name": name, "input": input}
}

func (s *scribe) result(id string, isError bool) string {
	return s.line(m{"type": "user",
		"message": m{"role": "user",
			"content": []m{{"type": "tool_result", "tool_use_id": id, "content": "x", "is_error": isError}}}})
}

func (s *scribe) user(t string, meta bool) string {
	return s.line(m{"type": "user", "isMeta": meta, "message": m{"role": "user", "content": []m{text(t)}}})
}

// own adds a text by the CLI in the assistant's name.
func (s *scribe) own(t string, apiError bool) string {
	return s.line(m{"type": "assistant", "isApiErrorMessage": apiError,
		"message": m{"role": "assistant", "model": "<synthetic>", "stop_reason": "stop_sequence",
			"content": []m{text(t)}}})
}

func (s *scribe) rule(id string, input any) {
	s.assistant("tool_use", use(id, "StructuredOutput", input))
	s.result(id, false)
}

func (s *scribe) String() string { return strings.Join(s.lines, "\n") + "\n" }

// statuses returns the states of a transcript's messages, with the verdicts.
func statuses(t *testing.T, content string, ids ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), session+".jsonl")
	testkit.OK(t, os.WriteFile(path, []byte(content), 0o600))
	got := testkit.Must(ReadDeliveries(context.Background(), path, ids))(t)
	return render(got)
}

func render(statuses []Delivery) []string {
	var out []string
	for _, f := range statuses {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.ID, f.State, f.Verdict)))
	}
	return out
}

func TestDeliveryStatuses(t *testing.T) {
	verdict := m{"message": "m"}
	for _, test := range []struct {
		name  string
		write func(*scribe)
		want  []string
	}{
		{"nothing", func(s *scribe) {}, []string{"A absent"}},
		{"waiting for the API", func(s *scribe) { s.prompt("A") }, []string{"A seen"}},
		{"closed by a resume", func(s *scribe) {
			s.prompt("A")
			s.own("No response requested.", false)
			s.prompt("B")
		}, []string{"A seen", "B seen"}},
		{"a tool runs", func(s *scribe) { s.prompt("A"); s.assistant("tool_use", use("t1", "Bash", m{})) },
			[]string{"A begun"}},
		{"a tool ran", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", false)
		}, []string{"A begun"}},
		{"a tool ran, closed by a resume", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.own("No response requested.", false)
			s.prompt("B")
			s.rule("t2", verdict) // B's, not A's
		}, []string{"A begun", `B ruled {"message":"m"}`}},
		{"ruled", func(s *scribe) { s.prompt("A"); s.rule("t1", verdict) }, []string{`A ruled {"message":"m"}`}},
		{"ruled, and more followed", func(s *scribe) { s.prompt("A"); s.rule("t1", verdict); s.prompt("B") },
			[]string{`A ruled {"message":"m"}`, "B seen"}},
		{"verdict called only", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "StructuredOutput", verdict))
		}, []string{"A begun"}},
		{"verdict accepted, its result not written", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "StructuredOutput", verdict))
			s.line(m{"type": "attachment", "attachment": m{"type": "structured_output", "data": m{"message": "m"},
				"toolUseID": "t1"}})
		}, []string{`A ruled {"message":"m"}`}},
		{"verdict refused", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "StructuredOutput", m{"x": 1}))
			s.result("t1", true)
		}, []string{"A begun"}},
		{"verdict refused, then good", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "StructuredOutput", m{"x": 1}))
			s.result("t1", true)
			s.rule("t2", verdict)
		}, []string{`A ruled {"message":"m"}`}},
		{"interrupted in a tool", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.user("[Request interrupted by user for tool use]", false)
		}, []string{"A ended"}},
		{"interrupted before the first word", func(s *scribe) {
			s.prompt("A")
			s.user("[Request interrupted by user]", false)
		}, []string{"A seen"}},
		{"a message with the words of an interrupt", func(s *scribe) {
			s.prompt("A")
			s.line(m{"type": "user", "uuid": "B", "promptSource": "sdk",
				"message": m{"role": "user", "content": "[Request interrupted by user]"}})
		}, []string{"A seen", "B seen"}},
		{"API failure", func(s *scribe) { s.prompt("A"); s.own("API Error: 500", true) }, []string{"A seen"}},
		{"API failure after a tool", func(s *scribe) {
			s.prompt("A")
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.own("API Error: 500", true)
		}, []string{"A ended"}},
		{"plain text", func(s *scribe) { s.prompt("A"); s.assistant("end_turn", text("done")) }, []string{"A ended"}},
		{"plain text, verdict asked for", func(s *scribe) {
			s.prompt("A")
			s.assistant("end_turn", text("done"))
			s.user("[structured-output-enforce] You MUST …", true)
		}, []string{"A begun"}},
		{"plain text twice", func(s *scribe) {
			s.prompt("A")
			s.assistant("end_turn", text("done"))
			s.user("[structured-output-enforce] You MUST …", true)
			s.assistant("end_turn", text("done, I say"))
		}, []string{"A ended"}},
		{"token limit", func(s *scribe) { s.prompt("A"); s.assistant("max_tokens", text("and so")) }, []string{"A begun"}},
		{"model set in mid-turn", func(s *scribe) {
			s.prompt("A")
			s.user("<local-command-stdout>Set model to haiku</local-command-stdout>", false)
			s.rule("t1", verdict)
		}, []string{`A ruled {"message":"m"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scribe{}
			test.write(s)
			var ids []string
			for _, w := range test.want {
				id, _, _ := strings.Cut(w, " ")
				ids = append(ids, id)
			}
			if diff := cmp.Diff(test.want, statuses(t, s.String(), ids...)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, s)
			}
		})
	}
}

func TestFoldedAndMergedMessages(t *testing.T) {
	steer := func(s *scribe, id string) {
		s.line(m{"type": "attachment", "attachment": m{"type": "queued_command", "source_uuid": id, "prompt": "left"}})
	}
	s := &scribe{}
	s.prompt("A")
	s.assistant("tool_use", use("t1", "Bash", m{}))
	s.result("t1", false)
	steer(s, "B")
	testkit.Same(t, "folded in, not answered yet", []string{"A begun", "B seen"}, statuses(t, s.String(), "A", "B"))
	s.rule("t2", m{"n": 1})
	s.line(m{"type": "user", "uuid": "D", "promptSource": "sdk", "mergedSendUuids": []string{"C"},
		"message": m{"role": "user", "content": "c\nd"}})
	want := []string{`A ruled {"n":1}`, `B ruled {"n":1}`, "C seen", "D seen", "E absent"}
	testkit.Same(t, "", want, statuses(t, s.String(), "A", "B", "C", "D", "E"))
	s = &scribe{}
	s.prompt("A")
	s.assistant("tool_use", use("t1", "Bash", m{}))
	s.lines = append(s.lines, `{"type":"queue-operation","operation":"enqueue","content":"left","sessionId":"`+session+
		`"}`)
	testkit.Same(t, "queued, never folded in", []string{"A begun", "B absent"}, statuses(t, s.String(), "A", "B"))
}

func TestParallelTools(t *testing.T) {
	// The verdict's line is not on the path from the last line to the root: the other tool's result is the last
	// line, and it continues its own call.
	s := &scribe{}
	s.prompt("A")
	call := s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "stop_reason": "tool_use", "content": []m{use("t1", "Bash", m{})}}})
	s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "stop_reason": "tool_use",
			"content": []m{use("t2", "StructuredOutput", m{"n": 1})}}})
	s.result("t2", false)
	s.leaf = call
	s.result("t1", false)
	s.prompt("B")
	testkit.Same(t, "", []string{`A ruled {"n":1}`, "B seen"}, statuses(t, s.String(), "A", "B"))
}

func TestBranches(t *testing.T) {
	// Two processes wrote one session.
	s := &scribe{}
	s.prompt("A")
	fork := s.assistant("end_turn", text("one"))
	s.prompt("B")
	s.assistant("end_turn", text("two"))
	s.leaf = fork
	s.prompt("C")
	s.rule("t1", m{"n": 1})
	want := []string{"A ended", "B absent", `C ruled {"n":1}`}
	testkit.Same(t, "the last branch counts", want, statuses(t, s.String(), "A", "B", "C"))
	s.line(m{"type": "user", "uuid": "D", "parentUuid": fork, "promptSource": "sdk",
		"timestamp": "2026-11-20T00:00:00.000Z", "message": m{"role": "user", "content": "old"}})
	testkit.Same(t, "the latest branch counts", append(want, "D absent"), statuses(t, s.String(), "A", "B", "C", "D"))
}

func TestClockSetBack(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.rule("t1", m{"n": 1})
	s.n = -50 // the day before, in effect
	for i, l := range s.lines {
		s.lines[i] = strings.Replace(l, "2026-11-21", "2026-11-22", 1)
	}
	s.line(m{"type": "user", "uuid": "B", "promptSource": "sdk", "timestamp": "2026-11-20T00:00:00.000Z",
		"message": m{"role": "user", "content": "b"}})
	s.line(m{"type": "assistant", "timestamp": "2026-11-20T00:00:01.000Z", "uuid": "b2",
		"message": m{"stop_reason": "end_turn", "content": []m{text("x")}}})
	testkit.Same(t, "", []string{`A ruled {"n":1}`, "B ended"}, statuses(t, s.String(), "A", "B"))
}

func TestCompaction(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	last := s.assistant("tool_use", use("t1", "Bash", m{}))
	s.line(m{"type": "system", "subtype": "compact_boundary", "parentUuid": nil, "logicalParentUuid": last})
	s.line(m{"type": "user", "isCompactSummary": true,
		"message": m{"role": "user", "content": "This session is being continued …"}})
	s.rule("t2", m{"n": 1})
	testkit.Same(t, "compacted in mid-turn", []string{`A ruled {"n":1}`}, statuses(t, s.String(), "A"))
}
