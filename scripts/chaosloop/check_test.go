package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// These tests show that the checks find what they must find: a check that finds nothing proves nothing.

func history(t *testing.T, session string, texts ...string) rehearsal.Request {
	t.Helper()
	var messages []map[string]any
	for i, text := range texts {
		role := "user"
		if strings.HasPrefix(text, "assistant:") {
			role = "assistant"
		}
		var content any = text
		if i%2 == 1 {
			content = []map[string]string{{"type": "text", "text": text}}
		}
		messages = append(messages, map[string]any{"role": role, "content": content})
	}
	raw := testkit.Must(json.Marshal(messages))(t)
	return rehearsal.Request{Session: session, Role: rehearsal.RoleArbiter, Messages: raw}
}

func TestDoubledMessagesAreFound(t *testing.T) {
	const one, two = "⟦k3x | from: human | kind: task | id: a-1⟧\nDo it.",
		"⟦k3x | from: orch-1 | kind: done | id: a-2⟧\nDone."
	for _, tt := range []struct {
		name          string
		requests      []rehearsal.Request
		seen, doubled int
	}{
		{"none", []rehearsal.Request{history(t, "s", "hello")}, 0, 0},
		{"two", []rehearsal.Request{history(t, "s", one, "x", two)}, 2, 0},
		{"each in its own session", []rehearsal.Request{history(t, "s", one), history(t, "u", one)}, 2, 0},
		{"twice in a row", []rehearsal.Request{history(t, "s", one, one)}, 1, 1},
		{"twice in one text", []rehearsal.Request{history(t, "s", one+"\n\n"+one)}, 1, 1},
		{"only the last history counts", []rehearsal.Request{history(t, "s", one), history(t, "s", one, two)}, 2, 0},
		{"quoted by the model", []rehearsal.Request{history(t, "s", one, "assistant: "+one)}, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{f: newFigures()}
			seen := r.checkDoubled(tt.requests)
			testkit.Check(t, seen == tt.seen && r.f.n["doubled"] == tt.doubled && len(r.problems) == tt.doubled,
				"%d seen, %v, %q; want %d and %d", seen, r.f.n, r.problems, tt.seen, tt.doubled)
		})
	}
}

func TestChoosePoints(t *testing.T) {
	for which, want := range map[string]int{"none": 0, "some": 0, "all": len(points), points[0]: 1} {
		got, err := choosePoints(which)
		testkit.Check(t, err == nil && len(got) == want, "%s: %v, %v", which, got, err)
	}
	testkit.Fails(t, "an unknown point is taken", testkit.Err(choosePoints("e.f")))
	for _, beginning := range elsewhere {
		testkit.Check(t,
			slices.ContainsFunc(journal.CrashPoints, func(p string) bool { return strings.HasPrefix(p, beginning) }) ||
				beginning == "fork.", "%s is the beginning of no point", beginning)
	}
	for _, n := range needs {
		testkit.Check(t, slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, n.points) }),
			"%s is the beginning of no point", n.points)
	}
}

// TestTranscriptsAreDamaged: each kind of damage leaves another file, and no longer one; the session is noted.
func TestTranscriptsAreDamaged(t *testing.T) {
	for kind, damage := range damages {
		text := []byte("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")
		got := damage(slices.Clone(text), len(text)/2)
		testkit.Check(t, string(got) != string(text) && len(got) <= len(text), "damage %d left %q", kind, got)
	}
	r := &round{is: map[string]bool{loses: true}, f: newFigures(), dir: t.TempDir(),
		rnd: rand.New(rand.NewPCG(1, 2))}
	dir := filepath.Join(r.dir, "home", ".claude", "projects", "p")
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "session.jsonl")
	testkit.OK(t, os.WriteFile(path, []byte("{}\n{}\n"), 0o600))
	for range 20 {
		r.loseTranscript()
	}
	text, err := os.ReadFile(path)
	testkit.Check(t, r.f.n["transcripts damaged"] != 0 && string(text) != "{}\n{}\n", "damaged %d times: %q, %v",
		r.f.n["transcripts damaged"], text, err)
}

func TestPermissionIsGranted(t *testing.T) {
	begin := of("supervisor", contract.Session{})
	ask, again := of("a", contract.PermissionRequest{Request: "p", Tool: "Write"}),
		of("a", contract.Permission{Request: "p", Behavior: "allow"})
	spawn := of("a", contract.Spawn{})
	result := of("supervisor", contract.Result{Status: contract.StatusComplete})
	for name, tt := range map[string]struct {
		all []contract.Line
		bad bool
	}{
		"answered":                      {linesOf(begin, ask, again, result), false},
		"asked for again":               {linesOf(begin, ask, begin, ask, again, result), false},
		"answered by the next process":  {linesOf(begin, ask, begin, again, result), false},
		"never answered":                {linesOf(begin, ask), true},
		"forgotten by the next process": {linesOf(begin, ask, begin, result), true},
		"asked for by the one after it": {linesOf(begin, ask, begin, begin, ask, again, result), false},
		"ended with the run":            {linesOf(begin, ask, result, begin, result), true},
		"denied at the end of the run":  {linesOf(begin, ask, begin, again, result, begin, result), false},
		"an event after the result":     {linesOf(begin, result, spawn), true},
		"two results":                   {linesOf(begin, result, result), true},
	} {
		r := &round{}
		r.checkPermissions(tt.all)
		bad := len(r.problems) > 0
		testkit.Check(t, bad == tt.bad, "%s: %q", name, r.problems)
	}
}

// TestTheHumanActs: the human acts in one of that many rounds, and in none of those that have a crash point to reach.
func TestTheHumanActs(t *testing.T) {
	each := varieties[slices.IndexFunc(varieties, func(v variety) bool { return v.name == acts })].each
	defer func(before uint64) { *each = before }(*each)
	count := func(every uint64, must string) (n int) {
		*each = every
		for seed := range uint64(20) {
			r := &round{seed: seed, must: must}
			r.choose()
			n += b2i(r.is[acts])
		}
		return n
	}
	one, some, none, must := count(1, ""), count(5, ""), count(0, ""), count(1, "loop.kill")
	testkit.Check(t, one == 20 && some == 4 && none == 0 && must == 0, "%d, %d, %d, %d rounds of 20", one, some, none,
		must)
}

func TestUnfinishedActionsAtTheEnd(t *testing.T) {
	given := func(id string) contract.Event { return of(contract.Arbiter, contract.Delivered{MessageID: id}) }
	turn, failed := of(contract.Arbiter, contract.Turn{Outcome: "done"}),
		of(contract.Arbiter, contract.Turn{Outcome: "failed"})
	got := stillUnderWay(linesOf(given("one"), turn, given("two"), failed, of("orch-1", contract.Turn{Outcome: "done"}),
		of("orch-1", contract.Delivered{MessageID: "three"})))
	testkit.Check(t, len(got) == 1 && got["two"], "under way: %v", got)
	got = stillUnderWay(linesOf(given("one"), given("two"), turn))
	testkit.Check(t, len(got) == 0, "under way: %v", got)
}
