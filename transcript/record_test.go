package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestDecode(t *testing.T) {
	of := func(kind string, more func(r *Record)) *Record {
		r := &Record{Type: kind, Session: session, UUID: "u", Parent: "p", Timestamp: "2026-11-21T06:01:00.000Z"}
		if more != nil {
			more(r)
		}
		return r
	}
	const common = `"uuid":"u","parentUuid":"p","timestamp":"2026-11-21T06:01:00.000Z","sessionId":"` + session + `"`
	for _, test := range []struct {
		name, line string
		want       *Record
	}{
		{"user", `{"parentUuid":"p","isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"promptSource":"sdk","mergedSendUuids":["a","b"],` + common + `}`,
			of("user", func(r *Record) {
				r.PromptSource, r.Merged, r.Message.Content = "sdk", []string{"a", "b"}, json.RawMessage(`"hi"`)
			})},
		{"assistant", `{"message":{"id":"m1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"\"}]"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":9,"cache_creation":{"input_tokens":7}}},"type":"assistant",` + common + `}`,
			of("assistant", func(r *Record) {
				r.Message = Message{ID: "m1", Model: "opus", StopReason: "end_turn",
					Usage:   Usage{Input: 3, CacheCreation: 10, CacheRead: 100, Output: 9},
					Content: json.RawMessage(`[{"type":"text","text":"\"}]"}]`)}
			})},
		{"attachment",
			`{"type":"attachment","attachment":{"type":"structured_output","toolUseID":"t1","data":{"n":[1]}},` +
				common + `}`,
			of("attachment", func(r *Record) {
				r.Attachment.Kind, r.Attachment.ToolUseID = "structured_output", "t1"
				r.Attachment.Data = json.RawMessage(`{"n":[1]}`)
			})},
		{"compaction", `{"type":"system","subtype":"compact_boundary","logicalParentUuid":"l","compactMetadata":{"trigger":"auto","preTokens":180013,"postTokens":2624,"preservedSegment":{"preTokens":1}},` + common + `}`,
			of("system", func(r *Record) { r.Logical, r.Subtype = "l", "compact_boundary" })},
		{"compaction that says nothing", `{"type":"system","subtype":"compact_boundary",` + common + `}`,
			of("system", func(r *Record) { r.Subtype = "compact_boundary" })},
		{"compact summary", `{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"x"},` + common +
			`}`,
			of("user", func(r *Record) { r.CompactSummary, r.Message.Content = true, json.RawMessage(`"x"`) })},
		{"queue operation", `{"type":"queue-operation","operation":"enqueue","content":"later",` + common + `}`,
			of("queue-operation", nil)},
		{"cost state", `{"type":"cost-state","totalCostUSD":0.25,"modelUsage":{"opus":{}},` + common + `}`,
			of("cost-state", nil)},
		{"unknown", `{"type":"novelty",` + common + `}`, of("novelty", nil)},
		{"escaped names and values", `{"ty\u0070e":"us\u0065r","uuid":"\u0075","parentUuid":"p","timestamp":"2026-11-21T06:01:00.000Z","sessionId":"` + session + `"}`, of("user", nil)},
		{"nulls", `{"type":"user","isMeta":null,"message":null,"agentId":null,"mergedSendUuids":null,` + common + `}`,
			of("user", nil)},
		{"blanks", " { \"type\" :\t\"user\" , " + common + " , \"x\" : [ 1 , { } ] }\r", of("user", nil)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, whole := Decode([]byte(test.line))
			testkit.Need(t, whole && len(got) == 1, "%v, whole %v", got, whole)
			testkit.Same(t, "", test.want, got[0])
		})
	}
}

