package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestLive(t *testing.T) {
	c := New(Memory)
	prose := func(s string) contract.Body { return contract.Delta{Text: s} }
	verdict := func(s string) contract.Body { return contract.Delta{Text: s, Verdict: true} }
	type want struct{ text string }
	for i, step := range []struct {
		id   string
		body contract.Body
		want *want // of arbiter
	}{
		{"arbiter", prose("The wea"), &want{"The wea"}},
		{"orch-1", prose("Another"), &want{"The wea"}},
		{"arbiter", prose("ving\x1b["), &want{"The weaving"}},
		{"arbiter", prose("31m begins."), &want{"The weaving begins."}},
		{"arbiter", contract.Assistant{Text: "of a subagent", Subagent: "t"}, &want{"The weaving begins."}},
		{"arbiter", contract.ToolUse{}, &want{"The weaving begins."}},
		{"arbiter", contract.Assistant{Text: "The weaving begins."}, nil},
		{"arbiter", prose("Now"), &want{"Now"}},
		{"arbiter", verdict(`{"decision":"COMPLETE","mess`), &want{}},
		{"arbiter", contract.Assistant{Text: "Now"}, &want{}},
		{"arbiter", contract.Message{From: "arbiter", Text: "of a tool"}, &want{}},
		{"arbiter", verdict(`age":"It is`), &want{"It is"}},
		{"arbiter", contract.Message{From: "orch-1", Text: "It is"}, &want{"It is"}},
		{"arbiter", verdict(`\u0020\ud83d`), &want{"It is "}},
		{"arbiter", verdict(`\ude00\n\u001b[31mdone.","reason":"r"}`), &want{"It is 😀\ndone."}},
		{"arbiter", verdict("\n"), &want{"It is 😀\ndone."}},
		{"arbiter", verdict(` {"message":"Once m`), &want{"Once m"}},
		{"arbiter", contract.Turn{}, nil},
		{"arbiter", verdict(`{"message":"Spe`), &want{"Spe"}},
		{"arbiter", contract.Message{From: "arbiter", Text: "Speak."}, nil},
		{"arbiter", prose("x"), &want{"x"}},
		{"arbiter", contract.Restart{}, nil},
		{"arbiter", prose(""), nil},
		{"arbiter", prose("x"), &want{"x"}},
		{"supervisor", contract.Result{}, nil},
	} {
		before := c.Version()
		c.Add(someTime, contract.Event{ID: step.id, Body: step.body})
		testkit.Check(t, c.Version() > before, "%d: the version is %d as before", i, before)
		l, ok := c.Live("arbiter", math.MaxInt)
		if !ok {
			testkit.Check(t, step.want == nil, "%d: nothing arrives", i)
			continue
		}
		if step.want == nil {
			t.Errorf("%d: %+v", i, l)
			continue
		}
		w := Live{Agent: "arbiter", Text: step.want.text, Began: someTime}
		testkit.Same(t, i, w, l)
	}
	_, ok := c.Live("orch-1", math.MaxInt)
	testkit.Check(t, !ok, "the run is over, and something arrives")
}

// TestLiveIsBounded sends text without an end.
func TestLiveIsBounded(t *testing.T) {
	for name, piece := range map[string]string{
		"lines": strings.Repeat("a line of text\n", 100), "one line": strings.Repeat("no end ", 100),
		"Han": strings.Repeat("日本", 500), "marks": strings.Repeat("\u0300", 900),
		"escape": "\x1b]" + strings.Repeat("x", 900), "huge": strings.Repeat("x", 3<<20),
	} {
		c := New(Memory)
		for range 2000 {
			addAll(c, "o", contract.Delta{Text: piece})
			addAll(c, "p", contract.Delta{Text: piece, Verdict: true})
			if len(piece) > 1<<20 && c.Version() > 20 {
				break
			}
		}
		l, _ := c.Live("o", math.MaxInt)
		if n := len(l.Text); n > 2*liveKept || n < liveKept/2 && name != "marks" && name != "escape" {
			t.Errorf("%s: %d bytes", name, n)
		}
		testkit.Check(t, utf8.ValidString(l.Text), "%s: not valid", name)
		a := c.live.byAgent["o"]
		n := cap(a.prose) + cap(a.verdict)
		testkit.Check(t, n <= 8<<20, "%s: %d bytes are held", name, n)
	}
}

// TestPiecesAreOneText cuts hostile texts into pieces: the pieces look the same as the whole text.
func TestPiecesAreOneText(t *testing.T) {
	for i, text := range []string{
		"a\x1b[31mb\x1b]0;title\x07c\x1bPq\x1b\\d\ne\r\nf\rg\u202eh\u009b31mi\x1b]8;;http://x\nj",
		"e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301x\u200d👩\u200d🚀👩\u200d" + "日本\xff\xe6\x97",
		strings.Repeat("a long line without an end, and ", 1000) + "\n" + strings.Repeat("日本語", 5000) + "é",
	} {
		d := rand.New(rand.NewPCG(1, 2))
		c := New(Memory)
		for at := 0; at < len(text); {
			n := min(1+d.IntN(1+d.IntN(500)), len(text)-at)
			addAll(c, "o", contract.Delta{Text: text[at : at+n]})
			at += n
			if l, _ := c.Live("o", math.MaxInt); l.Text != sanitize.Text(text[:whole([]byte(text[:at]))]) {
				t.Fatalf("text %d: %q became %q", i, text[:at], l.Text)
			}
		}
	}
}

