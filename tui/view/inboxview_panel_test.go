package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/render"
)

func item(id string, kind supervisor.InboxKind) InboxItem {
	return InboxItem{ID: id, Kind: kind, Asks: "Orchestrator I asks permission", Text: "Bash: make " + id,
		Age:  "for 5 min",
		Head: []render.Line{render.Of(render.Base, "head of "+id)},
		Body: func(width int) []render.Line { return render.WrapText(render.Base, "body of "+id, width) }}
}

// leave is a request for permission.
func leave(id string) InboxItem { return item(id, supervisor.InboxPermission) }

// shown returns the panel in a few lines.
func shown(t *testing.T, p *InboxPanel) string {
	t.Helper()
	d := p.Data(darkLook(t))
	var b strings.Builder
	fmt.Fprintln(&b, d.Title)
	if d.Body != nil {
		for _, l := range append(slices.Clone(d.Head), d.Body(60)...) {
			fmt.Fprintln(&b, strings.TrimRight(l.Text(), " "))
		}
	}
	for i, c := range d.Choices {
		mark := ""
		if i == d.Focus {
			mark = " (marked)"
		}
		fmt.Fprintf(&b, "%c %s%s\n", c.Key, c.Label, mark)
	}
	return b.String() + d.Note
}

func expect(t *testing.T, p *InboxPanel, parts ...string) {
	t.Helper()
	testkit.Includes(t, "the panel", shown(t, p), parts...)
}

// gives presses a digit and returns the answer.
func gives(t *testing.T, p *InboxPanel, digit int) (InboxAnswer, bool) {
	t.Helper()
	return p.Answer(p.Data(&render.Look{Glyphs: render.Unicode}).Choices[digit-1].Value)
}

func TestInboxAnswers(t *testing.T) {
	rules := leave("one")
	rules.Rules = []InboxRule{{"Bash(make one)", []string{"one"}}, {"Bash(make *)", []string{"one", "two"}}}
	failed := item("recovery-orch-1", supervisor.InboxRecovery)
	failed.Ways = []PageChoice{{Value: "retry", Label: "Try again"},
		{Value: "cancel", Label: "End the run", Irreversible: true}}
	for _, tt := range []struct {
		item   InboxItem
		digits []int
		want   InboxAnswer
	}{
		{rules, []int{1}, InboxAnswer{Act: InboxAllow}},
		{rules, []int{2}, InboxAnswer{Act: InboxDeny}},
		{rules, []int{3}, InboxAnswer{Act: InboxRefuse}},
		{rules, []int{4, 1}, InboxAnswer{Act: InboxAllow, Scope: "run"}},
		{rules, []int{4, 3}, InboxAnswer{Act: InboxAllow, Scope: "run", Rule: "Bash(make *)"}},
		{rules, []int{5, 1}, InboxAnswer{Act: InboxAllow, Scope: "always"}},
		{rules, []int{5, 2}, InboxAnswer{Act: InboxAllow, Scope: "always", Rule: "Bash(make one)"}},
		{leave("one"), []int{4}, InboxAnswer{Act: InboxAllow, Scope: "run"}},
		{item("q", supervisor.InboxQuestion), []int{1}, InboxAnswer{Act: InboxWrite}},
		{item("a", supervisor.InboxAcceptance), []int{1}, InboxAnswer{Act: InboxWrite}},
		{failed, []int{2}, InboxAnswer{Act: InboxChoose, Option: "cancel"}},
	} {
		var p InboxPanel
		p.Set([]InboxItem{tt.item, leave("two")})
		var got InboxAnswer
		for i, d := range tt.digits {
			var given bool
			if got, given = gives(t, &p, d); given != (i == len(tt.digits)-1) {
				t.Errorf("%v: the answer is given %v after %d", tt.digits, given, i+1)
			}
		}
		tt.want.IDs = []string{tt.item.ID}
		testkit.Same(t, fmt.Sprintf("%s %v", tt.item.Kind, tt.digits), tt.want, got)
	}
}

