package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

var now = time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)

func lookTile(t *testing.T, g *render.Glyphs) *render.Look {
	t.Helper()
	l := lookPage(t, "dark", g)
	l.Still = true
	return l
}

func atTile(seconds int) time.Time { return now.Add(time.Duration(seconds-60) * time.Second) }

// busy is an agent that is working.
func busy() PageAgent {
	return PageAgent{
		ID: "orch-1", Name: "Orchestrator I", Mode: "developer", State: "works", Tone: render.Active,
		Busy: true, Known: true, Tokens: 68_000, Window: 200_000, Pct: 34, Doing: "thinking",
		Age: 8 * time.Second, Open: true,
		Work: Work{AgentActivity: eventtext.AgentActivity{Items: []eventtext.ActivityItem{
			{At: atTile(1), Text: "First the tests."},
			{At: atTile(2), Until: atTile(3), Tool: "Edit", Summary: "/loom/header.go", Added: 2, Removed: 1},
			{At: atTile(4), Until: atTile(28), Tool: "Bash", Summary: "go test ./...", Result: "one\nok loom\nok writer"},
			{At: atTile(30), Until: atTile(31), Tool: "Bash", Summary: "false", Result: "Exit code 1\nno", Failed: true},
		}}},
		Root: "/loom", Model: "sonnet", Cost: "$0.41",
	}
}

func textsTile(t PageAgent, w, h int, l *render.Look) (rows []string, group int) {
	list, group := drawTile(t, w, h, l, now)
	for _, line := range list {
		rows = append(rows, strings.TrimRight(line.Text(), " "))
	}
	return rows, group
}

