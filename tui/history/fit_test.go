package history

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestEveryEventIsKept adds every event, empty and filled, with plain text, and reads it back from memory and
// from the log.
func TestEveryEventIsKept(t *testing.T) {
	c, logged, run := New(Memory), New(leastMemory), newRunLog(t)
	logged.Past(run.EventLog, journal.LogPosition{})
	add := func(e contract.Event) {
		c.Add(someTime, e)
		run.add(t, someTime, e)
		logged.Add(someTime, e)
	}
	var want []contract.Event
	for _, b := range bodies {
		full := filled(b, func(name string) string { return name + ", a text – 日本" })
		for _, b := range []contract.Body{b, full} {
			if e := (contract.Event{ID: "orch-1", Body: b}); b.EventName() != "delta" {
				want = append(want, e)
				add(e)
			}
		}
	}
	for range 60 {
		add(contract.Event{ID: "orch-1", Body: contract.Notice{Text: strings.Repeat("x", 100_000)}})
	}
	for i, w := range want {
		e, ok := c.All().Entry(i)
		if diff := cmp.Diff(w, e.Event); diff != "" || !ok || !e.At.Equal(someTime) {
			t.Errorf("%s (%v, %s), -told +kept:\n%s", w.Body.EventName(), ok, e.At, diff)
		}
		_, _, held := logged.record(i)
		testkit.Check(t, !held, "%s is still in memory", w.Body.EventName())
		if e, ok = logged.All().Entry(i); !ok || !e.At.Equal(someTime) {
			t.Errorf("%s is read back: %v, %s", w.Body.EventName(), ok, e.At)
		} else if diff := cmp.Diff(lineOf(t, w), lineOf(t, e.Event)); diff != "" {
			t.Errorf("%s, -told +read:\n%s", w.Body.EventName(), diff)
		}
	}
}

// TestEveryStringIsSanitised puts characters that terminals act on into every string of every event.
func TestEveryStringIsSanitised(t *testing.T) {
	const hostile = "a\x1b]52;c;x\ab\x1b[31mc\r\nd\u202ee\U000e0041\u0300\u0300\u0300" +
		"\u0300\u0300\u0300f\x9b\xff[red]\u2028g"
	c := New(Memory)
	for _, b := range bodies {
		if _, ok := b.(contract.Delta); ok {
			continue // TestGrowing
		}
		c.Add(someTime, contract.Event{ID: hostile, Body: filled(b, func(string) string { return hostile })})
		e, ok := c.All().Entry(c.All().Len() - 1)
		testkit.Need(t, ok, "%s was lost", b.EventName())
		testkit.Check(t, e.Event.ID == sanitize.Line(hostile, 64), "%s: id %q", b.EventName(), e.Event.ID)
		seen := 0
		check := func(name string) func(string, bool) bool {
			return func(s string, raw bool) bool {
				seen++
				want := sanitize.Line(hostile, 0)
				if prose[name] {
					want = sanitize.Text(hostile)
				}
				if raw {
					want = hostileJSON
				}
				testkit.Check(t, s == want, "%s.%s: %q, want %q", b.EventName(), name, s, want)
				return false
			}
		}
		walkAll(reflect.ValueOf(e.Event.Body), "", check)
		testkit.Check(t, seen != 0 || reflect.TypeOf(b).NumField() <= 0 || b.EventName() == "context" ||
			b.EventName() == "cost", "%s: no string was found", b.EventName())
	}
}

// walkAll is eachText including ids, with the names of fields.
func walkAll(v reflect.Value, name string, check func(name string) func(string, bool) bool) {
	switch {
	case v.Kind() == reflect.String:
		check(name)(v.String(), false)
	case v.Type() == rawMessage:
		check(name)(string(v.Bytes()), true)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			walkAll(v.Field(i), v.Type().Field(i).Name, check)
		}
	case v.Kind() == reflect.Pointer:
		walkAll(v.Elem(), name, check)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			walkAll(v.Index(i), name, check)
		}
	}
}

// TestFieldsAreKnown requires every string field to be on one of the lists, including new fields.
func TestFieldsAreKnown(t *testing.T) {
	oneLine := map[string]bool{}
	for _, name := range strings.Fields(`Session CWD ClaudeVersion Claude Scenario Permissions Version Log From To Trigger Name Mode
		SessionID SuccessorOf MessageID Kind Tool ToolUse Subagent Description Type Status LastTool Outcome MessageIDs Source Level
		Result SHA256 Files Proofs Decision Agent Request Behavior By Rule Ref Category RecoveryOptions Point Warnings
		InterruptedWork Open Failing Action Sandbox Scope State Suggestions Meanings Old Tree Dir Path Head Agents Branch Base Isolation Question
		Doing Window ResetsAt Model Options Host Item MediaType Deadline Before Run Make Proof`) {
		oneLine[name] = true
	}
	seen := map[string]bool{}
	for _, b := range bodies {
		filled(b, func(name string) string {
			seen[name] = true
			return name
		})
	}
	for name := range seen {
		testkit.Check(t, prose[name] != oneLine[name], "is %s one line, or prose?", name)
	}
	for name := range prose {
		testkit.Check(t, seen[name], "no event has a field %s", name)
	}
}

