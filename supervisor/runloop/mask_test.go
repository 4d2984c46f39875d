package runloop

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestJSON: JSON stays JSON, even where escapes hide letters.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x ` + aSecret + ` y"}`:                                        `{"a":"x sk-ant-*redacted:46* y"}`,
		`{"password":"hunter2hunter2","b":[1]}`:                              `{"password":"*redacted:14*","b":[1]}`,
		`{"a":"\u0073k-ant-` + aSecret[7:] + `"}`:                            `{"a":"sk-ant-*redacted:46*"}`,
		`{"` + aSecret + `":"\u0041"}`:                                       `{"sk-ant-*redacted:46*":"A"}`,
		`{"a":"x ` + aSecret[:20] + `\u001b[m` + aSecret[20:] + `"}`:         `{"a":"x sk-ant-*redacted:46*"}`,
		`{"a":"x ` + aSecret[:30] + `\u200b` + aSecret[30:] + `\u001b[31m"}`: `{"a":"x sk-ant-*redacted:46*"}`,
		`{"password":"hunter2\u001b[mhunter2","b":1}`:                        `{"password":"*redacted:22*","b":1}`,
		`{"a":"\u0041","n":1.50}`:                                            `{"a":"\u0041","n":1.50}`,
		`no JSON ` + aSecret:                                                 `no JSON sk-ant-*redacted:46*`,
		`null`:                                                               `null`,
	} {
		testkit.Same(t, fmt.Sprintf("%s became", in), want, string(maskJSON([]byte(in), sanitize.Redact)))
	}
}

// TestPieces: a secret that comes in pieces is not reported in pieces, wherever it is cut, and other text is
// reported once.
func TestPieces(t *testing.T) {
	const text = "The key is " + aSecret + " and\npassword: hunter2hunter2\nthat is all. "
	for size := 1; size < 40; size++ {
		var p Pieces
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if e, ok := p.Event(bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1"},
				Body: bridge.Delta{Text: rest[:n]}}, sanitize.Redact); ok {
				got.WriteString(e.Body.(bridge.Delta).Text)
			}
			rest = rest[n:]
		}
		testkit.Same(t, fmt.Sprintf("in pieces of %d", size), sanitize.Redact(text), got.String())
	}
	var p Pieces
	pem := "-----BEGIN PRIVATE KEY-----\n" + // longer than the context of a piece, and than a secret that is kept whole
		strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n", 2000)
	var got strings.Builder
	for line := range strings.Lines(pem) {
		if e, ok := p.Event(bridge.Event{Body: bridge.Delta{Text: line}}, sanitize.Redact); ok {
			got.WriteString(e.Body.(bridge.Delta).Text)
		}
	}
	testkit.Excludes(t, "a key line by line", got.String(), "MIIEvQ")
	_, ok := p.Event(bridge.Event{Body: bridge.Delta{Text: strings.Repeat("\x80", pieceWaits)}}, sanitize.Redact)
	testkit.Check(t, ok, "what is no text waits for ever")

	// No blank divides this text, which is reported before it ends.
	for at := pieceWaits/2 - 60; at < pieceWaits/2+20; at += 7 {
		long := strings.Repeat("ab,", at/3) + aSecret + strings.Repeat(",cd", pieceWaits)
		var p Pieces
		got.Reset()
		for part := range slices.Chunk([]byte(long), 50) {
			if e, ok := p.Event(bridge.Event{Body: bridge.Delta{Text: string(part)}}, sanitize.Redact); ok {
				got.WriteString(e.Body.(bridge.Delta).Text)
			}
		}
		if !strings.HasPrefix(sanitize.Redact(long), got.String()) || got.Len() < pieceWaits/2 {
			t.Errorf("a secret after %d bytes: %d bytes were shown, after that %.80q", at, got.Len(), got.String()[at-at%3:])
		}
	}
}

// aSecret is made up.
const aSecret = "sk-ant-api03-madeup0000madeup0000madeup0000-AA"