// TestRulesShowWhatTheyCover: each rule shows how many other items it settles, and those items are listed
// below the request.
func TestRulesShowWhatTheyCover(t *testing.T) {
	rules := leave("one")
	rules.Rules = []InboxRule{{"Bash(make one)", []string{"one"}}, {"Bash(make *)", []string{"one", "two", "gone"}}}
	var p InboxPanel
	p.Set([]InboxItem{rules, leave("two")})
	gives(t, &p, 4)
	expect(
		t,
		&p,
		"until the run ends",
		"1 This exact action (marked)\n"+
			"2 Bash(make one): exactly this line\n3 Bash(make *)  (and 1 more): every command that begins with `make`",
		"body of one",
		"Bash(make *) also settles 1 request:\n- Orchestrator I asks permission: Bash: make two",
	)
	testkit.Same(t, "the first step is not one step back", false, !p.Back() || p.Back())
	expect(t, &p, "1 Allow once", "2 Deny (marked)")
}

// TestAll: the answer to all is for those items that were shown and still wait, not for one that arrives
// meanwhile.
func TestAll(t *testing.T) {
	one, two, three := leave("one"), leave("two"), leave("three")
	question, rejected := item("q", supervisor.InboxQuestion), item("a", supervisor.InboxAcceptance)
	var p InboxPanel
	p.Set([]InboxItem{one, question, two, three, rejected})
	expect(t, &p, "What waits for you · 1 of 5", "A: all 3 permission requests")
	if why := p.All(); why != "" {
		t.Fatal(why)
	}
	expect(t, &p, "3 permission requests, answered at once:", "1. Orchestrator I asks permission, for 5 min\nbody of one",
		"body of two", "3. Orchestrator I", "1 Allow these 3 once\n2 Deny these 3\n3 Back (marked)")
	gone := p.Set([]InboxItem{question, two, three, rejected, leave("four")})
	testkit.Check(t, !gone, "the step is over though some of them wait")
	got, given := gives(t, &p, 1)
	diff := cmp.Diff(InboxAnswer{IDs: []string{"two", "three"}, Act: InboxAllow}, got)
	testkit.Check(t, diff == "" && given, "(-want +got):\n%s", diff)
	p.Select("q")
	expect(t, &p, "A: all 2 questions")
	p.All()
	expect(t, &p, "2 questions, answered at once:", "body of q", "body of a", "1 Write one answer to all")
	_, given = gives(t, &p, 2)
	testkit.Check(t, !given, "back is not an answer")
	expect(t, &p, "1 Write the answer")
	p.All()
	testkit.Check(t, p.Set([]InboxItem{two, three}), "the step goes on though none of them waits")
	p.Set([]InboxItem{two, question})
	why := p.All()
	testkit.Check(t, why != "", "one of a kind is asked about as if it were several")
	p.Set([]InboxItem{item("trust", supervisor.InboxTrust), item("r", supervisor.InboxRecovery)})
	why = p.All()
	testkit.Check(t, why != "", "choices are made for several at once")
}

// TestOpenItemStaysSelected: other items come and go around it. If the item itself disappears, the panel
// says so.
func TestOpenItemStaysSelected(t *testing.T) {
	one, two, three := leave("one"), leave("two"), leave("three")
	var p InboxPanel
	_, ok := p.Current()
	testkit.Check(t, !ok && !p.Set(nil), "an empty panel has something at hand")
	at := func(want string) {
		t.Helper()
		got, _ := p.Current()
		testkit.Check(t, got.ID == want, "%s is at hand, want %s", got.ID, want)
	}
	testkit.Same(t, "something is gone of nothing", false, p.Set([]InboxItem{one, two, three}))
	p.Move(-1)
	at("three")
	p.Move(2)
	at("two")
	testkit.Same(t, "what is at hand is there", false, p.Set([]InboxItem{two, three}))
	at("two")
	gives(t, &p, 5)
	testkit.Same(t, "what was at hand is gone", true, p.Set([]InboxItem{three}))
	at("three")
	expect(t, &p, "1 Allow once")
	p.Go(9)
	at("three")
}
