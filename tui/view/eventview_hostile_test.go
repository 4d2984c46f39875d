package view

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// eventHostile is text that tries to move, colour, rename or answer something.
var eventHostile = []string{
	"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;Zm9v\x07\x1b[6n\u009b2J\x1bP+q\x1b\\",
	"[red]tag[-] [\"region\"]x[\"\"] [:::https://evil.example]link[:::-] [[",
	"abc\u202egnp.exe\u2066x\u2069\u200e\u200f\u061c\u2028next\u2029par",
	"a\r\nb\rc\x08\x08\x0c\x0b\x00\x7f\tend",
	"e" + strings.Repeat("\u0301", 200) + " 👨‍👩‍👧‍👦🏴\U000e0067\U000e0062\U000e007f 日本語テキスト \u2e3b ﷽ مرحبا",
	strings.Repeat("W", 3000),
	strings.Repeat("長", 300) + "\n" + strings.Repeat("\t", 50) + "x",
	"## Heading\n\n| a | b |\n|---|---|\n| \x1b[2J | [t](https://a.example/" + strings.Repeat("p", 200) +
		") |\n\n```go\nfunc\tmain() {\x1b[0m}\n```\n",
	"\xff\xfe\xc0broken \xed\xa0\x80",
	"\n\n \n",
	"",
}

// filler sets every field of any event.
type filler struct{ n int }

func (f *filler) text() string {
	f.n++
	return eventHostile[f.n%len(eventHostile)]
}

func (f *filler) raw() json.RawMessage {
	f.n++
	keys := []string{"command", "file_path", "content", "old_string", "new_string", "edits", "prompt", "description",
		"query", f.text()}
	m := map[string]any{}
	for _, k := range keys {
		m[k] = f.text()
	}
	switch f.n % 4 {
	case 0:
		m["edits"] = []any{map[string]any{"old_string": f.text(), "new_string": f.text(), f.text(): 1}}
	case 1:
		m["deep"] = map[string]any{f.text(): []any{f.text(), 1, nil, true}}
	case 2:
		return json.RawMessage(`{"command":"ls","command":"rm \u001b[2J"`) // a duplicate key, and incomplete
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	// encoding/json escapes characters that others do not.
	return json.RawMessage(strings.NewReplacer(`\u2028`, "\u2028", `\u202e`, "\u202e", `\u007f`,
		"\x7f").Replace(string(raw)))
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, -1, 7, math.MaxInt64, math.MinInt64}[f.n%5])
	case reflect.Float64:
		v.SetFloat([]float64{0, -1, 71.4, math.Inf(1), math.NaN(), 1e300}[f.n%6])
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(f.raw())
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), f.n%4, f.n%4))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if f.n%7 != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

// words that a field may have to hold for its branch to be taken.
var enums = map[string][]string{
	"tool": {"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "Agent", "Check", "Grep", "mcp__a__b",
		"set_plan"},
	"behavior": {"allow", "deny"},
	"status":   {"complete", "done", "active", "failed", "completed"},
	"decision": {"SELECT_MODE", "COMPLETE", "CONTINUE", "RETRY", "HANDOFF"},
	"level":    {"warn", "critical"},
	"result":   {"passed", "failed", "unrun", "unclear"},
}

func (f *filler) enum(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if words := enums[name]; words != nil && v.Field(i).Kind() == reflect.String && f.n%3 != 0 {
				v.Field(i).SetString(words[f.n%len(words)])
			}
			f.n++
			f.enum(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.enum(v.Index(i))
		}
	case reflect.Pointer:
		f.enum(v.Elem())
	}
}

