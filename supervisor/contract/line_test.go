package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

var someTime = time.Date(2026, 11, 21, 4, 5, 6, 789_654_321, time.FixedZone("", 3600))

func TestEncodeLine(t *testing.T) {
	tests := []struct {
		name string
		e    Event
		want string // after the envelope's time
	}{
		{"no fields of its own", Event{"orch-1", Unknown{Name: "new"}}, `"id":"orch-1","event":"new"}`},
		{"text", Event{Human, Message{MessageID: "m", From: Human, To: Arbiter, Kind: "task", Text: "<a & b>\n"}},
			`"id":"human","event":"message","message_id":"m","from":"human","to":"arbiter","kind":"task","text":"<a & b>\n"}`},
		{"nil steps", Event{Supervisor, Plan{}}, `"id":"supervisor","event":"plan","steps":[]}`},
		{"nil options", Event{Arbiter, Error{Category: "auth", Message: "x"}},
			`"id":"arbiter","event":"error","category":"auth","message":"x","recovery_options":[]}`},
		{"nil input", Event{Arbiter, ToolCall{Tool: "status"}},
			`"id":"arbiter","event":"tool_call","tool":"status","input":{}}`},
		{"nil document", Event{"orch-1", Handoff{From: "orch-1", To: Arbiter}},
			`"id":"orch-1","event":"handoff","from":"orch-1","to":"arbiter","document":{"accomplished":[],"remaining":[],"key_context":"","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}}`},
		{"terminal controls", Event{"o\x1b", Notice{Text: "\x1b[2J\x7f\u009b31m\u202e\u2028\U000e0041é\u200d✓"}},
			`"id":"o\u001b","event":"notice","text":"\u001b[2J\u007f\u009b31m\u202e\u2028\udb40\udc41é` + "\u200d" +
				`✓"}`},
		{"terminal controls in raw input",
			Event{Arbiter, ToolUse{Tool: "Bash", Input: json.RawMessage("{\"a\":\"\u009b\xff<\u2066\"}")}},
			`"id":"arbiter","event":"tool_use","tool":"Bash","input":{"a":"\u009b\ufffd<\u2066"}}`},
		{"newlines in raw input", Event{Arbiter, ToolUse{Tool: "Bash", Input: json.RawMessage("{\n\"a\":\r\n1}")}},
			`"id":"arbiter","event":"tool_use","tool":"Bash","input":{"a":1}}`},
		{"invalid UTF-8", Event{Arbiter, Question{Text: "a\xffb"}},
			`"id":"arbiter","event":"question","text":"a\ufffdb"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Must(EncodeLine([]byte("before "), 7, someTime, tt.e))(t)
			want := `before {"v":1,"seq":7,"time":"2026-11-21T03:05:06.789Z",` + tt.want + "\n"
			testkit.Same(t, "line", want, string(got))
		})
	}
}

func TestEncodeLineRefuses(t *testing.T) {
	for name, e := range map[string]Event{
		"no body":      {ID: "x"},
		"NaN":          {"x", Context{Pct: math.NaN()}},
		"broken input": {"x", ToolUse{Input: json.RawMessage(`{"a":`)}},
		"no object":    {"x", Unknown{Name: "n", Raw: json.RawMessage(`[1]`)}},
	} {
		got, err := EncodeLine([]byte("kept"), 1, someTime, e)
		testkit.Check(t, err != nil && string(got) == "kept",
			"%s: %q, error %v; want the destination as it was and an error", name, got, err)
	}
	testkit.Fails(t, "year 10000 was accepted",
		testkit.Err(EncodeLine(nil, 1, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Event{"x", Notice{}})))
}

// TestEncodeLineLeavesArgumentsAlone: a snapshot holds the same document.
func TestEncodeLineLeavesArgumentsAlone(t *testing.T) {
	d := &verdict.Document{KeyContext: "k"}
	testkit.Must(EncodeLine(nil, 1, someTime, Event{"x", Handoff{Document: d}}))(t)
	testkit.Check(t, d.Files == nil, "the document was changed")
}

// TestBodiesLeaveTheEnvelopeAlone: a body's field must not be read as the line's.
func TestBodiesLeaveTheEnvelopeAlone(t *testing.T) {
	for _, b := range Events() {
		for _, name := range jsonFields(reflect.TypeOf(b)) {
			switch name {
			case "v", "seq", "time", "id", "event", "":
				t.Errorf("event %s has a field %q", b.EventName(), name)
			}
		}
	}
}

func TestDecodeLine(t *testing.T) {
	const head = `{"v":1,"seq":3,"time":"2026-11-21T04:05:06.7896+01:00","id":"orch-1",`
	at := time.Date(2026, 11, 21, 3, 5, 6, 789_000_000, time.UTC)
	tests := []struct {
		name, line string
		want       Body
		err        string
	}{
		{name: "known", line: head + `"event":"notice","text":"t"}`, want: Notice{Text: "t"}},
		{name: "fields of a newer version", line: head + `"event":"notice","text":"t","new":1}`,
			want: Notice{Text: "t"}},
		{name: "folded field", line: head + `"event":"notice","text":"t","TEXT":"u"}`, want: Notice{Text: "t"}},
		{name: "unknown event", line: head + `"event":"new","b":[1],"a":{}}`,
			want: Unknown{Name: "new", Raw: json.RawMessage(`{"b":[1],"a":{}}`)}},
		{name: "wrong type", line: head + `"event":"notice","text":1}`,
			want: Unknown{Name: "notice", Raw: json.RawMessage(`{"text":1}`),
				Problem: "json: cannot unmarshal number into Go struct field Notice.text of type string"}},
		{name: "no JSON", line: `hello`, err: "not valid JSON"},
		{name: "torn", line: head + `"event":"notice"`, err: "ends too early"},
		{name: "array", line: `[]`, err: "expected a JSON object, got an array"},
		{name: "two", line: head + `"event":"plan"}{}`, err: "something follows"},
		{name: "no event", line: `{"v":1,"seq":3,"time":"2026-11-21T04:05:06Z","id":"x"}`, err: `"event" is missing`},
		{name: "two ids", line: head + `"id":"human","event":"notice"}`, err: `"id" is given twice`},
		{name: "null id", line: `{"v":1,"seq":3,"time":"2026-11-21T04:05:06Z","id":null,"event":"plan"}`,
			err: `"id" is null`},
		{name: "newer version", line: `{"v":2,"seq":3,"time":"2026-11-21T04:05:06Z","id":"x","event":"plan"}`,
			err: "version 2"},
		{name: "negative seq", line: `{"v":1,"seq":-3,"time":"2026-11-21T04:05:06Z","id":"x","event":"plan"}`,
			err: `field "seq"`},
		{name: "bad time", line: `{"v":1,"seq":3,"time":"yesterday","id":"x","event":"plan"}`, err: "yesterday"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeLine([]byte(tt.line))
			if tt.err != "" {
				testkit.Need(t, err != nil && strings.Contains(err.Error(), tt.err), "error %v, want one with %q", err,
					tt.err)
				return
			}
			testkit.OK(t, err)
			want := Line{V: 1, Seq: 3, Time: at, Event: Event{"orch-1", tt.want}}
			testkit.Same(t, "line", want, got)
		})
	}
}

// TestRoundTrip sends every event, filled and empty, there and back.
func TestRoundTrip(t *testing.T) {
	for _, e := range samples() {
		line, err := EncodeLine(nil, 1, someTime, e)
		testkit.Need(t, err == nil, "%s: %v", e.Body.EventName(), err)
		back, err := DecodeLine(line)
		testkit.Need(t, err == nil, "%s: %v", line, err)
		testkit.Need(t, reflect.TypeOf(back.Body) == reflect.TypeOf(e.Body), "%s came back as %T", line, back.Body)
		again := testkit.Must(EncodeLine(nil, 1, someTime, back.Event))(t)
		testkit.Same(t, fmt.Sprintf("%s (-first +second)", e.Body.EventName()), string(line), string(again))
	}
}

// TestDecodeWritten: what EncodeLine wrote is the same in both ways of reading it.
func TestDecodeWritten(t *testing.T) {
	list := append(samples(), Event{"o\"\\\x1b", Notice{Text: "an id that is escaped"}},
		Event{"x", Unknown{Name: "new", Raw: json.RawMessage(`{"a":1}`)}})
	for _, e := range list {
		line := testkit.Must(EncodeLine(nil, 7, someTime, e))(t)
		want := testkit.Must(DecodeLine(line))(t)
		got, err := DecodeWritten(line)
		diff := cmp.Diff(want.Event, got)
		testkit.Check(t, diff == "" && err == nil, "%s, %v (-DecodeLine +DecodeWritten):\n%s", line, err, diff)
		testkit.Same(t, fmt.Sprintf("%s: the event is called", line), e.Body.EventName(), EventNameOf(line))
		testkit.Same(t, fmt.Sprintf("%s: its seq is", line), want.Seq, SeqOf(line))
	}
	for _, line := range []string{"", "{}",
		`{"v":2,"seq":1,"time":"2026-11-21T03:05:06.789Z","id":"x","event":"notice","text":"t"}`} {
		e, err := DecodeWritten([]byte(line))
		testkit.Check(t, err != nil, "%q is read as %+v", line, e)
	}
}

// samples has every event twice: empty, and with all fields filled.
func samples() []Event {
	var out []Event
	for _, b := range Events() {
		full := reflect.New(reflect.TypeOf(b)).Elem()
		fill(full)
		if p := full.FieldByName("Status"); p.IsValid() && b.EventName() == "result" {
			p.SetString(StatusLimit)
		}
		out = append(out, Event{"orch-1", legal(b)}, Event{"orch-1", legal(full.Interface().(Body))})
	}
	return out
}

// legal sets the fields that are closed sets to a member.
func legal(b Body) Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	v.Set(reflect.ValueOf(b))
	for key, values := range fieldEnums {
		event, name, _ := strings.Cut(key, ".")
		if event != b.EventName() {
			continue
		}
		for i, f := range jsonFields(v.Type()) {
			if f == name {
				v.Field(i).SetString(values[0])
			}
		}
	}
	return v.Interface().(Body)
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text \u2028 \x1b[0m")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(42)
	case reflect.Float64:
		v.SetFloat(12.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"command":"ls"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
		if v.Type() == reflect.TypeFor[Step]() {
			v.FieldByName("Status").SetString(StepActive)
		}
	}
}

func FuzzDecodeLine(f *testing.F) {
	for _, e := range samples() {
		line := testkit.Must(EncodeLine(nil, 1, someTime, e))(f)
		f.Add(line)
	}
	f.Add([]byte(`{"v":1,"seq":1,"time":"2026-11-21T04:05:06Z","id":"x","event":"new","a":"\ud800","a":{"b":[1e400]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := DecodeLine(data)
		if err != nil {
			return
		}
		out, err := EncodeLine(nil, line.Seq, line.Time, line.Event)
		testkit.OK(t, err)
		checkHarmless(t, out)
		back, err := DecodeLine(out)
		testkit.Need(t, err == nil, "encoded, but not decoded: %v\n%s", err, out)
		twice := testkit.Must(EncodeLine(nil, back.Seq, back.Time, back.Event))(t)
		testkit.Need(t, bytes.Equal(out, twice), "unstable:\n%s%s", out, twice)
	})
}

