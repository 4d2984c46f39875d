package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

func last(c EventView) string { return c.Lines[len(c.Lines)-1].Text() }

// TestFoldCountsWhatItHides: the number of lines is right, and a single line is never replaced by a line
// that says so.
func TestFoldCountsWhatItHides(t *testing.T) {
	result := func(text string) EventView {
		return EventStream(entry("orch-1", contract.ToolResult{Text: text}), options(40))
	}
	for n := range 60 {
		text := strings.TrimSuffix(strings.Repeat("line\n", n), "\n")
		c := result(text)
		switch {
		case n <= foldResult+foldSlack:
			if len(c.Lines) != n || c.Foldable {
				t.Errorf("%d lines: %d shown, foldable %v", n, len(c.Lines), c.Foldable)
			}
		case last(c) != fmt.Sprintf("▸ %d more lines", n-foldResult) || len(c.Lines) != foldResult+1 || !c.Foldable:
			t.Errorf("%d lines: %d shown, the last %q", n, len(c.Lines), last(c))
		}
	}
	for text, want := range map[string]string{
		strings.Repeat("x", 100_000):                            "▸ 100 kB more", // all on one line
		strings.Repeat("x", 200) + strings.Repeat("\nline", 12): "▸ 12 more lines",
		"a\nb\n" + strings.Repeat("x", 200) + "\nc\nd\ne":       "▸ 3 more lines",
		strings.Repeat("0123456789\n", 25_000):                  "▸ 24,996 more lines",
		// blank lines at the end do not count
		strings.Repeat("日本語\n", 20) + strings.Repeat(" \t\n", 10_000): "▸ 16 more lines",
	} {
		if c := result(text); last(c) != want {
			t.Errorf("%.20q…: %q, want %q", text, last(c), want)
		}
	}
	prose := func(text string) EventView {
		return EventTalk(entry("arbiter", contract.Message{From: "orch-1", To: "arbiter", Text: text}), options(40))
	}
	if c := prose(strings.Repeat("word\n\n", 23)); last(c) != "▸ 33 more lines" { // 45 rows
		t.Errorf("%d lines, the last %q", len(c.Lines), last(c))
	}
	if c := prose(strings.Repeat("some words in a line\n\n", 5000)); !strings.HasSuffix(last(c), ",987 more lines") {
		t.Errorf("%d lines, the last %q", len(c.Lines), last(c))
	}
}

// TestOpenRequestsAreNotFolded: open questions and requests are shown to their ends, because the actual
// question is often there; answered ones are folded like all other cards.
func TestOpenRequestsAreNotFolded(t *testing.T) {
	question := contract.Question{Text: strings.Repeat("Some words of mine.\n\n", 45) + "Shall I go on?"}
	long := contract.Question{Text: strings.Repeat("Some words of mine.\n\n", 5000) + "Shall I go on?"}
	input, err := json.Marshal(map[string]string{"command": strings.Repeat("make one\n", 5000) + "Shall I go on?"})
	if err != nil {
		t.Fatal(err)
	}
	request := contract.PermissionRequest{Request: "r1", Tool: "Bash", Input: input}
	for name, tt := range map[string]struct{ waits, answer contract.Body }{
		"question": {question, contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "answer",
			Text: "yes"}},
		"long question": {long, contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "answer",
			Text: "yes"}},
		"request": {request, contract.Permission{Request: "r1", Tool: "Bash", Behavior: "allow", By: contract.Human}},
	} {
		e := entry("arbiter", tt.waits)
		c := EventTalk(e, options(40))
		if text := textEventOf(c); !strings.Contains(text, "Shall I go on?") || strings.Contains(text, " more") ||
			c.Foldable {
			t.Errorf("%s: %d lines are shown, foldable %v", name, len(c.Lines), c.Foldable)
		}
		answer := entry("human", tt.answer).Event
		e.Outcome = &answer
		c = EventTalk(e, options(40))
		if text := textEventOf(c); strings.Contains(text, "Shall I go on?") || !strings.Contains(text, " more") ||
			!c.Foldable {
			t.Errorf("%s, answered: %d lines are shown, foldable %v", name, len(c.Lines), c.Foldable)
		}
	}
}