func TestFitIsBounded(t *testing.T) {
	c := New(Memory)
	huge := strings.Repeat("a line of text\n", 1<<20)
	many := make([]string, 1<<20)
	steps := make([]contract.Step, 1<<20)
	rawStrings, err := json.Marshal(map[string]string{"file_path": "/a", "content": huge})
	testkit.OK(t, err)
	rawNumbers := json.RawMessage(`{"a":[1` + strings.Repeat(",1", 1<<20) + `]}`)
	for name, b := range map[string]contract.Body{
		"text":     contract.ToolResult{ToolUse: "t", Text: huge, Subagent: "s"},
		"no UTF-8": contract.Notice{Text: strings.Repeat("\xff", 1<<20)},
		"one line": contract.Done{Reason: "x", SessionID: huge},
		"lists": contract.Handoff{From: "a", Document: &verdict.Document{Accomplished: many, Files: many,
			Decisions: make([]verdict.Decision, 1<<20)}},
		"steps":        contract.Plan{Steps: steps},
		"raw strings":  contract.ToolUse{Tool: "Write", Input: rawStrings, ToolUse: "t"},
		"raw numbers":  contract.ToolUse{Tool: "Write", Input: rawNumbers, ToolUse: "t"},
		"raw rubbish":  contract.ToolUse{Tool: "Write", Input: json.RawMessage(huge)},
		"raw unclosed": contract.ToolUse{Tool: "Write", Input: json.RawMessage(`"` + huge)},
		"raw escapes":  contract.ToolUse{Tool: "Write", Input: json.RawMessage(`"` + strings.Repeat(`\ud83d\ude00\\\"`, 1<<17) + `"`)},
	} {
		c.Add(someTime, contract.Event{ID: "orch-1", Body: b})
		_, r, _ := c.record(c.len() - 1)
		if r.size > kept+64<<10 || name != "lists" && name != "one line" && name != "raw numbers" && name != "raw rubbish" &&
			name != "steps" && r.size < kept/2 {
			t.Errorf("%s: %d bytes were kept", name, r.size)
		}
		e, ok := c.All().Entry(c.len() - 1)
		testkit.Need(t, ok, "%s was lost", name)
		switch b := e.Event.Body.(type) {
		case contract.ToolResult:
			testkit.Check(t, strings.Contains(b.Text, "bytes left out …\na line") &&
				strings.HasPrefix(b.Text, "a line") && b.Subagent == "s", "%s: %.40q … %q", name, b.Text, b.Subagent)
		case contract.ToolUse:
			testkit.Check(t, name == "raw rubbish" || name == "raw unclosed" || json.Valid(b.Input),
				"%s became no JSON: %.80s", name, b.Input)
			testkit.Check(t, strings.Contains(string(b.Input), "left out"), "%s: no note", name)
		case contract.Handoff:
			last := b.Document.Accomplished[len(b.Document.Accomplished)-1]
			testkit.Check(t, strings.HasSuffix(last, "more left out …"), "%s ends in %q", name, last)
		}
	}
}

func TestShortenKeepsRunesAndIsLinear(t *testing.T) {
	for n := range 2000 {
		s := strings.Repeat("日本é😀\n", 300)
		got := shorten(s, n)
		testkit.Need(t, !strings.ContainsRune(got, '\ufffd') && len(got) <= n+maxNoteLength, "%d: %q", n, got)
		raw := []byte(`{"k":"` + strings.Repeat(`日\u00e9\ud83d\ude00\n`, 200) + `","l":"x"}`)
		if got := shortenJSON(raw, n); !json.Valid(got) || strings.ContainsRune(string(got), '\ufffd') ||
			n > 2*maxNoteLength && len(got) > max(n, maxNoteLength) {
			t.Fatalf("%d: %d, %q", n, len(got), got)
		}
		var back map[string]string
		err := json.Unmarshal(shortenJSON(raw, n), &back)
		testkit.Need(t, err == nil && !strings.ContainsRune(back["k"], '\ufffd'), "%d: %v, %q", n, err, back["k"])
	}
}

func FuzzShortenJSON(f *testing.F) {
	f.Add([]byte(`{"a":"`+strings.Repeat("x", 500)+`"}`), 300)
	f.Add([]byte(`"`+strings.Repeat(`\ud83d\ude00`, 50)+`"`), 300)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		got := shortenJSON(raw, n)
		testkit.Check(t, !json.Valid(raw) || json.Valid(got), "%q became %q", raw, got)
		testkit.Check(t, len(got) <= max(n, maxNoteLength), "%d bytes, not %d", len(got), n)
	})
}