// checkHarmless wants one line of valid UTF-8 without anything terminals act on.
func checkHarmless(t *testing.T, line []byte) {
	t.Helper()
	testkit.Need(t, json.Valid(line) && utf8.Valid(line) && bytes.IndexByte(line, '\n') == len(line)-1,
		"not one line of JSON: %q", line)
	for _, r := range string(line[:len(line)-1]) {
		testkit.Need(t, r >= ' ' && !acted(r), "%U in %q", r, line)
	}
}

// TestMoneyAndPercentagesAreRounded: sums of floating point numbers are shown as people mean them.
func TestMoneyAndPercentagesAreRounded(t *testing.T) {
	const usd, pct = 0.0053511999999999995, 0.9486666666666667
	for _, b := range []Body{
		Turn{CostUSD: usd}, Result{CostUSD: usd}, Decision{CostUSD: usd}, SubagentProgress{CostUSD: usd},
		Context{Pct: pct}, ContextWarning{Pct: pct}, Assistant{ContextPct: pct},
	} {
		line := testkit.Must(EncodeLine(nil, 1, time.Unix(1, 0), Event{ID: "a", Body: b}))(t)
		got := string(line)
		testkit.Check(t, strings.Contains(got, ":0.005351,") || strings.Contains(got, ":0.005351}") ||
			strings.Contains(got, ":0.95,") || strings.Contains(got, ":0.95}"), "%s", got)
	}
}