func textEventOf(c EventView) string {
	var b strings.Builder
	for _, l := range c.Lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// TestUnfoldedIsAll: an unfolded card contains every character of the text.
func TestUnfoldedIsAll(t *testing.T) {
	text := strings.Repeat("ab 日本\tz "+strings.Repeat("q", 37)+"\n", 50) + "end"
	for _, width := range []int{1, 2, 3, 9, 40, 200} {
		o := options(width)
		o.Open = true
		c := EventStream(entry("orch-1", contract.ToolResult{Text: text}), o)
		want := text
		if width == 1 { // a mark replaces a wide character that does not fit
			want = strings.NewReplacer("日", "…", "本", "…").Replace(want)
		}
		strip := strings.NewReplacer("\n", "", "\t", "", " ", "")
		if got, want := strip.Replace(textEventOf(c)), strip.Replace(want); got != want {
			t.Errorf("width %d: %d characters, want %d", width, len(got), len(want))
		}
	}
}

// TestWholeInputIsShown: the card shows every member of an input that a person must allow,
// whatever the tool.
func TestWholeInputIsShown(t *testing.T) {
	for _, tool := range eventtext.Tools() {
		for _, input := range []string{
			`{"command":"ls","file_path":"F1","content":"C1","old_string":"O1","new_string":"N1","prompt":"P1","zzz":"Z1","deep":{"a":["D1"]},"edits":[{"old_string":"E1","new_string":"E2","more":"E3"}]}`,
			`{"command":{"sh":"D1"},"file_path":["F1"],"content":7,"old_string":null,"new_string":"N1","edits":"E1","prompt":["P1"]}`,
			`{"command":"C1","command":"C2"}`,
			`["C1",2]`,
			`"C1"`,
			`{"command":"C1"`,
		} {
			shown := textEventOf(
				EventTalk(entry("orch-1", contract.PermissionRequest{Tool: tool, Input: json.RawMessage(input)}),
					options(60)),
			)
			for _, word := range []string{"C1", "C2", "F1", "O1", "N1", "P1", "Z1", "D1", "E1", "E2", "E3", "7",
				"null"} {
				if strings.Contains(input, word) && !strings.Contains(shown, word) {
					t.Errorf("%s, %s: %q is not shown:\n%s", tool, input, word, shown)
				}
			}
		}
	}
}

// TestConcealedIsShown: the card says so if a command is not exactly what is visible.
func TestConcealedIsShown(t *testing.T) {
	for input, want := range map[string]bool{
		`{"command":"ls -l\n\tfoo – 日本 👨‍👩‍👧"}`: false,
		`{"content":"a\r\nb"}`:                 false,
		`{"command":"ls \u202e"}`:              true,
		`{"command":"ls \u001b[8m; rm -rf ~"}`: true,
		"{\"command\":\"ls \u200b\"}":          true,
		"{\"command\":[\"ls \u2066\"]}":        true,
		`{"comm\u0007and":"ls"}`:               true,
		`{"command":"a","command":"b"}`:        false,
	} {
		b := contract.PermissionRequest{Tool: "Bash", Input: json.RawMessage(input)}
		shown := ""
		for _, l := range append(EventTalk(entry("orch-1", b), options(100)).Lines,
			Action("Bash", b.Input, options(100))...) {
			shown += l.Text() + "\n"
		}
		plain, _ := eventtext.Text(entry("orch-1", b), nil)
		if n := strings.Count(shown+plain, eventtext.Unseen); n != map[bool]int{true: 3}[want] {
			t.Errorf("%q: said %d times", input, n)
		}
	}
}

// TestHumanIsAlerted: what waits for a human stands out while it waits.
func TestHumanIsAlerted(t *testing.T) {
	ask := contract.PermissionRequest{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}
	if c := EventTalk(entry("orch-1", ask), options(60)); c.Gutter != render.Alert || c.Head[0].Role != render.Alert {
		t.Errorf("a request: gutter %v, head %v", c.Gutter, c.Head)
	}
	for behavior, role := range map[string]render.Role{"allow": render.Good, "deny": render.Bad} {
		c := EventTalk(with(entry("orch-1", ask), time.Second, contract.Permission{Behavior: behavior, By: "human"}),
			options(60))
		if c.Gutter == render.Alert || c.Lines[len(c.Lines)-1][0].Role != role {
			t.Errorf("%s: gutter %v, %v", behavior, c.Gutter, c.Lines)
		}
	}
	question := entry("arbiter", contract.Question{Text: "?"})
	if c := EventTalk(question, options(60)); c.Gutter != render.Alert || c.Head[0].Role != render.Alert {
		t.Errorf("a question: gutter %v, head %v", c.Gutter, c.Head)
	}
	answer := contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "answer", Text: "!"}
	if c := EventTalk(with(question, time.Second, answer), options(60)); c.Gutter == render.Alert ||
		c.Head[0].Role == render.Alert {
		t.Errorf("answered: gutter %v, head %v", c.Gutter, c.Head)
	}
}

