package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// spent adds a line of an assistant with usage.
func (s *scribe) spent(id string, tokens int, more m) string {
	fields := m{"type": "assistant",
		"message": m{"id": id, "role": "assistant", "model": "opus", "content": []m{text("x")},
			"usage": m{"input_tokens": 1, "cache_read_input_tokens": tokens - 1, "output_tokens": 9}}}
	maps.Copy(fields, more)
	return s.line(fields)
}

func (s *scribe) compacts(post int) {
	s.line(m{"type": "system", "subtype": "compact_boundary", "parentUuid": nil, "logicalParentUuid": s.leaf,
		"compactMetadata": m{"trigger": "auto", "postTokens": post}})
}

func inFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), session+extension)
	testkit.OK(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestNewest(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(*scribe) // after a message of 100 tokens
		tail  string        // after the end of the last line
		want  string
	}{
		{"an empty file", func(s *scribe) { s.lines = nil }, "", "nothing"},
		{"no answer yet", func(s *scribe) { s.lines = nil; s.prompt("A") }, "", "nothing"},
		{"the only line", func(*scribe) {}, "", "100"},
		{"the last of two", func(s *scribe) { s.spent("m2", 200, nil); s.result("t", false) }, "", "200"},
		{"blocks of one message", func(s *scribe) { s.spent("m1", 100, nil) }, "", "100"},
		{"a subagent's", func(s *scribe) { s.spent("m2", 900, m{"isSidechain": true}) }, "", "100"},
		{"synthetic", func(s *scribe) { s.own("No response requested.", false) }, "", "100"},
		{"synthetic, with usage", func(s *scribe) {
			s.spent("m2", 9, m{"message": m{"id": "m2", "model": "<synthetic>", "usage": m{"input_tokens": 9}}})
		}, "", "100"},
		{"an API error", func(s *scribe) { s.spent("m2", 200, m{"isApiErrorMessage": true}) }, "", "100"},
		{"nothing used", func(s *scribe) {
			s.line(m{"type": "assistant", "message": m{"id": "m2", "model": "opus", "usage": m{"input_tokens": 0}}})
		}, "", "100"},
		{"less than nothing", func(s *scribe) { s.spent("m2", -50, nil) }, "", "100"},
		{"no count at all", func(s *scribe) {
			s.line(m{"type": "assistant",
				"message": m{"id": "m2", "model": "opus", "usage": m{"input_tokens": "many"}}})
		}, "", "100"},
		{"another session's", func(s *scribe) { s.spent("m2", 200, m{"sessionId": "else"}) }, "", "100"},
		{"a compaction", func(s *scribe) { s.compacts(42); s.user("summary", false) }, "", "compacted"},
		{"a subagent's compaction", func(s *scribe) {
			s.line(m{"type": "system", "subtype": "compact_boundary", "isSidechain": true})
		}, "", "100"},
		{"another session's compaction", func(s *scribe) {
			s.line(m{"type": "system", "subtype": "compact_boundary", "sessionId": "else"})
		}, "", "100"},
		{"read after a compaction", func(s *scribe) { s.compacts(42); s.spent("m2", 50, nil) }, "", "50"},
		{"a cut last line", func(*scribe) {}, `{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7`, "100"},
		{"a last line without its end", func(*scribe) {},
			`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7}}}`, "100"},
		{"a cut line as long as many blocks", func(*scribe) {}, strings.Repeat("x", 5<<20), "100"},
		{"a stub joined with the line", func(s *scribe) { s.lines[0] = `{"type":"pr-link","prNu` + s.lines[0] },
			"", "100"},
		{"two on a line", func(s *scribe) { s.spent("m2", 200, nil); s.lines = []string{s.lines[0] + s.lines[1]} },
			"", "200"},
		{"a compaction before it on a line", func(s *scribe) {
			s.lines = nil
			s.compacts(42)
			s.spent("m2", 200, nil)
			s.lines = []string{s.lines[0] + s.lines[1]}
		}, "", "200"},
		{"NULs and garbage behind", func(s *scribe) { s.lines = append(s.lines, "\x00\x00", `{"usage"`) }, "", "100"},
		{"a text that quotes a transcript", func(s *scribe) {
			s.user(`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7}}}`+"\n"+`"compact_boundary"`,
				false)
		}, "", "100"},
		{"long lines behind", func(s *scribe) {
			for n := range 5 {
				s.user(strings.Repeat("y", 3*firstLook+n), false)
			}
		}, "", "100"},
		{"in a long line", func(s *scribe) {
			s.lines = nil
			s.prompt("A")
			s.spent("m1", 100, m{"toolUseResult": strings.Repeat("z", 3*maxBlock)})
			s.prompt("B")
		}, "", "100"},
		{"CRLF", func(s *scribe) { s.lines[0] += "\r"; s.lines = append(s.lines, "\r", "") }, "", "100"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scribe{}
			s.spent("m1", 100, nil)
			test.write(s)
			content := test.tail
			if len(s.lines) > 0 {
				content = s.String() + test.tail
			}
			n := testkit.Must(ReadNewest(inFile(t, content)))(t)
			got := "nothing"
			switch {
			case n.Found:
				got = fmt.Sprint(n.Sample.Usage.Context())
			case n.Compacted:
				got = "compacted"
			}
			testkit.Check(t, got == test.want, "%s, want %s: %+v", got, test.want, n)
		})
	}
}

