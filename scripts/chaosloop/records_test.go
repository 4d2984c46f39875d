package main

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// linesOf numbers events as a process does when it prints them.
func linesOf(events ...contract.Event) []contract.Line {
	var lines []contract.Line
	for i, e := range events {
		lines = append(lines, contract.Line{V: 1, Seq: uint64(i + 1), Event: e})
	}
	return lines
}

func of(id string, b contract.Body) contract.Event { return contract.Event{ID: id, Body: b} }

func check(n, all int, sum string) contract.Check {
	return contract.Check{Number: n, Of: all, Receipt: verdict.Receipt{Command: "true", SHA256: sum}}
}

func again(n, all int) contract.Check {
	c := check(n, all, "x")
	c.Again = true
	return c
}

func handoff(from, to string, sums ...string) contract.Handoff {
	h := contract.Handoff{From: from, To: to, Document: &verdict.Document{}}
	for _, sum := range sums {
		h.Document.Checks = append(h.Document.Checks, verdict.Check{Command: "true"})
		h.Receipts = append(h.Receipts, verdict.Receipt{Command: "true", SHA256: sum})
	}
	return h
}

func TestPrintedEventsAreInTheLog(t *testing.T) {
	all := linesOf(of("a", check(1, 2, "x")), of("a", check(2, 2, "y")), of("a", handoff("a", "arbiter", "x", "y")))
	for name, tt := range map[string]struct {
		printed []contract.Line
		unkept  int
	}{
		"all":            {all, 0},
		"a part":         {all[1:], 0},
		"nothing":        {nil, 0},
		"out of order":   {[]contract.Line{all[1], all[0]}, 1},
		"twice":          {[]contract.Line{all[0], all[0]}, 1},
		"in other words": {linesOf(of("a", check(1, 2, "z"))), 1},
	} {
		r := &round{f: newFigures(), printed: tt.printed}
		if r.checkPrinted(all); r.f.n["receipts unkept"] != tt.unkept || len(r.problems) != tt.unkept {
			t.Errorf("%s: %d, %q", name, r.f.n["receipts unkept"], r.problems)
		}
	}
}