func TestAppendTime(t *testing.T) {
	for _, text := range []string{"2026-11-26T17:39:23.6609Z", "2026-01-02T03:04:05.999999999Z",
		"1969-12-31T23:59:59.0019Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.05Z"} {
		at := testkit.Must(time.Parse(time.RFC3339Nano, text))(t)
		want := at.Format("2006-01-02T15:04:05.000Z07:00")
		testkit.Same(t, text, "at "+want,
			string(appendTime([]byte("at "), at)))
	}
}

// TestFrozenEvents: how each event is written, empty and with all fields, to the byte. Scripts
// read these lines; they change only where a promise to users does.
func TestFrozenEvents(t *testing.T) {
	var events []byte
	for _, e := range samples() {
		var err error
		events, err = EncodeLine(events, 1, someTime, e)
		testkit.Need(t, err == nil, "%v", err)
	}
	path := filepath.Join("testdata", "frozen", "events.ndjson")
	if *update {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, events, 0o644))
	}
	want := testkit.Must(os.ReadFile(path))(t)
	testkit.Same(t, fmt.Sprintf("%s (-frozen +now)", path), bytes.Split(want, []byte("\n")),
		bytes.Split(events, []byte("\n")))
}

// commandLines has each command with the fields it needs, and with all it can have.
var commandLines = []string{
	`{"type":"attach","id":"orch-1"}`,
	`{"type":"attach","ref":"r","id":"orch-1"}`,
	`{"type":"cancel"}`,
	`{"type":"cancel","ref":"r"}`,
	`{"type":"choose","option":"retry"}`,
	`{"type":"choose","ref":"r","option":"retry"}`,
	`{"type":"configure"}`,
	`{"type":"configure","ref":"r","id":"orch-1","model":"opus","permissions":"allow-all","allow":"Edit","ask":"Write","deny":"Bash(rm *)",` +
		`"i_accept_the_risk":true,"max_cost":5,"max_cost_per_agent":1.5,"max_cost_per_day":0}`,
	`{"type":"continue"}`,
	`{"type":"continue","ref":"r"}`,
	`{"type":"detach","id":"orch-1"}`,
	`{"type":"detach","ref":"r","id":"orch-1"}`,
	`{"type":"edit_message","message_id":"m-1","text":"t"}`,
	`{"type":"edit_message","ref":"r","message_id":"m-1","text":"t"}`,
	`{"type":"force_agent","mode":"developer"}`,
	`{"type":"force_agent","ref":"r","mode":"developer"}`,
	`{"type":"halt"}`,
	`{"type":"halt","ref":"r"}`,
	`{"type":"interrupt"}`,
	`{"type":"interrupt","ref":"r","id":"orch-1"}`,
	`{"type":"kill","id":"orch-1"}`,
	`{"type":"kill","ref":"r","id":"orch-1"}`,
	`{"type":"message","text":"t"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"note"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"steer"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"stop","images":["a.png"]}`,
	`{"type":"pause"}`,
	`{"type":"pause","ref":"r"}`,
	`{"type":"permission","request":"p","behavior":"deny"}`,
	`{"type":"permission","ref":"r","request":"p","behavior":"allow","scope":"always","rule":"Edit","action":"a","message":"t"}`,
	`{"type":"reset"}`,
	`{"type":"reset","ref":"r"}`,
	`{"type":"retry"}`,
	`{"type":"retry","ref":"r"}`,
	`{"type":"revert","path":"a.go"}`,
	`{"type":"revert","ref":"r","path":"a.go","seen":"0f","hunk":"-1,2 +1,3"}`,
	`{"type":"set_acceptance","criteria":[]}`,
	`{"type":"set_acceptance","ref":"r","criteria":[{"text":"a"},{"text":"b","command":"make test"},{"text":"c","by":"arbiter"}]}`,
	`{"type":"set_plan","steps":[]}`,
	`{"type":"set_plan","ref":"r","steps":[{"text":"a","status":"pending"},{"text":"b","status":"done","agent":"developer"}]}`,
	`{"type":"skip_step"}`,
	`{"type":"skip_step","ref":"r"}`,
	`{"type":"withdraw_message","message_id":"m-1"}`,
	`{"type":"withdraw_message","ref":"r","message_id":"m-1"}`,
}

