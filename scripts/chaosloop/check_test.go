package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
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
	raw, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
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
			if seen := r.checkDoubled(tt.requests); seen != tt.seen || r.f.doubled != tt.doubled ||
				len(r.problems) != tt.doubled {
				t.Errorf("%d seen, %d doubled, %q; want %d and %d", seen, r.f.doubled, r.problems, tt.seen, tt.doubled)
			}
		})
	}
}

func TestLedgerIsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text              string
		doubled, problems int
	}{
		"sound": {`{"event":"start","session":"s","pid":1}` + "\n" +
			`{"event":"took","session":"s","message":"a"}` + "\n" + `{"event":"took","session":"u","message":"a"}` +
			"\n", 0, 0},
		"doubled": {`{"event":"took","session":"s","message":"a"}` + "\n" +
			`{"event":"ended","session":"s","message":"a"}` + "\n" + `{"event":"took","session":"s","message":"a"}` +
			"\n", 1, 1},
		"to the grave": {`{"event":"took","session":"s","message":"a"}` + "\n" +
			`{"event":"took","session":"s","message":"a"}` + "\n" + `{"event":"ended","session":"s","message":"a"}` +
			"\n", 0, 0},
		"without ids":  {`{"event":"took","session":"s"}` + "\n" + `{"event":"took","session":"s"}` + "\n", 0, 0},
		"not a ledger": {"what?\n", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{f: newFigures(), ledger: filepath.Join(t.TempDir(), "ledger")}
			if err := os.WriteFile(r.ledger, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r.checkLedger()
			if r.f.doubled != tt.doubled || len(r.problems) != tt.problems {
				t.Errorf("%d doubled, %q", r.f.doubled, r.problems)
			}
		})
	}
	r := &round{f: newFigures(), ledger: filepath.Join(t.TempDir(), "none")}
	if r.checkLedger(); len(r.problems) != 1 {
		t.Error("a missing ledger is not noticed")
	}
}

func TestQuantile(t *testing.T) {
	var f figures
	if got := f.quantile(0.99); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	for i := range 100 {
		f.gone = append(f.gone, time.Duration(100-i)*time.Millisecond)
	}
	if a, b := f.quantile(0.5), f.quantile(0.99); a != 51*time.Millisecond || b != 100*time.Millisecond {
		t.Errorf("p50 %s, p99 %s", a, b)
	}
}

func TestFiguresAddUp(t *testing.T) {
	f, g := newFigures(), newFigures()
	g.lost, g.failed, g.gone = 1, 1, []time.Duration{time.Second}
	g.kill("bridge")
	g.died["a.b"]++
	f.add(g)
	f.add(g)
	if f.lost != 2 || f.failed != 2 || f.kills() != 2 || f.died["a.b"] != 2 || len(f.gone) != 2 {
		t.Errorf("%+v", f)
	}
}

func TestChoosePoints(t *testing.T) {
	all := []string{"a.b", "c.d"}
	for which, want := range map[string]int{"none": 0, "some": 0, "all": 2, "c.d": 1} {
		if got, err := choosePoints(which, all); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", which, got, err)
		}
	}
	if _, err := choosePoints("e.f", all); err == nil {
		t.Error("an unknown point is taken")
	}
}
