package bridge

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEventsSurviveTheWire(t *testing.T) {
	for _, body := range sampleEvents {
		want := Event{AgentRef{"orch-1", 3}, body}
		data, err := want.MarshalJSON()
		if err != nil {
			t.Errorf("%T: %v", body, err)
			continue
		}
		for field := range reflect.TypeOf(body).Fields() {
			if reflect.ValueOf(body).FieldByIndex(field.Index).IsZero() {
				t.Errorf("the sample of %T leaves %s empty", body, field.Name)
			}
		}
		var got Event
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", data, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", data, diff)
		}
		again, err := got.MarshalJSON()
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("encoded again (%v):\n%s\n%s", err, data, again)
		}
	}
}

func TestEventEncoding(t *testing.T) {
	for _, tc := range []struct {
		event Event
		want  string
	}{
		{Event{AgentRef{"a", 1}, Delta{Text: "<b> & \"c\"\n"}},
			`{"id":"a","generation":1,"event":"delta","text":"<b> & \"c\"\n"}`},
		{Event{AgentRef{"ä\"", 0}, Notice{}}, `{"id":"ä\"","generation":0,"event":"notice","text":""}`},
		{Event{AgentRef{"a", 1}, Turn{Outcome: TurnDone}}, `{"id":"a","generation":1,"event":"turn","message_ids":[],` +
			`"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"cost_usd":0,"outcome":"done"}`},
		{Event{AgentRef{"a", 1}, ToolUse{Tool: "Bash"}},
			`{"id":"a","generation":1,"event":"tool_use","tool":"Bash","input":{},"tool_use":""}`},
		{Event{AgentRef{"a", 1}, Unknown{Name: "later"}}, `{"id":"a","generation":1,"event":"later"}`},
	} {
		got, err := tc.event.MarshalJSON()
		if err != nil || string(got) != tc.want {
			t.Errorf("%+v (%v):\ngot  %s\nwant %s", tc.event, err, got, tc.want)
		}
	}
	for _, bad := range []EventBody{nil, ToolUse{Input: json.RawMessage("{")}, Context{Pct: math.NaN()}} {
		if data, err := (Event{AgentRef{"a", 1}, bad}).MarshalJSON(); err == nil {
			t.Errorf("%+v became %s", bad, data)
		}
	}
}

func TestUnknownEventNames(t *testing.T) {
	for _, tc := range []struct {
		raw, name, err string
		ref            AgentRef
	}{
		{`{"zeta":[1.0,2],"id":"a", "generation":2,"event":"thinking","text":"<\u00e9>"}`, "thinking", "",
			AgentRef{"a", 2}},
		{`{"event":"delta","id":"a","generation":1,"text":7}`, "delta", "cannot unmarshal number", AgentRef{"a", 1}},
		{`{"event":"turn","id":"a","generation":1,"usage":[]}`, "turn", "cannot unmarshal array", AgentRef{"a", 1}},
		{`{"event":"delta","id":5,"generation":1,"text":"x"}`, "delta", "eventHead.id of type string", AgentRef{"", 1}},
		{`{"event":"delta","id":"a","generation":"1","text":"x"}`, "delta", "eventHead.generation of type int",
			AgentRef{"a", 0}},
		{`{"event":null,"id":"a","generation":1}`, "", "", AgentRef{"a", 1}},
		{`{}`, "", "", AgentRef{}},
	} {
		var got Event
		if err := json.Unmarshal([]byte(tc.raw), &got); err != nil {
			t.Errorf("%s: %v", tc.raw, err)
			continue
		}
		u, ok := got.Body.(Unknown)
		if !ok || u.Name != tc.name || string(u.Raw) != tc.raw || got.AgentRef != tc.ref {
			t.Errorf("%s: got %+v", tc.raw, got)
		}
		if (tc.err == "") != (u.Err == nil) || (u.Err != nil && !strings.Contains(u.Err.Error(), tc.err)) {
			t.Errorf("%s: reason %v, want %q", tc.raw, u.Err, tc.err)
		}
		if again, err := got.MarshalJSON(); err != nil || string(again) != tc.raw {
			t.Errorf("encoded again (%v):\n%s\n%s", err, tc.raw, again)
		}
	}
}