func TestPartialMessage(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `{`: ``, `{"mess`: ``, `{"message`: ``, `{"message"`: ``, `{"message":`: ``, `{"message": "`: ``,
		`{"message": "Spe`:                  "Spe",
		`{"message":"a\`:                    "a",
		`{"message":"a\n`:                   "a\n",
		`{"message":"a\u`:                   "a",
		`{"message":"a\u00e`:                "a",
		`{"message":"a\u00e9`:               "aé",
		`{"message":"a\ud83d`:               "a",
		`{"message":"a\ud83d\`:              "a",
		`{"message":"a\ud83d\ude`:           "a",
		`{"message":"a\ud83d\ude00`:         "a😀",
		`{"message":"a\ud83dx`:              "a\ufffdx",
		`{"message":"a\ud83d"`:              "a\ufffd",
		`{"message":"a\ude00x`:              "a\ufffdx",
		`{"message":"a\ud83d\ud83d\ude00`:   "a\ufffd😀",
		"{\"message\":\"a\xe6\x97":          "a",
		"{\"message\":\"a\xe6\x97\xa5":      "a日",
		"{\"message\":\"a\xe6\x97b":         "a\ufffd\ufffdb",
		`{"message":"\"\\\/\b\f\t."`:        "\"\\/\t.",
		`{"message":"\u001b[31mred\u009b1m`: "red",
		`{"a":{"message":"no"},"b":["message","no",{"message":"no"}],"c":"message","message":"yes","d":"`: "yes",
		`{"a":"\"message\":\"no\"","message":"yes"}`:                                                      "yes",
		`{"\u006dessage":"yes"}`:            "yes",
		`{"message":"one","message":"two"}`: "two",
		`{"message":null,"x":"no"}`:         "",
		`{"message":{"x":"no"},"y":"no"}`:   "",
		`{"message":["no"]}`:                "",
		`{"message":"one"}{"message":"no"}`: "one",
		`[{"message":"no"}]`:                "",
		`"message"`:                         "",
		`x{"message":"no"}`:                 "",
		" \n{\n \"message\" :\t\"yes":       "yes",
		`{"messages":"no"}`:                 "",
		`{"Message":"no"}`:                  "",
	} {
		testkit.Same(t, in, want, messageText(in))
	}
}

func FuzzPartialMessage(f *testing.F) {
	f.Add("a\"b\\c\n\U0001f600é\x1b[31m", "k")
	f.Add(strings.Repeat("x", 100), "message")
	f.Fuzz(func(t *testing.T, message, other string) {
		line := testkit.Must(json.Marshal(map[string]any{"a": other, other + ".": map[string]string{"message": other},
			"message": message}))(t)
		var want struct{ Message string }
		testkit.OK(t, json.Unmarshal(line, &want))
		got := messageText(string(line))
		testkit.Need(t, got == sanitize.Text(want.Message), "%s: %q", line, got)
		// Byte by byte the result grows, and no intermediate text contains a partial character.
		for i := range line {
			part := partialMessage(line[:i+1])
			testkit.Need(t, strings.HasPrefix(want.Message, string(part)) && utf8.Valid(part), "%s: %q is shown",
				line[:i+1], part)
		}
		messageText(message) // no panic
		messageText(other + message)
	})
}

// TestPartialMessageIsIncremental sends 1 MB in pieces of a few bytes: reading everything again with each
// piece would take quadratic memory.
func TestPartialMessageIsIncremental(t *testing.T) {
	c := New(Memory)
	addAll(c, "o", contract.Delta{Text: `{"message":"`, Verdict: true})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200_000 {
		addAll(c, "o", contract.Delta{Text: `word\n`, Verdict: true})
	}
	runtime.ReadMemStats(&after)
	n := after.TotalAlloc - before.TotalAlloc
	testkit.Check(t, n <= 64<<20, "%d MB were allocated for 1 MB", n>>20)
	l, ok := c.Live("o", math.MaxInt)
	testkit.Check(t, ok && strings.HasSuffix(l.Text, "word\nword\n"), "%d bytes", len(l.Text))
}

func messageText(json string) string { return lastPart(partialMessage([]byte(json)), 1<<20) }

// TestLiveEnd: of a text that is still arriving, the end is returned in whole lines, without characters
// that a terminal acts on.
func TestLiveEnd(t *testing.T) {
	c := New(Memory)
	if _, ok := c.Live("orch-1", 100); ok {
		t.Error("a text arrives without a writer")
	}
	for i := range 1000 {
		c.Add(someTime, contract.Event{ID: "orch-1", Body: contract.Delta{Text: fmt.Sprintf("line %d \x1b[31m\n", i)}})
	}
	c.Add(someTime, contract.Event{ID: "orch-1", Body: contract.Delta{Text: "and this is \x1b[3"}})
	l, ok := c.Live("orch-1", 70)
	want := "line 997 \nline 998 \nline 999 \nand this is "
	testkit.Check(t, ok && l.Text == want, "%v, %q, want %q", ok, l.Text, want)
	whole, _ := c.Live("orch-1", math.MaxInt)
	if l, _ = c.Live("orch-1", 1<<20); l != whole {
		t.Errorf("all of it: %d bytes, want %d", len(l.Text), len(whole.Text))
	}
}