// TestTileContents: a tile shows the agent's name, what it did, the result, and what it is doing.
func TestTileContents(t *testing.T) {
	one := busy()
	one.Work.Items = append(one.Work.Items,
		eventtext.ActivityItem{At: atTile(48), Use: "c", Tool: "Bash", Summary: "sleep 100"})
	got, group := textsTile(one, 80, 20, lookTile(t, render.Unicode))
	want := []string{
		"◆ Orchestrator I  developer  works  $0.41  sonnet  ━━━╸──────  34%  68k/200k",
		"▌ First the tests.",
		"▌ ✓ Edit header.go                                                           +2 -1",
		"▌ ✓ Bash go test ./...                                                         24s",
		"▌ ✗ Bash false                                                              exit 1",
		"▌   Exit code 1",
		"▌   no",
		"▌ ◆ Bash sleep 100                                                             12s",
	}
	testkit.Need(t, group == -1 && len(got) == len(want), "%d: %s", group, strings.Join(got, "\n"))
	for i := range want {
		if fields := strings.Fields(got[i]); strings.Join(fields, " ") != strings.Join(strings.Fields(want[i]), " ") {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// TestSmallTileShowsCurrentWork: with few rows a tile shows the current work and drops the earlier work.
func TestSmallTileShowsCurrentWork(t *testing.T) {
	wait := busy()
	wait.Busy, wait.Bell, wait.State, wait.Doing = false, true, "permission?", "Bash rm -rf build"
	wait.Work.Items = append(wait.Work.Items,
		eventtext.ActivityItem{At: atTile(50), Tool: "Bash", Summary: "rm -rf build"})
	stall := busy()
	stall.Busy, stall.State, stall.Doing = false, "API overloaded", "again in 0:21, attempt 2"
	writes := busy()
	writes.Work.Writing = strings.Repeat("Many words come before. ", 40) + "These are the last words."
	thinks := busy()
	for name, tt := range map[string]struct {
		tile     PageAgent
		want, no string
	}{
		"waits for the human": {wait, "? permission?: Bash rm -rf build  8s", "◆ Bash"},
		"waits for the API":   {stall, "✗ API overloaded, again in 0:21, attempt 2", "thinking"},
		"writes":              {writes, "These are the last words.", "thinking"},
		"thinks":              {thinks, "thinking  8s", "API"},
	} {
		for h := 2; h < 8; h++ {
			got, _ := textsTile(tt.tile, 80, h, lookTile(t, render.Unicode))
			text := strings.Join(got, "\n")
			testkit.Check(t, strings.Contains(text, tt.want) && !strings.Contains(text, tt.no), "%s, %d rows:\n%s",
				name, h, text)
		}
	}
}

// TestSubagentsAreGrouped: one line for each subagent with its meter, or one line for all if they are
// folded or there is no room.
func TestSubagentsAreGrouped(t *testing.T) {
	one := busy()
	for i, name := range []string{"parser", "writer", "tests"} {
		sub := eventtext.SubagentActivity{ID: name, Name: name, Began: atTile(20), Tokens: 10_000 * (i + 1)}
		row := Subagent{Name: name, Works: i > 0, Doing: "Bash ls", Tokens: sub.Tokens, Pct: 30,
			Age: 5 * time.Second}
		if i == 0 {
			sub.Ended = atTile(50)
		}
		one.Work.Subagents, one.Subagents = append(one.Work.Subagents, sub), append(one.Subagents, row)
	}
	one.Work.Items = append(one.Work.Items,
		eventtext.ActivityItem{At: atTile(20), Use: "writer", Tool: "Agent", Summary: "writer"})
	got, group := textsTile(one, 90, 20, lookTile(t, render.Unicode))
	text := strings.Join(got, "\n")
	testkit.Check(t, strings.Contains(got[group], "▾ 3 subagents, 1 done  60k tokens") &&
		strings.Contains(text, "├ ✓ parser") && strings.Contains(text, "└ ◆ tests") &&
		!strings.Contains(text, "◆ Agent"), "line %d of:\n%s", group, text)
	one.Open = false
	got, group = textsTile(one, 90, 20, lookTile(t, render.Unicode))
	text = strings.Join(got, "\n")
	testkit.Check(t, group >= 0 && strings.Contains(got[group], "▸ 3 subagents") && !strings.Contains(text, "parser"),
		"folded:\n%s", text)
	one.Open = true
	row := SubagentLines(lookTile(t, render.ASCII), []Subagent{{Name: "new", Works: true}}, 40)[0].Text()
	testkit.Check(t, strings.HasSuffix(strings.TrimRight(row, " "), " 0s"), "its tokens are not known yet: %q", row)
	if got, _ = textsTile(one, 90, 4, lookTile(t, render.ASCII)); !strings.Contains(strings.Join(got, "\n"),
		"+ 3 subagents") {
		t.Errorf("without room:\n%s", strings.Join(got, "\n"))
	}
}

// TestTileKeepsToItsSize at every size, whatever its content.
func TestTileKeepsToItsSize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"", "word", strings.Repeat("長い", 40), strings.Repeat("x", 300), "a\nb\n\nc",
		"e\u0301\u0301 👩‍👩‍👧‍👦"}
	word := func() string { return words[r.IntN(len(words))] }
	for range 2000 {
		one := busy()
		one.Name, one.State, one.Doing, one.Work.Writing = strings.ReplaceAll(word(), "\n", ""), "works",
			strings.ReplaceAll(word(), "\n", " "), word()
		one.Busy, one.Bell, one.Past = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(5) == 0
		for range r.IntN(9) {
			one.Work.Items = append(one.Work.Items, eventtext.ActivityItem{At: atTile(1), Text: word()},
				eventtext.ActivityItem{At: atTile(1), Tool: "Bash", Summary: strings.ReplaceAll(word(), "\n", " ")})
			one.Work.Subagents = append(one.Work.Subagents, eventtext.SubagentActivity{ID: "x", Name: "x"})
			one.Subagents = append(one.Subagents, Subagent{Name: strings.ReplaceAll(word(), "\n", "")})
		}
		w, h := r.IntN(130), r.IntN(30)
		list, group := drawTile(one, w, h, lookTile(t, render.Unicode), now)
		testkit.Need(t, len(list) <= h && group < len(list), "%d lines in %d rows, the group in line %d", len(list), h,
			group)
		for _, l := range list {
			testkit.Need(t, l.Width() <= w, "%d columns in %d: %q", l.Width(), w, l.Text())
		}
	}
}

// TestHeights: every tile has a row, those that need more share the rest, and no row is unused.
func TestHeights(t *testing.T) {
	for _, tt := range []struct {
		wants []int
		rows  int
		want  string
	}{
		{nil, 9, "[] 0"}, {[]int{0}, 9, "[9] 1"}, {[]int{0, 0}, 9, "[5 4] 0"}, {[]int{0, 0}, 21, "[10 10] 1"},
		{[]int{1, 0, 3}, 30, "[1 24 3] 1"}, {[]int{1, 1}, 30, "[1 1] 1"}, {[]int{0, 0, 0}, 3, "[1 1 1] 0"},
	} {
		heights, space := heights(tt.wants, tt.rows)
		testkit.Same(t, fmt.Sprintf("%v in %d rows", tt.wants, tt.rows), tt.want, fmt.Sprint(heights, space))
	}
}

// TestImportantAgentsAreShown: of more agents than rows, those that wait for the human and those that work are
// shown.
func TestImportantAgentsAreShown(t *testing.T) {
	var many []PageAgent
	for i := range 20 {
		many = append(many, PageAgent{ID: fmt.Sprint(i), Past: i%4 == 1, Busy: i%4 == 2, Bell: i == 13})
	}
	shown, hidden := important(many, 8, "3", 8)
	ids := testkit.Each(shown, func(s PageAgent) string { return s.ID })
	want := []string{"0", "3", "6", "10", "13", "14", "18"}
	testkit.Check(t, slices.Equal(ids, want) && hidden == 13, "%v and %d more, want %v", ids, hidden, want)
}

func textShellOf(lines []render.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// TestCard: it shows what runs, then how it ended; its output is only text.
func TestCard(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	c := NewCard("make \x1b[31mall", began, func() {})
	got := textShellOf(c.Head(began.Add(12 * time.Second)))
	testkit.Check(t, got == "make all\nrunning for 12 s\n" && !c.Over(), "running: %q", got)
	testkit.Same(t, "without output", "(no output)\n", textShellOf(c.Body(40)))
	fmt.Fprint(c, "one\r\n\x1b[1mt")
	fmt.Fprint(c, "wo\x1b]0;owned\a ```\n")
	c.End("exit code 2", false, began.Add(time.Minute))
	got = textShellOf(c.Head(began.Add(time.Hour)))
	testkit.Check(t, got == "make all\nexit code 2, after 60 s\n" && c.Over(), "ended: %q", got)
	testkit.Same(t, "output", "one\ntwo ```\n", textShellOf(c.Body(40)))
	want := "I ran this command (exit code 2):\n```\nmake all\n```\nIts output:\n````\none\ntwo ```\n````\n"
	testkit.Same(t, "an agent receives", want, c.Text())
}

// TestLongOutput: its end is kept, starting at a line, and the card shows how much was dropped.
func TestLongOutput(t *testing.T) {
	c := NewCard("yes", time.Time{}, func() {})
	written := 0
	for i := range 100_000 {
		n, _ := fmt.Fprintf(c, "line %06d\n", i)
		written += n
	}
	testkit.Check(t, len(c.text) <= 2*keptBytes, "%d bytes are kept", len(c.text))
	body := textShellOf(c.Body(80))
	first, rest, _ := strings.Cut(body, "\n")
	testkit.Check(t, strings.HasPrefix(first, "(") && strings.HasSuffix(first, " before this are not shown)"),
		"begins with %q", first)
	testkit.Check(t, strings.HasPrefix(rest, "line ") && strings.HasSuffix(body, "line 099999\n"), "%.40q … %q", rest,
		body[len(body)-20:])
	text, lost := c.tail(agentBytes)
	testkit.Check(t, lost+len(text)+1 == written && len(text) <= agentBytes,
		"%d bytes are reported and %d are said to be lost of %d", len(text), lost, written)
}
