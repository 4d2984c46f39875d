package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestDecode(t *testing.T) {
	head := Header{Session: session, UUID: "u", Parent: "p", Timestamp: "2026-11-21T06:01:00.000Z"}
	of := func(kind string) Header { h := head; h.Type = kind; return h }
	const common = `"uuid":"u","parentUuid":"p","timestamp":"2026-11-21T06:01:00.000Z","sessionId":"` + session + `"`
	for _, test := range []struct {
		name, line string
		want       Record
	}{
		{"user", `{"parentUuid":"p","isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"promptSource":"sdk","mergedSendUuids":["a","b"],` + common + `}`,
			&User{Header: of("user"), PromptSource: "sdk", Merged: []string{"a", "b"},
				Message: Message{Content: json.RawMessage(`"hi"`)}}},
		{"assistant", `{"message":{"id":"m1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"\"}]"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":9,"cache_creation":{"input_tokens":7}}},"type":"assistant",` + common + `}`,
			&Assistant{Header: of("assistant"), Message: Message{ID: "m1", Model: "opus", StopReason: "end_turn",
				Usage:   Usage{Input: 3, CacheCreation: 10, CacheRead: 100, Output: 9},
				Content: json.RawMessage(`[{"type":"text","text":"\"}]"}]`)}}},
		{"attachment",
			`{"type":"attachment","attachment":{"type":"structured_output","toolUseID":"t1","data":{"n":[1]}},` +
				common + `}`,
			&Attachment{Header: of("attachment"), Kind: "structured_output", ToolUseID: "t1",
				Data: json.RawMessage(`{"n":[1]}`)}},
		{"compaction", `{"type":"system","subtype":"compact_boundary","logicalParentUuid":"l","compactMetadata":{"trigger":"auto","preTokens":180013,"postTokens":2624,"preservedSegment":{"preTokens":1}},` + common + `}`,
			&System{Header: func() Header { h := of("system"); h.Logical = "l"; return h }(),
				Subtype: "compact_boundary"}},
		{"compaction that says nothing", `{"type":"system","subtype":"compact_boundary",` + common + `}`,
			&System{Header: of("system"), Subtype: "compact_boundary"}},
		{"compact summary", `{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"x"},` + common +
			`}`,
			&User{Header: of("user"), CompactSummary: true, Message: Message{Content: json.RawMessage(`"x"`)}}},
		{"queue operation", `{"type":"queue-operation","operation":"enqueue","content":"later",` + common + `}`,
			&Other{Header: of("queue-operation")}},
		{"cost state", `{"type":"cost-state","totalCostUSD":0.25,"modelUsage":{"opus":{}},` + common + `}`,
			&Other{Header: of("cost-state")}},
		{"unknown", `{"type":"novelty",` + common + `}`, &Other{Header: of("novelty")}},
		{"escaped names and values", `{"ty\u0070e":"us\u0065r","uuid":"\u0075","parentUuid":"p","timestamp":"2026-11-21T06:01:00.000Z","sessionId":"` + session + `"}`, &User{Header: of("user")}},
		{"nulls", `{"type":"user","isMeta":null,"message":null,"agentId":null,"mergedSendUuids":null,` + common + `}`,
			&User{Header: of("user")}},
		{"blanks", " { \"type\" :\t\"user\" , " + common + " , \"x\" : [ 1 , { } ] }\r", &User{Header: of("user")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, whole := Decode([]byte(test.line))
			if !whole || len(got) != 1 {
				t.Fatalf("%v, whole %v", got, whole)
			}
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
		if !whole || len(got) != 1 {
			t.Fatalf("%s: %v, whole %v", name, got, whole)
		}
		if _, other := got[0].(*Other); other || got[0].Head().UUID != "u" {
			t.Errorf("%s: %#v", name, got[0])
		}
	}
	got, _ := Decode([]byte(`{"type":7,"uuid":"u"}`))
	if u, ok := got[0].(*Other); !ok || u.UUID != "u" {
		t.Errorf("a type that is not a text: %#v", got[0])
	}
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
		var ids []string
		for _, r := range records {
			ids = append(ids, r.Head().UUID)
		}
		if got := strings.Join(ids, " "); got != test.want || whole {
			t.Errorf("%s: %q, whole %v; want %q", test.name, got, whole, test.want)
		}
	}
	for _, line := range []string{"", " \r", "[1]", "null", `"text"`, "7"} {
		if records, whole := Decode([]byte(line)); !whole || len(records) != 0 {
			t.Errorf("%q: %v, whole %v", line, records, whole)
		}
	}
	records, whole := Decode([]byte("{\"type\":\"user\",\"uuid\":\"\xffA\",\"message\":{\"content\":\"\xc3\"}}"))
	if !whole || len(records) != 1 || records[0].Head().UUID != "\ufffdA" {
		t.Errorf("invalid UTF-8: %v, whole %v", records, whole)
	}
}

// A verdict in a line that only looks like JSON is none.
func TestVerdictIsJSON(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.line(m{"type": "attachment",
		"attachment": m{"type": "structured_output", "toolUseID": "t1", "data": m{"n": true}}})
	s.assistant("tool_use", use("t1", "StructuredOutput", m{"n": true}))
	if got := statuses(t, s.String(), "A")[0]; got != `A ruled {"n":true}` {
		t.Fatal(got)
	}
	if got := statuses(t, strings.Replace(s.String(), `"data":{"n":true}`, `"data":{"n":tru}`, 1),
		"A")[0]; got != "A begun" {
		t.Error(got)
	}
}

// FuzzRecords: no line makes the decoder panic, and a line that is a JSON object is one record.
func FuzzRecords(f *testing.F) {
	seen := map[string]bool{}
	for _, line := range corpusLines(f) {
		records, _ := Decode(line)
		if kind := records[0].Head().Type; len(line) < 3000 && !seen[kind] {
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
		if !bytes.Equal(given, line) {
			t.Fatal("the line was changed")
		}
		object := len(bytes.TrimLeft(line, " \t\r\n")) > 0 && bytes.TrimLeft(line, " \t\r\n")[0] == '{'
		switch valid := json.Valid(line); {
		case valid != whole && len(bytes.Trim(line, " \t\r\n")) > 0:
			t.Fatalf("valid %v, whole %v", valid, whole)
		case valid && object != (len(records) == 1):
			t.Fatalf("object %v: %v", object, records)
		}
		for _, r := range records {
			if r.Head() == nil {
				t.Errorf("%#v", r)
			}
		}
	})
}
