package contract

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

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
			got, err := EncodeLine([]byte("before "), 7, someTime, tt.e)
			if err != nil {
				t.Fatal(err)
			}
			want := `before {"v":1,"seq":7,"time":"2026-11-21T03:05:06.789Z",` + tt.want + "\n"
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
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
		if err == nil || string(got) != "kept" {
			t.Errorf("%s: %q, error %v; want the destination as it was and an error", name, got, err)
		}
	}
	if _, err := EncodeLine(nil, 1, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Event{"x", Notice{}}); err == nil {
		t.Error("year 10000 was accepted")
	}
}

// TestEncodeLineLeavesArgumentsAlone: a snapshot holds the same document.
func TestEncodeLineLeavesArgumentsAlone(t *testing.T) {
	d := &verdict.Document{KeyContext: "k"}
	if _, err := EncodeLine(nil, 1, someTime, Event{"x", Handoff{Document: d}}); err != nil {
		t.Fatal(err)
	}
	if d.Files != nil {
		t.Error("the document was changed")
	}
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
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := Line{V: 1, Seq: 3, Time: at, Event: Event{"orch-1", tt.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRoundTrip sends every event, filled and empty, there and back.
func TestRoundTrip(t *testing.T) {
	for _, e := range samples() {
		line, err := EncodeLine(nil, 1, someTime, e)
		if err != nil {
			t.Fatalf("%s: %v", e.Body.EventName(), err)
		}
		back, err := DecodeLine(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if reflect.TypeOf(back.Body) != reflect.TypeOf(e.Body) {
			t.Fatalf("%s came back as %T", line, back.Body)
		}
		again, err := EncodeLine(nil, 1, someTime, back.Event)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(line), string(again)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", e.Body.EventName(), diff)
		}
	}
}

// TestDecodeWritten: what EncodeLine wrote is the same in both ways of reading it.
func TestDecodeWritten(t *testing.T) {
	list := append(samples(), Event{"o\"\\\x1b", Notice{Text: "an id that is escaped"}},
		Event{"x", Unknown{Name: "new", Raw: json.RawMessage(`{"a":1}`)}})
	for _, e := range list {
		line, err := EncodeLine(nil, 7, someTime, e)
		if err != nil {
			t.Fatal(err)
		}
		want, err := DecodeLine(line)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeWritten(line)
		if diff := cmp.Diff(want.Event, got); diff != "" || err != nil {
			t.Errorf("%s, %v (-DecodeLine +DecodeWritten):\n%s", line, err, diff)
		}
		if name := EventNameOf(line); name != e.Body.EventName() {
			t.Errorf("%s: the event is called %q", line, name)
		}
	}
	for _, line := range []string{"", "{}",
		`{"v":2,"seq":1,"time":"2026-11-21T03:05:06.789Z","id":"x","event":"notice","text":"t"}`} {
		if e, err := DecodeWritten([]byte(line)); err == nil {
			t.Errorf("%q is read as %+v", line, e)
		}
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
		line, err := EncodeLine(nil, 1, someTime, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"v":1,"seq":1,"time":"2026-11-21T04:05:06Z","id":"x","event":"new","a":"\ud800","a":{"b":[1e400]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := DecodeLine(data)
		if err != nil {
			return
		}
		out, err := EncodeLine(nil, line.Seq, line.Time, line.Event)
		if err != nil {
			t.Fatalf("decoded, but not encoded: %v", err)
		}
		checkHarmless(t, out)
		back, err := DecodeLine(out)
		if err != nil {
			t.Fatalf("encoded, but not decoded: %v\n%s", err, out)
		}
		twice, err := EncodeLine(nil, back.Seq, back.Time, back.Event)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, twice) {
			t.Fatalf("unstable:\n%s%s", out, twice)
		}
	})
}

// checkHarmless wants one line of valid UTF-8 without anything terminals act on.
func checkHarmless(t *testing.T, line []byte) {
	t.Helper()
	if !json.Valid(line) || !utf8.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Fatalf("not one line of JSON: %q", line)
	}
	for _, r := range string(line[:len(line)-1]) {
		if r < ' ' || acted(r) {
			t.Fatalf("%U in %q", r, line)
		}
	}
}

// TestMoneyAndPercentagesAreRounded: sums of floating point numbers are shown as people mean them.
func TestMoneyAndPercentagesAreRounded(t *testing.T) {
	const usd, pct = 0.0053511999999999995, 0.9486666666666667
	for _, b := range []Body{
		Turn{CostUSD: usd}, Result{CostUSD: usd}, Decision{CostUSD: usd}, SubagentProgress{CostUSD: usd},
		Context{Pct: pct}, ContextWarning{Pct: pct}, Assistant{ContextPct: pct},
	} {
		line, err := EncodeLine(nil, 1, time.Unix(1, 0), Event{ID: "a", Body: b})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(line); !strings.Contains(got, ":0.005351,") && !strings.Contains(got, ":0.005351}") &&
			!strings.Contains(got, ":0.95,") && !strings.Contains(got, ":0.95}") {
			t.Errorf("%s", got)
		}
	}
}

func TestAppendTime(t *testing.T) {
	for _, text := range []string{"2026-11-26T17:39:23.6609Z", "2026-01-02T03:04:05.999999999Z",
		"1969-12-31T23:59:59.0019Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.05Z"} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		want := at.Format("2006-01-02T15:04:05.000Z07:00")
		if got := string(appendTime([]byte("at "), at)); got != "at "+want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