// TestEventLineHasOneLineEnd: an event is encoded as one line, whatever the layout of an unknown event.
func TestEventLineHasOneLineEnd(t *testing.T) {
	line, err := eventLine(Event{Body: Unknown{Name: "x", Raw: json.RawMessage("{\n  \"event\": \"x\"\n}")}})
	want := `{"jsonrpc":"2.0","method":"event","params":{"n":7,"event":"x"}}` + "\n"
	if got := numbered(7, line); err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestHeads reads the head of events with their fields in the order in which they are written, and in
// others.
func TestHeads(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want eventHead
		own  bool
	}{
		{`{"n":7,"id":"a","generation":2,"event":"delta","text":"x"}`, eventHead{7, "a", 2, "delta"}, true},
		{`{"n":7,"id":"\",\"event\":\"","generation":0,"event":"delta"}`, eventHead{7, `","event":"`, 0, "delta"}, true},
		{`{"n":7,"id":"a","generation":2,"event":"later"}`, eventHead{7, "a", 2, "later"}, false},
		{`{"id":"a","generation":2,"event":"delta"}`, eventHead{0, "a", 2, "delta"}, false},
		{`{"n":7,"id":"a","id":"b","generation":2,"event":"delta"}`, eventHead{7, "b", 2, "delta"}, false},
		{`{"n":7,"id":"a","generation":2,"n":8,"event":"delta"}`, eventHead{8, "a", 2, "delta"}, false},
		{`{"n":7, "id":"a","generation":2,"event":"delta"}`, eventHead{7, "a", 2, "delta"}, false},
		{`{"event":"delta","n":7,"id":"a","generation":2}`, eventHead{7, "a", 2, "delta"}, false},
	} {
		got, err := readHead([]byte(tc.raw))
		if _, own := readOwnHead([]byte(tc.raw)); err != nil || got != tc.want || own != tc.own {
			t.Errorf("%s: %+v, %v, in the usual order: %v", tc.raw, got, err, own)
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, body := range sampleEvents {
		data, _ := Event{AgentRef{"a", 1}, body}.MarshalJSON()
		f.Add(data)
	}
	for _, s := range []string{`{}`, `{"event":"x"}`, `{"id":"\ud800","event":"delta","text":"\ud800"}`,
		`{"EVENT":"delta","event":"turn","Event":1}`, `{"id":"a","generation":1e0,"event":"delta"}`, `{"id":"a","generation":1,"event":"turn","text":"b","num_turns":2,"text":null,"num_turns":null,"cost_usd":-1e2}`,
		`[1]`, `{"a":"\\\"}","event":"delta"}`, "{\"e\\u0076ent\":\"delta\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, _, err := decodeEvent(data)
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(data, &object) == nil && object != nil
		if (err == nil) != isObject {
			t.Fatalf("%q is an object: %v; decoded: %v", data, isObject, err)
		}
		if err != nil {
			return
		}
		again, err := ev.MarshalJSON()
		if err != nil {
			t.Fatalf("encode %+v: %v", ev, err)
		}
		if u, ok := ev.Body.(Unknown); ok {
			if !bytes.Equal(u.Raw, data) || !bytes.Equal(again, data) {
				t.Fatalf("unknown %q became %q", data, again)
			}
			return
		}
		want := reflect.New(reflect.TypeOf(ev.Body))
		if err := json.Unmarshal(data, want.Interface()); err != nil ||
			!reflect.DeepEqual(want.Elem().Interface(), ev.Body) {
			t.Fatalf("%q became %#v; encoding/json says %#v, %v", data, ev.Body, want.Elem(), err)
		}
		back, _, err := decodeEvent(again)
		if err != nil {
			t.Fatalf("decode %q: %v", again, err)
		}
		twice, err := back.MarshalJSON()
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("%q became %q, then %q (%v)", data, again, twice, err)
		}
	})
}