// A known field with a wrong type degrades only its record, and hides no other field.
func TestOddFields(t *testing.T) {
	for name, line := range map[string]string{
		"isMeta": `{"type":"user","isMeta":"no","uuid":"u"}`, "message": `{"type":"user","message":"text","uuid":"u"}`,
		"mergedSendUuids":            `{"type":"user","mergedSendUuids":7,"uuid":"u"}`,
		"message.usage":              `{"type":"assistant","message":{"usage":[]},"uuid":"u"}`,
		"message.id":                 `{"type":"assistant","message":{"id":{}},"uuid":"u"}`,
		"message.usage.input_tokens": `{"type":"assistant","message":{"usage":{"input_tokens":1.5}},"uuid":"u"}`,
		"attachment":                 `{"type":"attachment","attachment":[],"uuid":"u"}`,
		"isSidechain":                `{"type":"user","isSidechain":1,"uuid":"u"}`,
		"subtype":                    `{"type":"system","subtype":1,"uuid":"u"}`,
		"parentUuid":                 `{"type":"system","parentUuid":[],"uuid":"u"}`,
	} {
		got, whole := Decode([]byte(line))
		testkit.Need(t, whole && len(got) == 1, "%s: %v, whole %v", name, got, whole)
		testkit.Check(t, got[0].Type != "" && got[0].UUID == "u", "%s: %#v", name, got[0])
	}
	got, _ := Decode([]byte(`{"type":7,"uuid":"u"}`))
	testkit.Check(t, got[0].Type == "" && got[0].UUID == "u", "a type that is not a text: %#v", got[0])
}

func TestDamagedLines(t *testing.T) {
	const a, b = `{"type":"user","uuid":"A","message":{"content":"x"}}`,
		`{"parentUuid":"A","type":"assistant","uuid":"B","message":{"content":[{"text":"{\"type\":\"user\"}"}]}}`
	for _, test := range []struct{ name, line, want string }{
		{"a stub", `{"type":"pr-link","prNu` + b, "B"},
		{"a stub in a nested text", `{"type":"user","message":{"content":[{"te` + b, "B"},
		{"a stub that ends between texts", `{"type":"user","message":{"content":[{"text":` + b, "B"},
		{"stubs", strings.Repeat(`{"type":"x","y`, 7) + a, "A"},
		{"more stubs than are searched", strings.Repeat(`{"type":"x","y`, 9) + a, ""},
		{"two stubs whose brackets fit", `{"type":"user","uuid":"S","x":["k{"type":"]}`, ""},
		{"a missing line end", a + b, "A B"},
		{"garbage before, between and behind", "garbage" + a + "\x00\xff{}" + b + "]", "A B"},
		{"NULs", "\x00\x00\x00" + a, "A"},
		{"NULs in a text", `{"type":"user","uuid":"A","message":{"content":"` + "\x00\x00" + `"}}`, ""},
		{"a byte order mark", "\ufeff" + a, "A"},
		{"a cut line", a[:len(a)-2], ""},
		{"no object", `{{}`, ""},
	} {
		records, whole := Decode([]byte(test.line))
		ids := testkit.Each(records, func(r *Record) string { return r.UUID })
		testkit.Same(t, fmt.Sprintf("%s: got", test.name), test.want, strings.Join(ids, " "))
		testkit.Same(t, fmt.Sprintf("%s: whole", test.name), false, whole)
	}
	for _, line := range []string{"", " \r", "[1]", "null", `"text"`, "7"} {
		records, whole := Decode([]byte(line))
		testkit.Check(t, whole && len(records) == 0, "%q: %v, whole %v", line, records, whole)
	}
	records, whole := Decode([]byte("{\"type\":\"user\",\"uuid\":\"\xffA\",\"message\":{\"content\":\"\xc3\"}}"))
	testkit.Check(t, whole && len(records) == 1 && records[0].UUID == "\ufffdA", "invalid UTF-8: %v, whole %v",
		records, whole)
}

// A verdict in a line that only looks like JSON is none.
func TestVerdictIsJSON(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.line(m{"type": "attachment",
		"attachment": m{"type": "structured_output", "toolUseID": "t1", "data": m{"n": true}}})
	s.assistant("tool_use", use("t1", "StructuredOutput", m{"n": true}))
	got := statuses(t, s.String(), "A")[0]
	testkit.Need(t, got == `A ruled {"n":true}`, "%v", got)
	testkit.Same(t, "", "A begun", statuses(t, strings.Replace(s.String(), `"data":{"n":true}`, `"data":{"n":tru}`, 1),
		"A")[0])
}

