package input

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/contract"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// bodies are one of each event and command, by the name of its type.
var (
	commandBodies = []contract.CommandBody{
		contract.Say{Text: "<a> & b\n\u2028c", To: "orch-1", Strength: contract.Steer,
			Images: []string{"a.png"}, Kept: []contract.Image{{Path: "/a.png", SHA256: "0f", Width: 3}}},
		contract.Permit{Request: "p1", Behavior: "deny", Scope: "run", Message: "no"},
		contract.Interrupt{ID: "orch-1"}, contract.Kill{ID: "orch-1"}, contract.Pause{}, contract.Continue{},
		contract.Halt{}, contract.EditMessage{MessageID: "m1", Text: "<b>"}, contract.WithdrawMessage{MessageID: "m1"},
		contract.Attach{ID: "orch-1"}, contract.Detach{ID: "orch-1"}, contract.ForceAgent{Mode: "tester"},
		contract.SkipStep{}, contract.RetryLast{}, contract.Reset{},
		contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: contract.StepDone, Agent: "orch-1"}}},
		contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{{Text: "one", Command: "true"}}},
		contract.Revert{Path: "a.go", Seen: "0f", Hunk: "-1,2 +1,3"}, contract.Choose{Option: "retry"},
		contract.Configure{ID: "orch-1", Model: "m"}, contract.Cancel{},
		contract.Malformed{Problem: "line 3 is not JSON", Raw: json.RawMessage("{\x00 no \xc3\xa4 JSON")},
	}
)

// sampleInputs are inputs of every kind, filled and empty.
func sampleInputs(t testing.TB) []Body {
	t.Helper()
	var list []Body
	n := 0
	for _, typ := range Kinds {
		if typ == reflect.TypeFor[AgentEvent]() || typ == reflect.TypeFor[Command]() {
			continue
		}
		list = append(list, withInput(reflect.New(typ).Elem().Interface().(Body)))
		full := reflect.New(typ).Elem()
		corpus.Distinct(full, &n)
		list = append(list, full.Interface().(Body))
	}
	for _, b := range bridge.EventBodies() {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		corpus.Distinct(v, &n)
		list = append(list,
			AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
				Body: v.Interface().(bridge.EventBody)}})
	}
	unknown := json.RawMessage(`{"id":"orch-1","generation":1,"event":"sang","song":"a<b & c"}`)
	list = append(list,
		AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
			Body: bridge.Unknown{Name: "sang", Raw: unknown}}})
	for _, b := range commandBodies {
		list = append(list, Command{Channel: ChannelStdin, Command: contract.Command{Ref: "r-1 <&>", Body: b}})
	}
	return list
}

// withInput fills in the one field of an empty input that is never absent: the input of a call.
func withInput(f Body) Body {
	switch f := f.(type) {
	case ToolCalled:
		f.Params.Input = json.RawMessage("{}")
		return f
	case PermissionAsked:
		f.Params.Input = json.RawMessage("{}")
		return f
	case CallDecided:
		f.Params.Input = json.RawMessage("{}")
		return f
	}
	return f
}

// TestInputsRoundTrip: decoding the journal gives the same input, byte for byte.
func TestInputsRoundTrip(t *testing.T) {
	for _, f := range sampleInputs(t) {
		in := Input{At: time.Unix(2_200_000_000, 123_456_789), Body: f}
		raw, err := EncodeInput(in)
		if err != nil {
			t.Errorf("%T: %v", f, err)
			continue
		}
		testkit.Check(t, !strings.ContainsRune(string(raw), '\n'), "%T takes more than one line: %s", f, raw)
		back, err := DecodeInput(raw)
		if err != nil {
			t.Errorf("%T: %v\n%s", f, err, raw)
			continue
		}
		testkit.Check(t, back.At.Equal(in.At) && reflect.DeepEqual(back.Body, f), "%T came back otherwise:\n%+v\n%+v",
			f, f, back.Body)
		again, err := EncodeInput(back)
		testkit.Check(t, err == nil && string(again) == string(raw),
			"%T is written otherwise the second time (%v):\n%s\n%s", f, err, raw, again)
	}
}

// TestEveryInputHasAName: a new input without a name in the journal, or a new body without a sample above, fails
// here.
func TestEveryInputHasAName(t *testing.T) {
	named, events, commands := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for name, typ := range Kinds {
		testkit.Check(t, name != "" && !named[typ.Name()], "%s has two names", typ.Name())
		named[typ.Name()] = true
	}
	for _, b := range append([]bridge.EventBody{bridge.Unknown{}}, bridge.EventBodies()...) {
		events[reflect.TypeOf(b).Name()] = true
	}
	for _, b := range commandBodies {
		commands[reflect.TypeOf(b).Name()] = true
	}
	for what, c := range map[string]struct{ declared, known map[string]bool }{
		"input":   {corpus.Receivers(t, ".", "InputName"), named},
		"event":   {corpus.Receivers(t, "../../bridge", "eventName"), events},
		"command": {corpus.Receivers(t, "../contract", "CommandType"), commands},
	} {
		testkit.Check(t, len(c.declared) != 0, "no %s is declared", what)
		for name := range c.declared {
			testkit.Check(t, c.known[name], "%s %s is unknown to the journal's tests or has no name in it", what, name)
		}
	}
}