// TestEventHostileText fills every field of every event with hostile text, as the history returns it, and
// hostile JSON, and checks that none of it is drawn out of its place.
func TestEventHostileText(t *testing.T) {
	outcomes := map[string]string{
		"tool_use": "tool_result", "subagent_start": "subagent_stop", "permission_request": "permission",
		"message": "delivered",
	}
	looks := []*render.Look{eventLook, {Glyphs: render.ASCII, Still: true}}
	f := &filler{}
	make := func(name string) contract.Body {
		v := reflect.New(reflect.TypeOf(contract.Events()[slices.Index(contract.EventNames(), name)])).Elem()
		f.fill(v)
		f.enum(v)
		clean(v)
		return v.Interface().(contract.Body)
	}
	rounds := 6 // each frontend, each look, unfolded and folded
	if testkit.AtNight() {
		rounds = 12
	}
	for _, name := range append(contract.EventNames(), "unknown") {
		for round := range rounds {
			e := entry([]string{"orch-1", "arbiter", "\x1b[2Jorch"}[round%3], nil)
			if name == "unknown" {
				e.Event.Body = cleaned(contract.Unknown{Name: f.text(), Raw: f.raw(), Problem: f.text()})
			} else {
				e.Event.Body = make(name)
			}
			if other := outcomes[name]; other != "" && round%2 == 0 {
				e = with(e, time.Duration(f.n)*time.Second, make(other))
				e.Progress = &contract.SubagentProgress{Tokens: 7, ToolUses: -1, LastTool: "[red]"}
			}
			for _, width := range []int{-1, 0, 1, 2, 3, 4, 5, 7, 8, 10, 13, 20, 30, 60, 100} {
				o := EventOptions{
					Width: width, Look: looks[round%2], Open: round%4 > 1, Time: true, Now: dawn.Add(48 * time.Hour),
					Parent: func(id string) string { return id }, // a cycle
				}
				if round%3 == 0 {
					o.Name = func(string) string { return f.text() }
				}
				for _, renderer := range renderers {
					c := renderer.make(e, o)
					if err := sound(c, o); err != nil {
						t.Fatalf("%s, %s, width %d, round %d: %v", name, renderer.name, width, round, err)
					}
				}
				l := history.Live{Agent: e.Event.ID, Text: "x" + cleanText(f.text()), Message: cleanText(f.text()),
					Verdict: round%2 == 0, Began: dawn}
				if err := sound(EventLive(l, o), o); err != nil {
					t.Fatalf("live, width %d: %v", width, err)
				}
			}
			text, ok := eventtext.Text(e, nil)
			if !ok {
				continue
			}
			if strings.ContainsFunc(text,
				func(r rune) bool {
					return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x202e
				}) {
				t.Fatalf("%s: prose with control characters: %q", name, text)
			}
		}
	}
}

// TestEdge sends hostile events on their normal way: through the history, which sanitises their text, to
// everything that is made of them.
func TestEdge(t *testing.T) {
	c := history.New(history.Memory)
	f := &filler{}
	for range 8 {
		for _, b := range contract.Events() {
			v := reflect.New(reflect.TypeOf(b)).Elem()
			f.fill(v)
			f.enum(v)
			c.Add(dawn, contract.Event{ID: f.text(), Body: v.Interface().(contract.Body)})
		}
	}
	all := c.All()
	if all.Len() < 200 {
		t.Fatalf("%d entries", all.Len())
	}
	for i := range all.Len() {
		e, ok := all.Entry(i)
		if !ok {
			t.Fatalf("entry %d is lost", i)
		}
		for _, width := range []int{1, 9, 40, 100} {
			o := options(width)
			o.Open = i%2 == 0
			for _, renderer := range renderers {
				if err := sound(renderer.make(e, o), o); err != nil {
					t.Fatalf("%s, %s, width %d: %v", e.Event.Body.EventName(), renderer.name, width, err)
				}
			}
		}
	}
}

func cleanText(s string) string { return cleaned(contract.Notice{Text: s}).(contract.Notice).Text }

// FuzzCards takes any line of the contract, with any JSON in it.
func FuzzCards(f *testing.F) {
	for _, list := range samples() {
		for _, e := range list {
			line, err := contract.EncodeLine(nil, 1, dawn, e.Event)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(line), 20, "ok\n\tresult", true)
			f.Add(string(line), 1, "長い", false)
		}
	}
	f.Fuzz(func(t *testing.T, line string, width int, result string, open bool) {
		l, err := contract.DecodeLine([]byte(line))
		if err != nil || len(line) > 1<<16 {
			t.Skip()
		}
		e := entry(cleanText(l.ID), cleaned(l.Body))
		if _, ok := l.Body.(contract.ToolUse); ok {
			e = with(e, time.Second, contract.ToolResult{Text: cleanText(result), IsError: open})
		}
		o := options(width % 200)
		o.Open = open
		for _, renderer := range renderers {
			if err := sound(renderer.make(e, o), o); err != nil {
				t.Errorf("%s, width %d: %v", renderer.name, o.Width, err)
			}
		}
		eventtext.Text(e, nil)
	})
}
