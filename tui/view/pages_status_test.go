package view

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

var full = StatusData{Word: "Weaving", Awaited: "Orchestrator II", Waiting: 4 * time.Minute, CostUSD: 3.417,
	Tokens: 1_284_000, Elapsed: 83*time.Minute + 7*time.Second, Restarts: 2, Mode: "NORMAL", Hint: "? help",
	Warnings: []string{"REHEARSAL", "ALLOW ALL"}}

func bar(t *testing.T, d StatusData, w int) string {
	s := screenOf(t, w, 1)
	defer s.Fini()
	l := lookPage(t, "dark", render.Unicode)
	l.Still = true
	p := NewStatus(l)
	p.SetRect(0, 0, w, 1)
	p.Set(d)
	p.Draw(s)
	return strings.TrimSuffix(textPage(s), "\n")
}

func TestStatusNeverDropsWarnings(t *testing.T) {
	for w := 26; w < 200; w++ {
		got := bar(t, full, w)
		if !strings.Contains(got, " REHEARSAL ") || !strings.Contains(got, " ALLOW ALL ") {
			t.Errorf("%d columns: %q", w, got)
		}
	}
	for w := 12; w < 26; w++ { // a part of each value
		if got := bar(t, full, w); !strings.Contains(got, " REHE") || !strings.Contains(got, " ALLO") {
			t.Errorf("%d columns: %q", w, got)
		}
	}
}

// What was dropped at a width does not come back at a smaller one, and values are dropped in the documented
// order.
func TestStatusDropsInOrder(t *testing.T) {
	order := []string{"1.3M tok", "? help", "2 restarts", "4m", "1:23:07", "$3.42", "NORMAL", "II", "Weaving"}
	d := full
	d.Warnings = d.Warnings[:1]
	gone := 0
	for w := 160; w >= 14; w-- {
		got := bar(t, d, w)
		for i, part := range order {
			if there := strings.Contains(got, part); there && i < gone {
				t.Fatalf("%d columns: %q came back: %q", w, part, got)
			} else if !there && i > gone {
				t.Fatalf("%d columns: %q went before %q: %q", w, part, order[gone], got)
			} else if !there {
				gone = i + 1
			}
		}
	}
	if gone != len(order) {
		t.Errorf("only %d parts were dropped", gone)
	}
}

func TestStatusOfAHuman(t *testing.T) {
	d := full
	d.Human, d.Awaited = true, "you"
	for _, w := range []int{50, 80, 160} {
		got := bar(t, d, w)
		if !strings.Contains(got, "A word is awaited") || strings.Contains(got, "···") {
			t.Errorf("%d columns: %q", w, got)
		}
	}
}

// Who decides instead of the Arbiter is shown before everything except that the human is needed.
func TestStatusInFallbackMode(t *testing.T) {
	d := full
	d.Warnings, d.Fallback, d.Decider = nil, "The rules decide", "a model decides"
	for _, w := range []int{24, 40, 80, 160} {
		if got := bar(t, d, w); !strings.Contains(got, "The rules decide") {
			t.Errorf("%d columns: %q", w, got)
		}
	}
	if got := bar(t, d, 160); !strings.Contains(got, "a model decides") {
		t.Errorf("who decides is not told: %q", got)
	}
	d.Human, d.Awaited = true, "you"
	if got := bar(t, d, 44); !strings.Contains(got, "A word is awaited") || !strings.Contains(got, "The rules") {
		t.Errorf("%q", got)
	}
}

func TestStatusFlash(t *testing.T) {
	d := full
	d.Flash = "So it shall be."
	if got := bar(t, d, 100); !strings.Contains(got, d.Flash) || strings.Contains(got, "$3.42") {
		t.Errorf("%q", got)
	}
	d.Flash = strings.Repeat("There is no agent of that name. ", 9)
	if got := bar(t, d, 100); !strings.Contains(got, "There is no") || !strings.Contains(got, "…") ||
		!strings.Contains(got, "Weaving") {
		t.Errorf("a long one: %q", got)
	}
}

func TestPageWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{elapsedPage(-1), "0s"}, {elapsedPage(59 * time.Second), "59s"}, {elapsedPage(60 * time.Second), "1m"},
		{elapsedPage(3*time.Hour + 5*time.Minute), "3h 05m"}, {elapsedPage(49 * time.Hour), "2d 1h"},
		{PageClock(42 * time.Second), "0:42"}, {PageClock(3723 * time.Second), "1:02:03"},
		{ago(pageBegan, pageBegan.Add(30*time.Second)), "just now"}, {ago(pageBegan, pageBegan.Add(time.Minute)),
			"1 minute ago"},
		{ago(pageBegan, pageBegan.Add(26*time.Hour)), "1 day ago"},
		{ago(pageBegan, pageBegan.AddDate(0, 2, 0)), "1 Jan 2000"}, {ago(time.Time{}, pageBegan), ""},
		{percent(71.6), "72%"}, {percent(-4), "0%"}, {percent(1e9), "999%"},
		{spaced("THE ARBITER"), "T H E   A R B I T E R"}, {shortPage("Orchestrator IV"), "Orch. IV"},
		{shortPage("Arbiter"), "Arbiter"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