// FuzzRecords: no line makes the decoder panic, and a line that is a JSON object is one record.
func FuzzRecords(f *testing.F) {
	seen := map[string]bool{}
	for _, line := range corpusLines(f) {
		records, _ := Decode(line)
		if kind := records[0].Type; len(line) < 3000 && !seen[kind] {
			seen[kind] = true
			f.Add(line)
		}
	}
	for _, line := range []string{
		`{"type":"assistant","uuid":"a\u0041","message":{"id":"m","model":"x","usage":{"input_tokens":1e2,"output_tokens":-3,"cache_read_input_tokens":007}}}`,
		`{"type":"pr-link","prNu{"parentUuid":null,"type":"user","uuid":"A"}`,
		`{"type":"user","uuid":"A"}{"type":"user","uuid":"B"}`, `{"type":"x","a":"\\\\","b":[[],{}],"c":{"d":"}"}} `,
		`{"a":tru}`, `{"a":1 2}`, `{"a" "b"}`, `{"type":"user",}`, `{"type":"user","x":{]}`, "{\"type\":\"\x00\"}",
		`{"ty\u0070e":"user","isSidechain":"true","message":null,"message":[],"uuid":"\ud800"}`,
		"\ufeff{\"type\":\"user\"}", "{\"type\":\"user\",\"uuid\":\"\xff\"}", `null`, `"x"`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		given := bytes.Clone(line)
		records, whole := Decode(line)
		testkit.Need(t, bytes.Equal(given, line), "the line was changed")
		object := len(bytes.TrimLeft(line, " \t\r\n")) > 0 && bytes.TrimLeft(line, " \t\r\n")[0] == '{'
		switch valid := json.Valid(line); {
		case valid != whole && len(bytes.Trim(line, " \t\r\n")) > 0:
			t.Fatalf("valid %v, whole %v", valid, whole)
		case valid && object != (len(records) == 1):
			t.Fatalf("object %v: %v", object, records)
		}
	})
}

// TestUnreadable: no kind of file in a transcript's place blocks a reader, and a context ends it.
func TestUnreadable(t *testing.T) {
	deliveries := func(ctx context.Context, path string) error {
		return testkit.Err(ReadDeliveries(ctx, path, []string{"A"}))
	}
	digest := func(ctx context.Context, path string) error {
		return testkit.Err(ReadDigest(ctx, path, DigestLimits{}))
	}
	newest := func(_ context.Context, path string) error { return testkit.Err(ReadNewest(path)) }
	dir := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"missing":   func(string) error { return nil },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"device":    func(path string) error { return os.Symlink(os.DevNull, path) },
		"self":      func(path string) error { return os.Symlink(path, path) },
	} {
		path := filepath.Join(dir, name+extension)
		testkit.OK(t, make(path))
		want := error(ErrNotRegular)
		if name == "missing" {
			want = os.ErrNotExist
		}
		for _, read := range []func(context.Context, string) error{deliveries, digest, newest} {
			testkit.Fails(t, name, read(t.Context(), path), want)
		}
		testkit.Check(t, name == "directory" || Size(path) == 0, "%s has a size", name)
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	for _, read := range []func(context.Context, string) error{deliveries, digest} {
		testkit.Fails(t, "given up", read(given, inFile(t, plain().String())), context.Canceled)
	}
	sparse := filepath.Join(dir, "sparse.jsonl")
	testkit.OK(t, os.WriteFile(sparse, nil, 0o600))
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	testkit.Fails(t, "a terabyte", deliveries(t.Context(), sparse), ErrTooLarge)
}

// done adds a tool call and its result.
func (s *scribe) done(id, name string, input m, isError bool) {
	s.assistant("tool_use", use(id, name, input))
	s.result(id, isError)
}

func digest(t *testing.T, path string, limits DigestLimits) Digest {
	t.Helper()
	d := testkit.Must(ReadDigest(context.Background(), path, limits))(t)
	for i := range d.Commands {
		d.Commands[i].Timestamp = ""
	}
	return d
}

