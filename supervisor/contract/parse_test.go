package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestParseCommand(t *testing.T) {
	tests := []struct {
		line    string
		want    Command
		problem string // of a Malformed
	}{
		{line: `{"type":"message","text":"hi"}`, want: Command{Body: Say{Text: "hi"}}},
		{line: ` {"ref":"a","text":"hi","type":"message","to":"orch-1","strength":"stop"} `,
			want: Command{"a", Say{Text: "hi", To: "orch-1", Strength: Stop}}},
		{line: `{"type":"message","text":"hi","images":["a.png","/b.jpg"]}`,
			want: Command{Body: Say{Text: "hi", Images: []string{"a.png", "/b.jpg"}}}},
		{line: `{"type":"message","text":"hi","images":[]}`, want: Command{Body: Say{Text: "hi"}}},
		{line: `{"type":"message","text":"hi","images":"a.png"}`,
			problem: "message: field `images`: expected an array of strings, got a string"},
		{line: `{"type":"message","text":"hi","images":["a.png",1]}`,
			problem: "message: field `images[1]`: expected a string, got a number"},
		{line: `{"type":"message","text":"hi","images":[" "]}`, problem: "message: field `images[0]` is empty"},
		{line: `{"type":"message","text":"hi","images":["a","a","a","a","a","a","a","a","a","a","a"]}`,
			problem: "message: field `images`: expected at most 10, got 11"},
		{line: `{"type":"permission","request":"r","behavior":"deny","scope":"run","message":"no"}`,
			want: Command{Body: Permit{Request: "r", Behavior: "deny", Scope: "run", Message: "no"}}},
		{line: `{"type":"permission","request":"r","behavior":"allow","scope":"always","rule":"Bash(git *)","action":"ab"}`, want: Command{Body: Permit{Request: "r", Behavior: "allow", Scope: "always", Rule: "Bash(git *)", Action: "ab"}}},
		{line: `{"type":"edit_message","message_id":"m","text":"t"}`,
			want: Command{Body: EditMessage{MessageID: "m", Text: "t"}}},
		{line: `{"type":"kill","id":"orch-2","ref":12}`, want: Command{"12", Kill{"orch-2"}}},
		{line: `{"type":"pause","ref":1.50}`, want: Command{"1.50", Pause{}}},
		{line: `{"type":"continue","ref":""}`, want: Command{Body: Continue{}}},
		{line: `{"type":"set_plan","steps":[]}`, want: Command{Body: SetPlan{[]Step{}}}},
		{line: `{"type":"set_plan","steps":[{"text":"a"},{"text":"b","status":"done","agent":"orch-1"}]}`,
			want: Command{Body: SetPlan{[]Step{{Text: "a", Status: StepPending},
				{Text: "b", Status: StepDone, Agent: "orch-1"}}}}},
		{line: `{"type":"set_plan","steps":[{"text":"a","mode":"tester"}]}`,
			want: Command{Body: SetPlan{[]Step{{Text: "a", Status: StepPending, Mode: "tester"}}}}},
		{line: `{"type":"configure","permissions":"allow-all","i_accept_the_risk":true}`,
			want: Command{Body: Configure{Permissions: "allow-all", AcceptRisk: true}}},
		{line: `{"type":"configure","deny":"Bash(rm *)"}`, want: Command{Body: Configure{Deny: "Bash(rm *)"}}},
		{line: `{"type":"configure","id":"orch-1","model":"haiku"}`,
			want: Command{Body: Configure{ID: "orch-1", Model: "haiku"}}},

		{line: ``, problem: "not valid JSON: the line ends too early"},
		{line: `hello`, problem: "not valid JSON: invalid character"},
		{line: `["message"]`, problem: "expected a JSON object, got an array"},
		{line: `"message"`, problem: "expected a JSON object, got a string"},
		{line: `null`, problem: "expected a JSON object, got null"},
		{line: `{"ref":"a","type":"message","text":"hi"`, want: Command{Ref: "a"}, problem: "the line ends too early"},
		{line: `{"ref":7,"type":"cancel"} {"type":"cancel"}`, want: Command{Ref: "7"},
			problem: "something follows the object"},
		{line: "{\"type\":\"message\",\"text\":\"\xff\"}", problem: "not UTF-8"},
		{line: "{\"type\":\"cancel\"}\x00", problem: "not valid JSON: something follows"},
		{line: `{"text":"hi","ref":"a"}`, want: Command{Ref: "a"},
			problem: "field `type` is missing, expected one of message, permission"},
		{line: `{"type":7}`, problem: "field `type`: expected a string, got a number"},
		{line: `{"type":"mesage","ref":"a"}`, want: Command{Ref: "a"},
			problem: `unknown command "mesage", expected one of message`},
		{line: `{"type":"Message","text":"hi"}`, problem: `unknown command "Message"`},
		{line: `{"Type":"message","text":"hi"}`, problem: "field `type` is missing"},
		{line: `{"type":"message","type":"cancel","text":"hi"}`, problem: "message: field `type` is given twice"},
		{line: `{"type":"message"}`, problem: "message: field `text` is missing"},
		{line: `{"type":"message","text":" \n"}`, problem: "message: field `text` is empty"},
		{line: `{"type":"message","text":null}`, problem: "field `text`: expected a string, got null"},
		{line: `{"type":"message","text":["a"]}`, problem: "field `text`: expected a string, got an array"},
		{line: `{"type":"message","Text":"hi"}`,
			problem: "unknown field `Text`: names are lower case, expected `text`"},
		{line: `{"type":"message","text":"a","text":"b"}`, problem: "field `text` is given twice"},
		{line: `{"type":"message","text":"a","too":"b"}`,
			problem: `unknown field "too", expected one of type, ref, text, to, strength`},
		{line: `{"type":"message","text":"a","strength":"hard"}`,
			problem: "field `strength` is \"hard\", expected one of note, steer, stop"},
		{line: `{"type":"message","text":"a","strength":""}`, problem: "field `strength` is \"\""},
		{line: `{"type":"permission","request":"r"}`,
			problem: "field `behavior` is missing, expected one of allow, deny"},
		{line: `{"type":"permission","request":"r","behavior":"Allow"}`,
			problem: "field `behavior` is \"Allow\", expected one of allow, deny"},
		{line: `{"type":"permission","request":"r","behavior":"deny","behavior":"allow"}`,
			problem: "field `behavior` is given twice"},
		{line: `{"type":"permission","request":"r","behavior":"deny","\u0042ehavior":"allow"}`,
			problem: "unknown field `Behavior`"},
		{line: `{"type":"permission","request":"r","behavior":true}`, problem: "expected a string, got true or false"},
		{line: `{"type":"permission","request":"r","behavior":"allow","scope":"ever"}`,
			problem: "field `scope` is \"ever\", expected one of once, run, always"},
		{line: `{"type":"kill"}`, problem: "kill: field `id` is missing"},
		{line: `{"type":"cancel","ref":{}}`, problem: "field `ref`: expected a string or a number, got an object"},
		{line: `{"type":"cancel","now":true}`, problem: `unknown field "now", expected one of type, ref`},
		{line: `{"type":"set_plan"}`, problem: "field `steps` is missing"},
		{line: `{"type":"set_plan","steps":null}`,
			problem: "field `steps`: expected an array of objects with `text`, got null"},
		{line: `{"type":"set_plan","steps":["a"]}`, problem: "field `steps[0]`: expected a JSON object, got a string"},
		{line: `{"type":"set_plan","steps":[{"text":"a"},{"text":""}]}`, problem: "field `steps[1].text` is empty"},
		{line: `{"type":"set_plan","steps":[{"text":"a","status":"started"}]}`,
			problem: "field `steps[0].status` is \"started\", expected one of pending"},
		{line: `{"type":"set_plan","steps":[{"text":"a","text":"b"}]}`,
			problem: "field `steps[0].text` is given twice"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := ParseCommand([]byte(tt.line))
			if tt.problem == "" {
				testkit.Same(t, "command", tt.want, got)
				testkit.Works(t, "parsed, but not in the schema", validCommand([]byte(tt.line)))
				return
			}
			m, ok := got.Body.(Malformed)
			testkit.Check(t, ok && strings.Contains(m.Problem, tt.problem), "body %#v, want a Malformed about %q",
				got.Body, tt.problem)
			testkit.Same(t, "ref", tt.want.Ref, got.Ref)
			err := validCommand([]byte(tt.line))
			unseen := strings.Contains(tt.problem, "twice") || strings.Contains(tt.problem, "UTF-8") // by a JSON Schema
			testkit.Check(t, err != nil || unseen, "malformed, but in the schema")
		})
	}
}