func TestReceiptsAreInTheLog(t *testing.T) {
	gives := contract.Message{From: "a", To: "arbiter", Kind: verdict.KindHandoff}
	for name, tt := range map[string]struct {
		lines  []contract.Line
		unkept int
	}{
		"done": {linesOf(of("a", check(1, 2, "x")), of("b", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x", "y")), of("b", check(2, 2, "x")),
			of("b", handoff("b", "arbiter", "x", "x"))), 0},
		"passed on later": {linesOf(of("a", check(1, 1, "x")), of("a", gives), of("c", contract.Spawn{}),
			of("a", handoff("a", "c", "x"))), 0},
		"no checks": {linesOf(of("a", handoff("a", "arbiter"))), 0},
		"one ran twice": {linesOf(of("a", check(1, 2, "x")), of("a", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x", "y"))), 1},
		"two at once": {linesOf(of("a", check(1, 2, "x")), of("a", check(1, 1, "z")), of("a", check(2, 2, "y")),
			of("a", gives), of("a", handoff("a", "arbiter", "z"))), 0},
		"not the first": {linesOf(of("a", check(2, 2, "y")), of("a", handoff("a", "arbiter", "x", "y"))), 2},
		"never ended":   {linesOf(of("a", check(1, 2, "x"))), 1},
		"one is lost": {linesOf(of("a", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x"))), 1},
		"another's": {linesOf(of("a", check(1, 1, "x")), of("a", handoff("a", "arbiter", "y"))), 1},
		"once more": {linesOf(of("a", again(1, 2)), of("b", again(2, 2)), of("a", again(1, 2)),
			of("b", again(2, 2))), 0},
		"once more, a gap": {linesOf(of("a", again(1, 3)), of("b", again(3, 3))), 1},
	} {
		r := &round{f: newFigures()}
		if r.checkReceipts(tt.lines); r.f.n["receipts unkept"] != tt.unkept {
			t.Errorf("%s: %d, %q", name, r.f.n["receipts unkept"], r.problems)
		}
	}
}

func TestDocumentsArrive(t *testing.T) {
	lines := linesOf(of("orch-1", contract.Spawn{SessionID: "one"}), of("orch-2", contract.Spawn{SessionID: "two"}),
		of("orch-1", handoff("orch-1", "orch-2")),
		of("arbiter", contract.Message{MessageID: "m", To: "orch-2", Kind: "brief"}))
	had := func(session string) rehearsal.Request {
		return rehearsal.Request{Session: session, Incoming: "⟦k | from: arbiter | kind: brief | id: m⟧\nx"}
	}
	lost := append(lines[:2:2], append(linesOf(of("orch-2", contract.Spawn{SessionID: "three"})), lines[2:]...)...)
	for name, tt := range map[string]struct {
		lines       []contract.Line
		requests    []rehearsal.Request
		undelivered int
	}{
		"once":             {lines, []rehearsal.Request{had("two"), had("two")}, 0},
		"by two":           {lines, []rehearsal.Request{had("two"), had("three")}, 0}, // three has no reader
		"given again":      {lost, []rehearsal.Request{had("two"), had("three")}, 0},
		"without a letter": {lines[:3], []rehearsal.Request{had("two")}, 1},
	} {
		r := &round{f: newFigures()}
		if r.checkDocuments(tt.lines, nil, tt.requests, 0); r.f.n["documents undelivered"] != tt.undelivered ||
			r.f.n["documents passed on"] != 1 {
			t.Errorf("%s: %d of %d, %q", name, r.f.n["documents undelivered"], r.f.n["documents passed on"], r.problems)
		}
	}
}

func TestOneArbiterAtATime(t *testing.T) {
	const inherits, one, two = "⟦k | from: supervisor | kind: inheritance⟧\nx\n⟦k | end⟧\n",
		"⟦k | from: human | kind: task | id: a-1⟧\nx", "⟦k | from: human | kind: message | id: a-2⟧\nx"
	sits := func(s string) contract.Event { return of(contract.Arbiter, contract.Spawn{SessionID: s}) }
	receives := of(contract.Arbiter, contract.Delivered{})
	rules := func(d string) contract.Event {
		return of(contract.Arbiter, contract.Decision{Decision: d, Source: "session"})
	}
	leaves := of(contract.Arbiter, handoff(contract.Arbiter, contract.Arbiter))
	sound := linesOf(sits("a"), receives, rules("CONTINUE"), rules(verdict.Handoff), leaves, sits("b"), receives,
		rules("COMPLETE"))
	asked := []rehearsal.Request{history(t, "a", one), history(t, "b", inherits+two)}
	for name, tt := range map[string]struct {
		lines          []contract.Line
		requests       []rehearsal.Request
		overlaps, lost int
	}{
		"renewed": {sound, asked, 0, 0},
		"not yet heard": {linesOf(sits("a"), receives, rules(verdict.Handoff), leaves, sits("x"), sits("b"), receives,
			rules("COMPLETE")), asked, 0, 0},
		"begun afresh before the document": {linesOf(sits("a"), receives, rules(verdict.Handoff), sits("x"), leaves,
			sits("b"), receives, rules("COMPLETE")), asked, 0, 0},
		"history lost": {linesOf(sits("a"), receives, rules("CONTINUE"), sits("b"), receives, rules("COMPLETE")),
			[]rehearsal.Request{history(t, "a", one), history(t, "b", one)}, 0, 1},
		"the end came first": {linesOf(sits("a"), receives, rules(verdict.Handoff), leaves), asked[:1], 0, 0},
		"rules from beyond": {linesOf(sits("a"), receives, rules(verdict.Handoff), rules("CONTINUE"), leaves, sits("b"),
			receives, rules("COMPLETE")), asked, 1, 0},
		"asks from beyond": {sound, []rehearsal.Request{asked[0], asked[1], asked[0]}, 1, 0},
		"inherits nothing": {sound, []rehearsal.Request{asked[0], history(t, "b", two)}, 1, 0},
		"inherits twice":   {sound, []rehearsal.Request{asked[0], history(t, "b", inherits+two, inherits)}, 1, 0},
		"given again":      {sound, []rehearsal.Request{asked[0], history(t, "b", inherits+one)}, 1, 0},
	} {
		r := &round{f: newFigures()}
		if lost := r.checkArbiters(tt.lines, tt.requests); r.f.n["Arbiters at the same time"] != tt.overlaps ||
			lost != tt.lost {
			t.Errorf("%s: %d, %d lost, %q", name, r.f.n["Arbiters at the same time"], lost, r.problems)
		}
	}
}

func TestMessageIsFromHuman(t *testing.T) {
	for text, want := range map[string]bool{
		"⟦k | from: human | kind: message | id: a⟧\nhello (word)\n⟦k | end⟧": true,
		"⟦k | from: human | kind: message | id: a⟧\n⟦k | part 1 of 2 | work log | from: orch-1 | kind: progress⟧\nx\n⟦k | " +
			"part 2 of 2⟧\nhello (word)\n⟦k | end⟧": true,
		"⟦k | from: supervisor | kind: inheritance⟧\nThe human said (word)\n⟦k | end⟧\n⟦k | from: orch-1 | kind: question " +
			"| id: a⟧\nx": false,
		"⟦k | from: supervisor | kind: inheritance⟧\nThe human said (word)\n⟦k | end⟧\n⟦k | from: human | kind: message | " +
			"id: a⟧\nhello (word)": true,
		"⟦k | from: human | kind: message | id: a⟧\nhello\n⟦k | end⟧": false,
		"(word)": false,
	} {
		got := isFromHuman(text, "(word)")
		testkit.Check(t, got == want, "%v: %s", got, text)
	}
}

// TestWorkingAgents: follow tracks the state of each Orchestrator. The human ends only those at work.
func TestWorkingAgents(t *testing.T) {
	r := &round{at: map[string]int{}}
	for _, e := range []contract.Event{
		of("orch-1", contract.Spawn{}), of("orch-1", contract.Delivered{}),
		of("orch-1", contract.Message{Kind: verdict.KindDone}), of("orch-1", contract.Delivered{}),
		of("orch-2", contract.Spawn{}), of("orch-2", contract.Delivered{}), of("orch-3", contract.Spawn{}),
		of("orch-4", contract.Spawn{}), of("orch-4", contract.Delivered{}), of("orch-4", contract.Done{}),
		of(contract.Arbiter, contract.Delivered{}),
	} {
		r.follow(contract.Line{Event: e})
	}
	testkit.Check(t, r.at["orch-1"] == finished && r.at["orch-2"] == atWork && r.at["orch-3"] == 0 &&
		r.at["orch-4"] == 0, "%v", r.at)
}

func TestHowDocumentsArrive(t *testing.T) {
	m := contract.Message{MessageID: "m", From: "orch-1", Kind: verdict.KindDone, Text: "a"}
	for incoming, had := range map[string]int{
		"⟦k | from: orch-1 | kind: done | id: m⟧\nx":                                                        1,
		"⟦k | part 1 of 2 | work log | from: orch-1 | kind: done | at: 1970-01-01T00:00:09Z | a report⟧\nx": 1,
		"⟦k | part 1 of 2 | work log | from: orch-1 | kind: done | at: 1970-01-01T00:00:08Z | a report⟧\nx": 0,
		"⟦k | part 1 of 2 | work log | from: orch-2 | kind: done | at: 1970-01-01T00:00:09Z | a report⟧\nx": 0,
	} {
		got := receivedBy([]rehearsal.Request{{Session: "s", Incoming: incoming}}, m, time.Unix(9, 5), []string{"s"})
		testkit.Same(t, incoming, had, len(got))
	}
}