// subagent writes a subagent's transcript for a session.
func subagent(t *testing.T, path, name, content string) string {
	t.Helper()
	file := filepath.Join(Beside(path), "subagents", name)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.OK(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestDigest(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.assistant("tool_use", text("I begin.\n"))
	s.done("t1", "Write", m{"file_path": "/w/a", "content": "x"}, false)
	s.done("t2", "Edit", m{"file_path": "/w/b"}, false)
	s.done("t3", "Edit", m{"file_path": "/w/refused"}, true)
	s.done("t4", "MultiEdit", m{"file_path": "/w/c"}, false)
	s.done("t5", "NotebookEdit", m{"notebook_path": "/w/d.ipynb"}, false)
	s.done("t6", "Read", m{"file_path": "/w/read"}, false)
	s.done("t7", "Bash", m{"command": "make"}, true)
	s.done("t8", "Write", m{"file_path": "/w/a"}, false) // again
	s.own("API Error: 500", true)
	s.own("No response requested.", false)
	s.line(m{"type": "assistant", "isApiErrorMessage": true,
		"message": m{"id": "e", "model": "opus", "content": []m{text("an error")}}})
	s.line(m{"type": "assistant", "isApiErrorMessage": "no",
		"message": m{"id": "o", "model": "opus", "content": []m{text("Odd, and said.")}}})
	s.assistant("tool_use", text("  "), text("I go on."), use("t9", "Bash", m{"command": 7}),
		use("t10", "Write", m{"file_path": strings.Repeat("p", 5000)}))
	s.assistant("tool_use", use("t11", "Bash", m{"command": "make test"}))
	s.line(m{"type": "user",
		"message": m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": "t11", "is_error": true,
			"content": []m{text("[Tool call interrupted: the session ended before …")}}}}})
	s.done("t12", "Bash", m{"command": "make ok"}, false)
	s.assistant("tool_use", use("t13", "Write", m{"file_path": "/w/pending"}), use("t14", "Bash", m{"command": "sleep"}))
	s.lines = append(s.lines, "garbage", `{"type":"assistant","uuid":"f","sessionId":"else","message":{"content":[{"type":"text","text":"foreign"}]}}`)
	path := inFile(t, s.String())
	want := Digest{
		Texts: []string{"I begin.", "Odd, and said.", "I go on."},
		Files: []string{"/w/b", "/w/c", "/w/d.ipynb", "/w/a"},
		Commands: []Command{{Command: "make", Outcome: OutcomeFailed}, {Command: "make test", Outcome: OutcomeUnknown},
			{Command: "make ok", Outcome: OutcomeDone}, {Command: "sleep", Outcome: OutcomeUnknown}},
		Problems: []string{"1 damaged lines in the transcript"},
	}
	testkit.Same(t, "", want, digest(t, path, DigestLimits{}))
}

// Texts and files of a branch that a resume does not remember are left out, and each of two parallel tools has
// its result.
func TestDigestBranch(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	fork := s.assistant("end_turn", text("one"))
	s.prompt("B")
	s.assistant("end_turn", text("abandoned"))
	s.done("t0", "Write", m{"file_path": "/w/abandoned"}, false)
	s.leaf = fork
	s.prompt("C")
	call := s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "content": []m{use("t1", "Bash", m{"command": "one"})}}})
	s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "content": []m{use("t2", "Write", m{"file_path": "/w/side"})}}})
	s.result("t2", false)
	s.leaf = call
	s.result("t1", false)
	s.assistant("end_turn", text("two"))
	s.lines = append(s.lines, s.lines[len(s.lines)-1]) // the same line twice
	want := Digest{Texts: []string{"one", "two"}, Files: []string{"/w/side"},
		Commands: []Command{{Command: "one", Outcome: OutcomeDone}}}
	testkit.Same(t, "", want, digest(t, inFile(t, s.String()), DigestLimits{}))
}