// TestActionsKeepTheirKeys: a human's grant is identified by the bytes of the tool's input. They must be the
// same after the journal was replayed.
func TestActionsKeepTheirKeys(t *testing.T) {
	for _, raw := range []string{`{"command":"make && ls > out <in"}`, `{"n":1.50,"big":12345678901234567890}`,
		`{"s":"\u2028\ud800 ä\/"}`} {
		p := bridge.PermissionParams{Tool: "Bash", Input: json.RawMessage(raw)}
		raw := testkit.Must(EncodeInput(Input{Body: PermissionAsked{Params: p}}))(t)
		back := testkit.Must(DecodeInput(raw))(t)
		got := back.Body.(PermissionAsked).Params
		testkit.Check(t, PermissionKey(got.Tool, got.Input) == PermissionKey(p.Tool, p.Input), "%s came back as %s",
			raw, got.Input)
	}
}

func TestInputsThatDoNotDecode(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"at":1,"input":"moonrise","data":{}}`, `"moonrise": this version does not know it`},
		{`{"at":1}`, "does not know it"},
		{`{"at":1,"input":"timer","data":[]}`, `"timer"`},
		{`{"at":1,"input":"agent_event","data":7}`, `"agent_event"`},
		{`{"at":"x","input":"timer"}`, "decode input"},
		{`{`, "decode input"},
		{``, "decode input"},
		{`null`, "does not know it"},
	} {
		if in, err := DecodeInput([]byte(c.raw)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want an error with %q", c.raw, in.Body, err, c.want)
		}
	}
	testkit.Fails(t, "no input at all", testkit.Err(EncodeInput(Input{})), "no name")
}

// FuzzDecodeInput: whatever a journal contains, it is an input that can be encoded again, or an error.
func FuzzDecodeInput(f *testing.F) {
	for _, body := range sampleInputs(f) {
		raw := testkit.Must(EncodeInput(Input{At: time.Unix(1_800_000_000, 0), Body: body}))(f)
		f.Add(raw)
	}
	for _, s := range []string{
		"", "{}", "[]", "null", "0", `"timer"`, `{"input":"timer"}`,
		`{"at":-9223372036854775808,"input":"timer","data":{"Key":"x"}}`, `{"at":1e400,"input":"timer"}`,
		`{"at":1,"input":"agent_event","data":{"id":"a","generation":1e9,"event":"turn"}}`,
		`{"at":1,"input":"agent_event","data":{"id":7,"event":"done"}}`,
		`{"at":1,"input":"agent_event","data":{"id":"a","generation":1,"event":"\u0000"}}`,
		`{"at":1,"input":"command","data":{"line":{"type":"message"}}}`,
		`{"at":1,"input":"command","data":{"line":"x","problem":"p"}}`, `{"at":1,"input":"command","data":{}}`,
		`{"at":1,"at":2,"input":"timer","input":"woke_from_sleep","data":{"Slept":-1}}`,
		"{\"at\":1,\"input\":\"timer\",\"data\":{\"Key\":\"\xff\xfe\"}}",
		`{"at":1,"input":"began","data":{"Options":{"Env":{"a":null}}}}`, "\xef\xbb\xbf{}",
		"{\"at\":1,\"input\":\"timer\"}{\"at\":1}", "\x00\x00\x00", `{"at":1,"input":"timer","data":` +
			strings.Repeat("[", 20_000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := DecodeInput(raw)
		if err != nil {
			return
		}
		first, err := EncodeInput(in)
		testkit.Need(t, err == nil, "%+v decodes and does not encode: %v", in.Body, err)
		back, err := DecodeInput(first)
		testkit.Need(t, err == nil, "%s does not decode again: %v", first, err)
		second := testkit.Must(EncodeInput(back))(t)
		// The bytes may differ once: invalid UTF-8 is replaced.
		again, err := DecodeInput(second)
		testkit.Need(t, err == nil && reflect.DeepEqual(again, back), "%v:\n%s\n%s", err, first, second)
	})
}

// TestProseDoesNotGrow: common characters of prose and code take only their own size in the journal.
func TestProseDoesNotGrow(t *testing.T) {
	text := strings.Repeat("<&>", 1000)
	raw := testkit.Must(json.Marshal(map[string]string{"kind": "done", "message": "m"}))(t)
	ref := bridge.AgentRef{ID: "arbiter", Generation: 1}
	for _, f := range []Body{
		Command{Channel: ChannelStdin, Command: contract.Command{Ref: text, Body: contract.Say{Text: text}}},
		Command{Channel: ChannelStdin,
			Command: contract.Command{Body: contract.SetPlan{Steps: []contract.Step{{Text: text}}}}},
		Began{Options: runconfig.Options{Task: text}}, Resumed{Word: text},
		AgentEvent{Event: bridge.Event{AgentRef: ref, Body: bridge.Turn{Text: text, Verdict: raw}}},
		ToolCalled{Params: bridge.ToolCallParams{AgentRef: ref, Input: json.RawMessage(`"` + text + `"`)}},
	} {
		raw := testkit.Must(EncodeInput(Input{Body: f}))(t)
		testkit.Check(t, strings.Count(string(raw), text) != 0 && !strings.Contains(string(raw), `\u003c`),
			"%T takes %d bytes for %d: %.200s", f, len(raw), len(text), raw)
	}
}