// TestIndentLeavesRoom: a card leaves exactly the columns free that its indent takes.
func TestIndentLeavesRoom(t *testing.T) {
	for width := range 130 {
		for depth := range maxDepth + 1 {
			if got, want := options(width).inside(depth).width(),
				max(width-Inset(width, depth), 1); got != want {
				t.Errorf("width %d, depth %d: %d columns, want %d", width, depth, got, want)
			}
		}
	}
}

func TestSubagentParents(t *testing.T) {
	var k Subagents
	use := func(id, subagent string) {
		k.Add(contract.Event{ID: "orch-1", Body: contract.ToolUse{Tool: "Agent", ToolUse: id, Subagent: subagent}})
	}
	use("a", "")
	use("b", "a")
	use("c", "b")
	o := options(100)
	o.Parent = k.Parent
	for id, depth := range map[string]int{"": 0, "a": 1, "b": 2, "c": 3, "never heard of": 1} {
		c := EventStream(entry("orch-1", contract.ToolUse{Tool: "Read", Input: json.RawMessage(`{}`), Subagent: id}), o)
		if c.Indent != depth {
			t.Errorf("%q stands %d deep, want %d", id, c.Indent, depth)
		}
	}
	for i := range 3 * maxSubagents {
		use(fmt.Sprint(i), "a")
	}
	if len(k.parents) != maxSubagents || len(k.order) != maxSubagents ||
		k.Parent(fmt.Sprint(3*maxSubagents-1)) != "a" || k.Parent("b") != "" {
		t.Errorf("%d remembered", len(k.parents))
	}
}

func TestLive(t *testing.T) {
	l := history.Live{Agent: "arbiter", Text: `{"message":"So it`, Message: "So **it** sh", Verdict: true, Began: dawn}
	o := options(40)
	c := EventLive(l, o)
	if got := c.Lines[0].Text(); got != "So it sh" {
		t.Errorf("shows %q", got)
	}
	o.Stream = &markdown.Stream{}
	if got := EventLive(l, o); len(got.Lines) != len(c.Lines) {
		t.Errorf("%d lines with a stream, %d without", len(got.Lines), len(c.Lines))
	}
	frames := map[string]bool{}
	for i := range 20 {
		o.Now = dawn.Add(time.Duration(i) * beat)
		frames[last(EventLive(l, o))] = true
	}
	if len(frames) != len(eventLook.Glyphs.Spinner) {
		t.Errorf("%d frames", len(frames))
	}
	o.Look = &render.Look{Glyphs: render.Unicode, Still: true}
	if got := last(EventLive(l, o)); got != "…" {
		t.Errorf("without motion: %q", got)
	}
}

func TestSummaryOfInput(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make test"}`:                                   "make test",
		`{"command":"a\nb"}`:                                        "a …",
		`{"command":"\nb"}`:                                         "b",
		`{"command":"printf 'a\\nb'"}`:                              `printf 'a\nb'`,
		`{"command":"\u001b[2Jls\u202e"}`:                           "ls",
		`{"other":1}`:                                               "",
		`{"command":"` + strings.Repeat("ab", 3000) + `"}`:          strings.Repeat("ab", 199) + "a…",
		`{"command":"` + strings.Repeat(`\u00e9`, 3000) + `"}`:      strings.Repeat("é", 399) + "…",
		`{"command":"` + strings.Repeat(`\ud83d\ude00`, 999) + `"}`: strings.Repeat("😀", 399) + "…",
		``:   "",
		`[]`: "",
	} {
		if got := eventtext.Summary("Bash", json.RawMessage(input)); got != want {
			t.Errorf("%.60s: %q, want %q", input, got, want)
		}
	}
	if got := eventtext.Summary("mcp__x__y", json.RawMessage(`{"limit":5,"query":"q"}`)); got != "q" {
		t.Errorf("an unknown tool: %q", got)
	}
	if got := eventtext.Summary("mcp__x__y", json.RawMessage(`{"limit":5}`)); got != `{ "limit": 5 }` &&
		got != `{"limit":5}` {
		t.Errorf("an unknown tool: %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		eventtext.Span(900 * time.Millisecond): "900 ms", eventtext.Span(9400 * time.Millisecond): "9.4 s",
		eventtext.Span(59 * time.Second): "59 s", eventtext.Span(61 * time.Second): "1 min 01 s",
		eventtext.Span(25 * time.Hour): "25 h 00 min",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// flood is a result of 256 KiB.
func flood() history.Entry {
	line := "ok  \tgithub.com/arbiter-cli/arbiter/tui/eventview\t0.012s  coverage: 87.1% of statements – all\n"
	use := entry("orch-1", contract.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"go test -cover ./..."}`)})
	return with(use, time.Second, contract.ToolResult{Text: strings.Repeat(line, 256<<10/len(line))})
}