// filled is a value of a type with a secret in each of its texts.
func filled(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"command":"curl -H 'x: ` + aSecret + `'","n":12345678901234567890}`))
	case t.Kind() == reflect.String:
		v.SetString("a " + aSecret + " b")
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type, depth+1))
			}
		}
	case t.Kind() == reflect.Slice && depth < 12:
		v = reflect.Append(v, filled(t.Elem(), depth+1))
	case t.Kind() == reflect.Pointer && depth < 12:
		v = reflect.New(t.Elem())
		v.Elem().Set(filled(t.Elem(), depth+1))
	case t.Kind() == reflect.Map:
		v = reflect.MakeMap(t)
		if t.Key().Kind() == reflect.String {
			v.SetMapIndex(reflect.ValueOf("name").Convert(t.Key()), filled(t.Elem(), depth+1))
		}
	}
	return v
}

func masking() *Loop {
	l := NewLoop(policy.Policy{CWD: "/w"}, func(time.Time, contract.Event) {},
		slog.New(slog.DiscardHandler))
	l.Redact = sanitize.Redact
	return l
}

// TestInputsHaveNoSecrets: every input of an agent, a tool or a process comes in without its secrets, in any
// field, and other texts stay unchanged.
func TestInputsHaveNoSecrets(t *testing.T) {
	ours := map[string]string{ // our own inputs, and which of their texts may contain a secret
		"command": "all", "began": "all", "resumed": "all", "no_bridge": "Options", "timer": "all", "signalled": "all",
		"decided": "Input", "day_spent": "all",
	}
	l := masking()
	see := func(name string, f input.Body) {
		before := fmt.Sprintf("%+v", f)
		got := l.masked(f)
		testkit.Same(t, fmt.Sprintf("%s: the input itself was changed", name), before, fmt.Sprintf("%+v", f))
		switch f := got.(type) {
		case input.PermissionAsked: // the waiting callers are found by them
			f.Params.AgentRef, f.Params.Request, f.Action = bridge.AgentRef{}, "", ""
			got = f
		case input.Reconsidered:
			for i := range f.Resolutions {
				f.Resolutions[i].Request, f.Resolutions[i].Asked = "", ""
			}
			got = f
		case input.ToolCalled:
			f.Params.AgentRef, f.Call = bridge.AgentRef{}, ""
			got = f
		case input.AgentEvent:
			f.Event.AgentRef = bridge.AgentRef{}
			got = f
		case input.NoBridge:
			f.Options = runconfig.Options{}
			got = f
		case input.Decided:
			f.Input = nil
			got = f
		}
		text := fmt.Sprintf("%+v", got)
		if raw, err := json.Marshal(got); err == nil {
			text += string(raw)
		}
		testkit.Excludes(t, name, text, "madeup")
	}
	for name, typ := range input.Kinds {
		if ours[name] == "all" || name == "agent_event" {
			continue
		}
		see(name, filled(typ, 0).Interface().(input.Body))
	}
	for _, body := range append(bridge.EventBodies(), bridge.Unknown{}) {
		see(fmt.Sprintf("%T", body),
			input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1"},
				Body: filled(reflect.TypeOf(body), 0).Interface().(bridge.EventBody)}})
	}
	clean := input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
		Body: bridge.ToolUse{Tool: "Bash",
			Input: json.RawMessage(`{ "command": "make\n\"all\"", "n": 1e400, "n": 12345678901234567890 }`)}}}
	got := l.masked(clean)
	testkit.Same(t, "masked", input.Body(clean), got)
	said := input.Command{Channel: input.ChannelStdin, Command: contract.Command{Body: contract.Say{Text: aSecret}}}
	testkit.Same(t, "the human's own word", input.Body(said), l.masked(said))
	d := l.masked(input.Decided{Input: json.RawMessage(`{"task":"` + aSecret + `"}`),
		Decision: decider.Decision{Reason: aSecret}}).(input.Decided)
	testkit.Check(t, strings.Contains(string(d.Input), aSecret) && !strings.Contains(d.Decision.Reason, "madeup"),
		"a decision: %+v", d)
}

// TestMaskedPermission: the rules and the human decide on the exact action. Its record, which contains no
// secrets, has the same key.
func TestMaskedPermission(t *testing.T) {
	p := bridge.PermissionParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Request: "p1", Tool: "Bash",
		Input: json.RawMessage(`{"command":"curl -H 'Authorization: Bearer ` + aSecret + `' x"}`)}
	f := masking().masked(input.PermissionAsked{Params: p, Action: input.PermissionKey(p.Tool, p.Input),
		Suggestions: []string{"Bash(curl *)", "Bash(curl -H " + aSecret + ")"}}).(input.PermissionAsked)
	testkit.Check(t, f.Action == input.PermissionKey(p.Tool, p.Input) &&
		keyOf(f.Params) != input.PermissionKey(p.Tool, p.Input) && cmp.Equal(f.Suggestions, []string{"Bash(curl *)"}),
		"%+v", f)
	permit := input.PermissionRequest{Params: f.Params, Action: f.Action}
	got := permit.Event()
	testkit.Check(t, got.Action == input.PermissionKey(p.Tool, p.Input) &&
		!strings.Contains(string(got.Input), "madeup") && json.Valid(got.Input), "%+v", got)
	old := (input.PermissionRequest{Params: p})
	testkit.Check(t, old.Key() == input.PermissionKey(p.Tool, p.Input), "without a key, another action")
}

// TestModelOutputHasNoKeys: the loop masks the fake secrets of the corpus, in every place where an agent
// can write them.
func TestModelOutputHasNoKeys(t *testing.T) {
	l, keys := masking(), 0
	for _, c := range corpus.ModelOutput(t, "../..") {
		if !strings.HasPrefix(c.Name, "keys-") {
			continue
		}
		for _, f := range happenings(c.Text) {
			if _, pty := f.(input.AgentEvent).Event.Body.(bridge.PTY); pty {
				continue // what a terminal shows is private to its user
			}
			f := l.masked(f).(input.AgentEvent)
			f.Event.AgentRef = bridge.AgentRef{}
			raw := testkit.Must(json.Marshal(f.Event))(t)
			for _, piece := range []string{"7Zx9K2mVbq7Zx", "0f7e3a9c1b0f7", "Q7ZX9K2MVBQ"} {
				keys += strings.Count(c.Text, piece)
				testkit.Check(t, !strings.Contains(string(raw), piece), "%s: %T: %.300s", c.Name, f.Event.Body, raw)
			}
		}
	}
	testkit.Check(t, keys >= 40 || t.Failed(), "%d keys", keys)
}