// TestNewestBehind: a reading is found behind lines of any sizes, and looked for within a limit.
func TestNewestBehind(t *testing.T) {
	reading := &scribe{}
	reading.spent("m1", 100, nil)
	for _, sizes := range [][]int{{0}, {0, 0}, {1}, {firstLook - 1}, {firstLook}, {firstLook + 1},
		{firstLook - 1, 0, firstLook}, {10, 5 * firstLook, 10}, {3, maxBlock, maxBlock + 1, 2*maxBlock - 1, 7},
		{5 << 20, 1, 5 << 20}} {
		for _, tail := range []string{"", "cut", strings.Repeat("c", 3*firstLook)} {
			content := reading.String()
			for i, n := range sizes {
				content += strings.Repeat(string(rune('a'+i)), n) + "\n"
			}
			n := testkit.Must(ReadNewest(inFile(t, content+tail)))(t)
			testkit.Check(t, n.Sample.Usage.Context() == 100, "sizes %v, tail of %d: %+v", sizes, len(tail), n)
		}
	}
	path := inFile(t, reading.String())
	testkit.OK(t, os.Truncate(path, maxLook+1<<20)) // with NULs
	n := testkit.Must(ReadNewest(path))(t)
	testkit.Same(t, "beyond the limit", Newest{}, n)
	// A file that shrinks while it is read is an error, not a shorter file.
	n, err := newestOf(strings.NewReader("a\nb\n"), 100, session)
	testkit.Check(t, errors.Is(err, io.ErrUnexpectedEOF), "%+v, %v", n, err)
}

// maxBlock is the size of a large line.
const maxBlock = 1 << 20

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

// sent is a message that the CLI has read, with some other fields.
func (s *scribe) sent(id string, more m) {
	fields := m{"type": "user", "uuid": id, "promptSource": "sdk",
		"message": m{"role": "user", "content": "words of " + id}}
	maps.Copy(fields, more)
	s.line(fields)
}

// steer is a message that the CLI has folded into a turn.
func (s *scribe) steer(id string) {
	s.line(m{"type": "attachment", "attachment": m{"type": "queued_command", "source_uuid": id, "prompt": "left"}})
}

func (s *scribe) prompt(id string) string {
	s.sent(id, nil)
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
	return testkit.Each(statuses,
		func(f Delivery) string { return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.ID, f.State, f.Verdict)) })
}

func twoBranches(s *scribe) (fork string) {
	fork = s.assistant("end_turn", text("one"))
	s.prompt("B")
	s.assistant("end_turn", text("two"))
	s.leaf = fork
	s.prompt("C")
	s.rule("t1", m{"n": 1})
	return fork
}