// TestFrozenCommands: each of these lines is read, and written again as it was; the schema has it, and no command
// or field of the schema is missing among them.
func TestFrozenCommands(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any
		} `json:"$defs"`
	}
	testkit.OK(t, json.Unmarshal(CommandsSchema(), &schema))
	for _, line := range commandLines {
		c := ParseCommand([]byte(line))
		if m, ok := c.Body.(Malformed); ok {
			t.Errorf("%s is refused: %s", line, m.Problem)
			continue
		}
		again, err := MarshalCommand(c)
		testkit.Check(t, err == nil && string(again) == line, "%s is written again as %s, %v", line, again, err)
		testkit.Works(t, line, validCommand([]byte(line)))
		var fields map[string]any
		testkit.OK(t, json.Unmarshal([]byte(line), &fields))
		for name := range fields {
			delete(schema.Defs[fields["type"].(string)].Properties, name)
		}
	}
	for command, def := range schema.Defs {
		for field := range def.Properties {
			t.Errorf("no line has %s of %s", field, command)
		}
	}
}

// decoded has raw JSON compared by what it says: of escapes there are several forms.
var decoded = cmp.Transformer("decoded", func(raw json.RawMessage) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	return v
})

// TestModelOutputOnALine: every event with any text in all of its fields is one line on
// which no terminal acts, and says the same when it is read.
func TestModelOutputOnALine(t *testing.T) {
	for i, c := range corpus.ModelOutput(t, "../..") {
		text := c.Valid()
		for j, b := range Events() {
			if c.Large() && j > 0 || (len(text) > 2<<10 || testkit.Race) && (i+j)%5 != 0 ||
				!testkit.AtNight() && (i+j)%3 != 0 { // by day each text is in many events, and each event has many texts
				continue
			}
			// As others hand it in, and as it arrives by JSON.
			raw := corpus.Filled(reflect.TypeOf(b), c.Text).Interface().(Body)
			want := corpus.Filled(reflect.TypeOf(b), text).Interface().(Body)
			events := []Event{{text, want}, {c.Text, raw}}
			if c.Text == text {
				events = events[:1]
			}
			for _, e := range events {
				line, err := EncodeLine(nil, 7, someTime, e)
				testkit.Need(t, err == nil, "%s: %s: %v", c.Name, b.EventName(), err)
				testkit.Need(t, utf8.Valid(line), "%s: %s: %.300q is not UTF-8", c.Name, b.EventName(), line)
				for k, r := range string(line) {
					testkit.Need(t, (r >= ' ' || r == '\n' && k == len(line)-1) && !acted(r), "%s: %s: %U in %.300q",
						c.Name, b.EventName(), r, line)
				}
				got, err := DecodeLine(line)
				testkit.Need(t, err == nil, "%s: %s: %v", c.Name, b.EventName(), err)
				if diff := cmp.Diff(want, got.Body, decoded); diff != "" || got.ID != text {
					t.Fatalf("%s: %s (-said +read):\n%.2000s", c.Name, b.EventName(), diff)
				}
			}
		}
	}
}