func TestDigestSubagents(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.done("t1", "Bash", m{"command": "first"}, false)
	inner := &scribe{n: s.n, leaf: ""}
	inner.done("s1", "Bash", m{"command": "second"}, false)
	inner.done("s2", "Write", m{"file_path": "/w/sub"}, false)
	inner.done("s3", "Write", m{"file_path": "/w/both"}, false)
	inner.assistant("end_turn", text("a subagent's words"))
	s.n = inner.n
	s.done("t2", "Bash", m{"command": "third"}, true)
	s.done("t3", "Write", m{"file_path": "/w/both"}, false)
	s.line(m{"type": "assistant", "isSidechain": true,
		"message": m{"id": "i", "content": []m{use("i1", "Bash", m{"command": "inline"})}}})
	path := inFile(t, s.String())
	side := strings.ReplaceAll(inner.String(), `{"parentUuid"`, `{"isSidechain":true,"agentId":"a1","parentUuid"`)
	subagent(t, path, "agent-a1.jsonl", side+"garbage\n")
	subagent(t, path, "agent-a1.meta.json", "{}")
	subagent(t, path, "other.jsonl", side)
	subagent(t, path, "agent-foreign.jsonl", strings.ReplaceAll(side, session, "else"))
	testkit.OK(t, os.Symlink("/dev/zero", filepath.Join(Beside(path), "subagents", "agent-link.jsonl")))
	got := digest(t, path, DigestLimits{})
	testkit.Check(t, len(got.Problems) == 2 && strings.Contains(strings.Join(got.Problems, "\n"),
		"1 damaged lines in agent-a1.jsonl") && strings.Contains(strings.Join(got.Problems, "\n"),
		"agent-link.jsonl: "), "problems: %q", got.Problems)
	got.Problems = nil
	want := Digest{
		Files: []string{"/w/sub", "/w/both"},
		Commands: []Command{{Command: "first", Outcome: OutcomeDone},
			{Command: "second", Outcome: OutcomeDone, Subagent: true},
			{Command: "third", Outcome: OutcomeFailed}, {Command: "inline", Outcome: OutcomeUnknown, Subagent: true}},
	}
	testkit.Same(t, "", want, got)
}

func TestDigestBounds(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	for i := range 50 {
		s.assistant("tool_use", text(fmt.Sprintf("text %d %s", i, strings.Repeat("ö", 100))))
		s.done(fmt.Sprintf("w%d", i), "Write", m{"file_path": fmt.Sprintf("/w/%d", i)}, false)
		s.done(fmt.Sprintf("b%d", i), "Bash", m{"command": fmt.Sprintf("run %d %s", i, strings.Repeat("x", 100))},
			false)
	}
	for i := range 2 * maxWaiting { // never answered
		s.assistant("tool_use", use(fmt.Sprintf("p%d", i), "Write", m{"file_path": "/w/pending"}))
	}
	path := inFile(t, s.String())
	older := time.Now().Add(-time.Hour)
	for i := range 5 {
		file := subagent(t, path, fmt.Sprintf("agent-%d.jsonl", i), "")
		testkit.OK(t, os.Chtimes(file, older, older.Add(time.Duration(i)*time.Second)))
	}
	got := digest(t, path, DigestLimits{Texts: 2, TextBytes: 16, Files: 3, Commands: 2, Subagents: 4})
	want := Digest{Texts: []string{"text 48 …", "text 49 …"}, Files: []string{"/w/47", "/w/48", "/w/49"},
		Commands: []Command{{Command: "run 48 …", Outcome: OutcomeDone},
			{Command: "run 49 …", Outcome: OutcomeDone}},
		Problems: []string{"1 older subagents' transcripts not read"}}
	testkit.Same(t, "", want, got)
}

// corpus calls f with every recorded transcript (by CLI 2.1.329; the live tests of this package made them).
func corpus(t testing.TB, f func(path string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join("testdata", "corpus"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == extension {
			n++
			f(path)
		}
		return err
	})
	testkit.Need(t, err == nil && n >= 3, "%d transcripts, %v", n, err)
}