func TestMarshalCommand(t *testing.T) {
	for want, c := range map[string]Command{
		`{"type":"message","ref":"a\u202e","text":"\u009bx"}`: {"a\u202e", Say{Text: "\u009bx"}},
		`{"type":"cancel"}`:                                     {Body: Cancel{}},
		`{"type":"interrupt","ref":"1"}`:                        {"1", Interrupt{}},
		`{"type":"set_plan","steps":[]}`:                        {Body: SetPlan{}},
		`{"type":"permission","request":"r","behavior":"deny"}`: {Body: Permit{Request: "r", Behavior: "deny"}},
		`{"type":"set_plan","steps":[{"text":"a","status":"done"}]}`: {
			Body: SetPlan{[]Step{{Text: "a", Status: "done"}}}},
	} {
		got, err := MarshalCommand(c)
		testkit.Check(t, err == nil && string(got) == want, "%#v: %s, error %v; want %s", c, got, err, want)
	}
	plan := Command{Body: SetPlan{[]Step{{Text: "a", Status: StepPending, Make: "other"}}}}
	line := testkit.Must(MarshalCommand(plan))(t)
	testkit.Same(t, "a plan that a screen gives back with the makes of its steps", plan, ParseCommand(line))
	for _, body := range []CommandBody{nil, Malformed{Problem: "p"}} {
		got, err := MarshalCommand(Command{Body: body})
		testkit.Check(t, err != nil, "%#v has a line: %s", body, got)
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, form := range forms {
		c := Command{"r", form.body}
		line := testkit.Must(MarshalCommand(c))(f)
		f.Add(line)
	}
	f.Add([]byte(`{"type":"message","text":"hi","to":"orch-1","strength":"steer","ref":1e9}`))
	f.Add([]byte(`{"type":"set_plan","steps":[{"text":"a","status":"done","agent":"x"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got := ParseCommand(line)
		if m, ok := got.Body.(Malformed); ok {
			testkit.Need(t, m.Problem != "", "a Malformed without a problem")
			return
		}
		if !bytes.Contains(line, []byte("make")) { // of a step: the schema does not list it
			testkit.OK(t, validCommand(line))
		}
		out := testkit.Must(MarshalCommand(got))(t)
		checkHarmless(t, append(out, '\n'))
		diff := cmp.Diff(got, ParseCommand(out))
		testkit.Need(t, diff == "", "round trip (-first +second):\n%s", diff)
		testkit.Need(t, json.Valid(line), "a line that is not JSON was taken for a command")
	})
}

func TestReadCommands(t *testing.T) {
	long := `{"type":"message","text":"` + strings.Repeat("x", 200) + `"}`
	exact := `{"type":"message","text":"` + strings.Repeat("x", 100-28) + `"}`
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \r\n\t\n\n", nil},
		{"two", `{"type":"pause"}` + "\n" + `{"type":"cancel"}` + "\n", []string{"pause", "cancel"}},
		{"no newline at the end", `{"type":"pause"}` + "\n" + `{"type":"cancel"}`, []string{"pause", "cancel"}},
		{"CRLF", "{\"type\":\"pause\"}\r\n{\"type\":\"cancel\"}\r\n", []string{"pause", "cancel"}},
		{"BOM", "\xef\xbb\xbf{\"type\":\"pause\"}\n", []string{"pause"}},
		{"only a BOM", "\xef\xbb\xbf", nil},
		{"BOM later", "{\"type\":\"pause\"}\n\xef\xbb\xbf{\"type\":\"pause\"}\n",
			[]string{"pause", "malformed line 2: not valid JSON"}},
		{"garbage between", `{"type":"pause"}` + "\nhello\n" + `{"type":"cancel"}` + "\n",
			[]string{"pause", "malformed line 2: not valid JSON", "cancel"}},
		{"NUL", "{\"type\":\"pause\"}\x00\n{\"type\":\"cancel\"}\n\x00\x00\n",
			[]string{"malformed line 1: not valid JSON", "cancel", "malformed line 3: not valid JSON"}},
		{"as long as allowed", exact + "\r\n" + `{"type":"cancel"}`, []string{"message", "cancel"}},
		{"one byte too long", exact + " \n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"too long", long + "\n" + `{"type":"cancel"}` + "\n",
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"too long at the end", `{"type":"cancel"}` + "\n" + long,
			[]string{"cancel", "malformed line 2: the line is longer than 100 bytes"}},
		{"endless carriage returns", strings.Repeat("\r", 300_000) + "\n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
		{"longer than the buffer", strings.Repeat("x", 300_000) + "\n" + `{"type":"cancel"}`,
			[]string{"malformed line 1: the line is longer than 100 bytes", "cancel"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)),
				iotest.DataErrReader(strings.NewReader(tt.in))} {
				var got []string
				testkit.OK(t, ReadCommands(r, 100,
					func(c Command) bool { got = append(got, word(c)); return true }))
				testkit.Same(t, fmt.Sprintf("%T: commands", r), tt.want, got)
			}
		})
	}
}

// word is a command's type, or the line and the first words of its problem.
func word(c Command) string {
	m, ok := c.Body.(Malformed)
	if !ok {
		return c.Body.CommandType()
	}
	line, rest, _ := strings.Cut(m.Problem, ": ")
	problem, _, _ := strings.Cut(rest, ": ")
	return "malformed " + line + ": " + problem
}

func TestReadCommandsStops(t *testing.T) {
	r := strings.NewReader("{\"type\":\"pause\"}\n{\"type\":\"cancel\"}\n")
	n := 0
	err := ReadCommands(r, 0, func(Command) bool { n++; return false })
	testkit.Check(t, err == nil && n == 1, "%d commands, error %v; want 1 and none", n, err)
}

// brokenReader fails, and counts how often it was asked.
type brokenReader struct {
	err   error
	reads int
}

func (b *brokenReader) Read([]byte) (int, error) { b.reads++; return 0, b.err }

func TestReadCommandsReportsFailure(t *testing.T) {
	broken := &brokenReader{err: errors.New("broken pipe")}
	var got []string
	err := ReadCommands(io.MultiReader(strings.NewReader("{\"type\":\"pause\"}\n{\"type\":\"can"), broken), 0,
		func(c Command) bool { got = append(got, word(c)); return true })
	testkit.Check(t, errors.Is(err, broken.err) && broken.reads == 1, "error %v after %d reads, want %v after 1", err,
		broken.reads, broken.err)
	testkit.Same(t, "a torn line is not a command", []string{"pause"}, got)
}

// TestReadCommandsIsBounded reads a line of 64 MiB with the default bound.
func TestReadCommandsIsBounded(t *testing.T) {
	r := io.MultiReader(io.LimitReader(endless{}, 64<<20), strings.NewReader("\n{\"type\":\"cancel\"}\n"))
	var got []string
	testkit.OK(t, ReadCommands(r, 0, func(c Command) bool { got = append(got, word(c)); return true }))
	want := []string{fmt.Sprintf("malformed line 1: the line is longer than %d bytes", DefaultMaxLine), "cancel"}
	testkit.Same(t, "commands", want, got)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }
