package main

import (
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// book numbers events as a process does when it prints them.
func book(events ...contract.Event) []contract.Line {
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

func TestSaidIsInTheBooks(t *testing.T) {
	all := book(of("a", check(1, 2, "x")), of("a", check(2, 2, "y")), of("a", handoff("a", "arbiter", "x", "y")))
	for name, tt := range map[string]struct {
		said   []contract.Line
		unkept int
	}{
		"all":            {all, 0},
		"a part":         {all[1:], 0},
		"nothing":        {nil, 0},
		"out of order":   {[]contract.Line{all[1], all[0]}, 1},
		"twice":          {[]contract.Line{all[0], all[0]}, 1},
		"in other words": {book(of("a", check(1, 2, "z"))), 1},
	} {
		r := &round{f: newFigures(), said: tt.said}
		if r.checkSaid(all); r.f.unkept != tt.unkept || len(r.problems) != tt.unkept {
			t.Errorf("%s: %d, %q", name, r.f.unkept, r.problems)
		}
	}
}

func TestReceiptsAreKept(t *testing.T) {
	gives := contract.Message{From: "a", To: "arbiter", Kind: verdict.KindHandoff}
	for name, tt := range map[string]struct {
		lines  []contract.Line
		unkept int
	}{
		"done": {book(of("a", check(1, 2, "x")), of("b", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x", "y")), of("b", check(2, 2, "x")),
			of("b", handoff("b", "arbiter", "x", "x"))), 0},
		"passed on later": {book(of("a", check(1, 1, "x")), of("a", gives), of("c", contract.Spawn{}),
			of("a", handoff("a", "c", "x"))), 0},
		"no checks": {book(of("a", handoff("a", "arbiter"))), 0},
		"one ran twice": {book(of("a", check(1, 2, "x")), of("a", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x", "y"))), 1},
		"two at once": {book(of("a", check(1, 2, "x")), of("a", check(1, 1, "z")), of("a", check(2, 2, "y")),
			of("a", gives), of("a", handoff("a", "arbiter", "z"))), 0},
		"not the first": {book(of("a", check(2, 2, "y")), of("a", handoff("a", "arbiter", "x", "y"))), 2},
		"never ended":   {book(of("a", check(1, 2, "x"))), 1},
		"one is lost": {book(of("a", check(1, 2, "x")), of("a", check(2, 2, "y")),
			of("a", handoff("a", "arbiter", "x"))), 1},
		"another's": {book(of("a", check(1, 1, "x")), of("a", handoff("a", "arbiter", "y"))), 1},
		"once more": {book(of("a", again(1, 2)), of("b", again(2, 2)), of("a", again(1, 2)),
			of("b", again(2, 2))), 0},
		"once more, a gap":   {book(of("a", again(1, 3)), of("b", again(3, 3))), 1},
		"the document's way": {book(of("a", check(1, 1, "x")), of("a", contract.Spawn{})), 1},
	} {
		r := &round{f: newFigures()}
		if r.checkReceipts(tt.lines); r.f.unkept != tt.unkept {
			t.Errorf("%s: %d, %q", name, r.f.unkept, r.problems)
		}
	}
}

func TestDocumentsArrive(t *testing.T) {
	lines := book(
		of("orch-1", contract.Spawn{SessionID: "one"}), of("orch-2", contract.Spawn{SessionID: "two"}),
		of("orch-1", handoff("orch-1", "orch-2")),
		of("arbiter", contract.Message{MessageID: "m", To: "orch-2", Kind: "brief"}),
	)
	had := func(session string) rehearsal.Request {
		return rehearsal.Request{Session: session, Incoming: "⟦k | from: arbiter | kind: brief | id: m⟧\nx"}
	}
	lost := append(lines[:2:2], append(book(of("orch-2", contract.Spawn{SessionID: "three"})), lines[2:]...)...)
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
		if r.checkDocuments(tt.lines, tt.requests, 0); r.f.undelivered != tt.undelivered || r.f.documents != 1 {
			t.Errorf("%s: %d of %d, %q", name, r.f.undelivered, r.f.documents, r.problems)
		}
	}
}

func TestOneArbiterAtATime(t *testing.T) {
	const inherits, one, two = "⟦k | from: supervisor | kind: inheritance⟧\nx\n⟦k | end⟧\n",
		"⟦k | from: human | kind: task | id: a-1⟧\nx", "⟦k | from: human | kind: message | id: a-2⟧\nx"
	sits := func(s string) contract.Event { return of(contract.Arbiter, contract.Spawn{SessionID: s}) }
	hears := of(contract.Arbiter, contract.Delivered{})
	rules := func(d string) contract.Event {
		return of(contract.Arbiter, contract.Decision{Decision: d, Source: "session"})
	}
	leaves := of(contract.Arbiter, handoff(contract.Arbiter, contract.Arbiter))
	sound := book(sits("a"), hears, rules("CONTINUE"), rules(verdict.Handoff), leaves, sits("b"), hears,
		rules("COMPLETE"))
	asked := []rehearsal.Request{history(t, "a", one), history(t, "b", inherits+two)}
	for name, tt := range map[string]struct {
		lines          []contract.Line
		requests       []rehearsal.Request
		overlaps, lost int
	}{
		"renewed": {sound, asked, 0, 0},
		"not yet heard": {book(sits("a"), hears, rules(verdict.Handoff), leaves, sits("x"), sits("b"), hears,
			rules("COMPLETE")), asked, 0, 0},
		"history lost": {book(sits("a"), hears, rules("CONTINUE"), sits("b"), hears, rules("COMPLETE")),
			[]rehearsal.Request{history(t, "a", one), history(t, "b", one)}, 0, 1},
		"the end came first": {book(sits("a"), hears, rules(verdict.Handoff), leaves), asked[:1], 0, 0},
		"rules from beyond": {book(sits("a"), hears, rules(verdict.Handoff), rules("CONTINUE"), leaves, sits("b"),
			hears, rules("COMPLETE")), asked, 1, 0},
		"asks from beyond": {sound, []rehearsal.Request{asked[0], asked[1], asked[0]}, 1, 0},
		"inherits nothing": {sound, []rehearsal.Request{asked[0], history(t, "b", two)}, 1, 0},
		"inherits twice":   {sound, []rehearsal.Request{asked[0], history(t, "b", inherits+two, inherits)}, 1, 0},
		"given again":      {sound, []rehearsal.Request{asked[0], history(t, "b", inherits+one)}, 1, 0},
		"never asked":      {sound, asked[:1], 1, 0},
		"two documents":    {book(sits("a"), hears, leaves, leaves, sits("b"), hears, rules("COMPLETE")), asked, 1, 0},
	} {
		r := &round{f: newFigures()}
		if lost := r.checkArbiters(tt.lines, tt.requests); r.f.overlaps != tt.overlaps || lost != tt.lost {
			t.Errorf("%s: %d, %d lost, %q", name, r.f.overlaps, lost, r.problems)
		}
	}
}

func TestHumanSaid(t *testing.T) {
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
		if got := humanSaid(text, "(word)"); got != want {
			t.Errorf("%v: %s", got, text)
		}
	}
}

// TestWhoIsAtWork: follow tracks the state of each Orchestrator. The human ends only those at work.
func TestWhoIsAtWork(t *testing.T) {
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
	if r.at["orch-1"] != finished || r.at["orch-2"] != atWork || r.at["orch-3"] != summoned || r.at["orch-4"] != down ||
		len(r.at) != 4 {
		t.Errorf("%v", r.at)
	}
}

func TestDecisionsAreNumbered(t *testing.T) {
	decision := func(n int) contract.Event { return of(contract.Arbiter, contract.Decision{Number: n}) }
	for name, tt := range map[string]struct {
		lines  []contract.Line
		unkept int
	}{
		"each once":    {book(decision(1), of("a", contract.Spawn{}), decision(2), decision(3)), 0},
		"one is lost":  {book(decision(1), decision(3)), 1},
		"one is twice": {book(decision(1), decision(1)), 1},
		"not numbered": {book(decision(0)), 1},
	} {
		r := &round{f: newFigures()}
		if r.checkNumbers(tt.lines); r.f.unkept != tt.unkept {
			t.Errorf("%s: %d, %q", name, r.f.unkept, r.problems)
		}
	}
}