func corpusLines(t testing.TB) [][]byte {
	t.Helper()
	var lines [][]byte
	corpus(t, func(path string) {
		f := testkit.Must(os.Open(path))(t)
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			lines = append(lines, slices.Clone(s.Bytes()))
		}
		testkit.Need(t, s.Err() == nil, "%v", s.Err())
	})
	return lines
}

// beside are types of records that are known not to be part of the conversation.
var beside = map[string]bool{
	"queue-operation": true, "cost-state": true, "last-prompt": true, "mode": true, "permission-mode": true,
	"atis-latch": true, "tools-used": true, "custom-title": true, "agent-name": true, "ai-title": true, "summary": true,
	"file-history-snapshot": true, "api-request": true, "api-request-shape": true, "api-request-blob": true,
	"pr-link": true, "fork-pointer": true, "progress": true,
}

// The decoder knows every type of record that the real CLI writes.
func TestCorpus(t *testing.T) {
	unknown, kinds := map[string]int{}, map[string]int{}
	for _, line := range corpusLines(t) {
		records, whole := Decode(line)
		if !whole || len(records) != 1 {
			t.Errorf("whole %v, %d records: %.200s", whole, len(records), line)
			continue
		}
		err := json.Unmarshal(line, &Record{})
		testkit.Check(t, err == nil, "%v: %.200s", err, line)
		switch r := records[0]; r.Type {
		default:
			if !beside[r.Type] {
				unknown[r.Type]++
			}
		case "attachment":
		case "system":
			kinds[r.Subtype]++
		case "user":
			if r.CompactSummary {
				kinds["compact summary"]++
			}
			testkit.Check(t, len(r.Message.Blocks()) != 0, "user's message: %+v", r.Message)
		case "assistant":
			testkit.Check(t, r.Message.ID != "" && r.Message.StopReason != "" && len(r.Message.Blocks()) == 1,
				"assistant's message: %+v", r.Message)
		}
		kinds[records[0].Type]++
	}
	testkit.Empty(t, "types that are not known", slices.Sorted(maps.Keys(unknown)))
	var seldom []string
	for _, want := range []string{"user", "assistant", "attachment", "compact_boundary", "compact summary",
		"queue-operation", "cost-state", "last-prompt", "api-request", "api-request-shape", "api-request-blob",
		"tools-used", "atis-latch", "mode"} {
		if kinds[want] == 0 {
			seldom = append(seldom, want)
		}
	}
	testkit.Empty(t, "the corpus lacks", seldom)
}

// Each recorded session has a newest reading; the transcripts of subagents have none.
func TestCorpusReadings(t *testing.T) {
	got := map[string]int{}
	corpus(t, func(path string) {
		if strings.Contains(path, "subagents") {
			newest, err := ReadNewest(path)
			testkit.Check(t, err == nil && !newest.Found && !newest.Compacted,
				"%s: a subagent's: %+v, %v", path, newest, err)
			return
		}
		newest := testkit.Must(ReadNewest(path))(t)
		testkit.Same(t, fmt.Sprintf("%s: %+v", path, newest), "claude-opus-5-5", newest.Sample.Model)
		got[filepath.Base(filepath.Dir(path))] = newest.Sample.Usage.Context()
	})
	testkit.Same(t, "", map[string]int{"work": 80000, "compaction": 31000}, got)
}

func TestCorpusDigest(t *testing.T) {
	path, err := filepath.Glob(filepath.Join("testdata", "corpus", "work", "*"+extension))
	if err != nil || len(path) != 1 {
		t.Fatal(path, err)
	}
	want := Digest{Texts: []string{"It was stopped.", "I am back."}, Files: []string{"/w/one.txt", "/w/two.txt"},
		Commands: []Command{{Command: "echo $$ > up; for…", Outcome: OutcomeFailed},
			{Command: "test -e again || …", Outcome: OutcomeUnknown},
			{Command: "test -e again || …", Outcome: OutcomeDone}}}
	testkit.Same(t, "", want, digest(t, path[0], DigestLimits{Texts: 2, Commands: 3, TextBytes: 20}))
}