func TestDeliveryStatuses(t *testing.T) {
	verdict := m{"message": "m"}
	for _, test := range []struct {
		name  string
		write func(*scribe) // after the prompt A
		want  []string
	}{
		{"nothing", func(s *scribe) { s.lines = nil }, []string{"A absent"}},
		{"waiting for the API", func(*scribe) {}, []string{"A seen"}},
		{"closed by a resume", func(s *scribe) { s.own("No response requested.", false); s.prompt("B") },
			[]string{"A seen", "B seen"}},
		{"a tool runs", func(s *scribe) { s.assistant("tool_use", use("t1", "Bash", m{})) }, []string{"A begun"}},
		{"a tool ran", func(s *scribe) { s.assistant("tool_use", use("t1", "Bash", m{})); s.result("t1", false) },
			[]string{"A begun"}},
		{"a tool ran, closed by a resume", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.own("No response requested.", false)
			s.prompt("B")
			s.rule("t2", verdict) // B's, not A's
		}, []string{"A begun", `B ruled {"message":"m"}`}},
		{"ruled", func(s *scribe) { s.rule("t1", verdict) }, []string{`A ruled {"message":"m"}`}},
		{"ruled, and more followed", func(s *scribe) { s.rule("t1", verdict); s.prompt("B") },
			[]string{`A ruled {"message":"m"}`, "B seen"}},
		{"verdict called only", func(s *scribe) { s.assistant("tool_use", use("t1", "StructuredOutput", verdict)) },
			[]string{"A begun"}},
		{"verdict accepted, its result not written", func(s *scribe) {
			s.assistant("tool_use", use("t1", "StructuredOutput", verdict))
			s.line(m{"type": "attachment", "attachment": m{"type": "structured_output", "data": m{"message": "m"},
				"toolUseID": "t1"}})
		}, []string{`A ruled {"message":"m"}`}},
		{"verdict refused", func(s *scribe) {
			s.assistant("tool_use", use("t1", "StructuredOutput", m{"x": 1}))
			s.result("t1", true)
		}, []string{"A begun"}},
		{"verdict refused, then good", func(s *scribe) {
			s.assistant("tool_use", use("t1", "StructuredOutput", m{"x": 1}))
			s.result("t1", true)
			s.rule("t2", verdict)
		}, []string{`A ruled {"message":"m"}`}},
		{"interrupted in a tool", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.user("[Request interrupted by user for tool use]", false)
		}, []string{"A ended"}},
		{"interrupted before the first word", func(s *scribe) { s.user("[Request interrupted by user]", false) },
			[]string{"A seen"}},
		{"a message with the words of an interrupt", func(s *scribe) {
			s.sent("B", m{"message": m{"role": "user", "content": "[Request interrupted by user]"}})
		}, []string{"A seen", "B seen"}},
		{"API failure", func(s *scribe) { s.own("API Error: 500", true) }, []string{"A seen"}},
		{"API failure after a tool", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", true)
			s.own("API Error: 500", true)
		}, []string{"A ended"}},
		{"plain text", func(s *scribe) { s.assistant("end_turn", text("done")) }, []string{"A ended"}},
		{"plain text, verdict asked for", func(s *scribe) {
			s.assistant("end_turn", text("done"))
			s.user("[structured-output-enforce] You MUST …", true)
		}, []string{"A begun"}},
		{"plain text twice", func(s *scribe) {
			s.assistant("end_turn", text("done"))
			s.user("[structured-output-enforce] You MUST …", true)
			s.assistant("end_turn", text("done, I say"))
		}, []string{"A ended"}},
		{"token limit", func(s *scribe) { s.assistant("max_tokens", text("and so")) }, []string{"A begun"}},
		{"model set in mid-turn", func(s *scribe) {
			s.user("<local-command-stdout>Set model to haiku</local-command-stdout>", false)
			s.rule("t1", verdict)
		}, []string{`A ruled {"message":"m"}`}},
		{"folded in, not answered yet", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.result("t1", false)
			s.steer("B")
		}, []string{"A begun", "B seen"}},
		{"folded in, and merged", func(s *scribe) {
			s.steer("B")
			s.rule("t2", verdict)
			s.sent("D", m{"mergedSendUuids": []string{"C"}})
		}, []string{`A ruled {"message":"m"}`, `B ruled {"message":"m"}`, "C seen", "D seen", "E absent"}},
		{"queued, never folded in", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.lines = append(s.lines,
				`{"type":"queue-operation","operation":"enqueue","content":"left","sessionId":"`+session+`"}`)
		}, []string{"A begun", "B absent"}},
		// The verdict's line is not on the path from the last line to the root: the other tool's result is the last
		// line, and it continues its own call.
		{"parallel tools", func(s *scribe) {
			part := func(tool m) string {
				return s.line(m{"type": "assistant",
					"message": m{"id": "msg_x", "stop_reason": "tool_use", "content": []m{tool}}})
			}
			call := part(use("t1", "Bash", m{}))
			part(use("t2", "StructuredOutput", verdict))
			s.result("t2", false)
			s.leaf = call
			s.result("t1", false)
			s.prompt("B")
		}, []string{`A ruled {"message":"m"}`, "B seen"}},
		{"two processes wrote one session: the last branch counts", func(s *scribe) { twoBranches(s) },
			[]string{"A ended", "B absent", `C ruled {"n":1}`}},
		{"the latest branch counts", func(s *scribe) {
			fork := twoBranches(s)
			s.sent("D", m{"parentUuid": fork, "timestamp": "2026-11-20T00:00:00.000Z"})
		}, []string{"A ended", "B absent", `C ruled {"n":1}`, "D absent"}},
		{"a clock that was set back", func(s *scribe) {
			s.rule("t1", verdict)
			for i, l := range s.lines {
				s.lines[i] = strings.Replace(l, "2026-11-21", "2026-11-22", 1)
			}
			s.sent("B", m{"timestamp": "2026-11-20T00:00:00.000Z"})
			s.line(m{"type": "assistant", "timestamp": "2026-11-20T00:00:01.000Z",
				"message": m{"stop_reason": "end_turn", "content": []m{text("x")}}})
		}, []string{`A ruled {"message":"m"}`, "B ended"}},
		{"compacted in mid-turn", func(s *scribe) {
			s.assistant("tool_use", use("t1", "Bash", m{}))
			s.compacts(42)
			s.line(m{"type": "user", "isCompactSummary": true,
				"message": m{"role": "user", "content": "This session is being continued …"}})
			s.rule("t2", verdict)
		}, []string{`A ruled {"message":"m"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scribe{}
			s.prompt("A")
			test.write(s)
			var ids []string
			for _, w := range test.want {
				id, _, _ := strings.Cut(w, " ")
				ids = append(ids, id)
			}
			testkit.Same(t, s, test.want, statuses(t, s.String(), ids...))
		})
	}
}
