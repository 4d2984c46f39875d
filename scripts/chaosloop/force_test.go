package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestParseAt(t *testing.T) {
	all := []string{"a.b", "e.f"}
	if point, n, run, err := parseAt("a.b:2:3", all); err != nil || point != "a.b" || n != 2 || run != 3 {
		t.Errorf("%s, %d, %d, %v", point, n, run, err)
	}
	for _, text := range []string{"", "a.b", "a.b:1", "c.d:1:1", "a.b:0:1", "a.b:1:0", "a.b:x:1", "a.b:1:y",
		"a.b:1:1:1", "a.b:1:1,", "a.b:1:1,c.d"} {
		if _, _, _, err := parseAt(text, all); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestHelpIsKnown: each kind of help is for existing crash points, and some need none.
func TestHelpIsKnown(t *testing.T) {
	all := allPoints()
	for _, h := range helps {
		for _, prefix := range h.points {
			if !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, prefix) }) {
				t.Errorf("%s is the beginning of no point", prefix)
			}
		}
	}
	if !slices.ContainsFunc(all, func(p string) bool { return helpFor(p).points == nil }) {
		t.Error("all points need help")
	}
}

// TestFlippedIsCountedApart: what is lost because of a flipped bit does not count as lost by arbiter; losses
// after that do.
func TestFlippedIsCountedApart(t *testing.T) {
	r := &round{f: newFigures(), dir: t.TempDir(), run: "r", sent: map[string]*sentMessage{},
		rnd: rand.New(rand.NewPCG(1, 1))}
	dir := r.runDir()
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	r.sent["before"] = &sentMessage{text: "one", accepted: true}
	r.sent["refused"] = &sentMessage{text: "two"}
	if r.flip() {
		t.Error("flipped in nothing")
	}
	name := filepath.Join(dir, "journal-000001")
	raw := make([]byte, 5000)
	testkit.OK(t, os.WriteFile(name, raw, 0o600))
	if !r.flip() || !r.flipped || r.f.n["journals flipped"] != 1 || !r.sent["before"].flipped ||
		r.sent["refused"].flipped {
		t.Errorf("%+v, %+v", r.f, r.sent)
	}
	now := testkit.Must(os.ReadFile(name))(t)
	bits := 0
	for i := range now {
		if now[i] != raw[i] {
			if bits++; now[i]&(now[i]-1) != 0 || i < len(raw)/4 {
				t.Errorf("byte %d is %#x", i, now[i])
			}
		}
	}
	testkit.Same(t, "bytes changed", 1, bits)
	r.sent["after"] = &sentMessage{text: "three", accepted: true}
	if r.sent["after"].flipped {
		t.Error("said later, and taken for harmed")
	}
	const one = "⟦k3x | from: human | kind: task | id: a-1⟧\nDo it."
	r.checkDoubled([]rehearsal.Request{history(t, "s", one, one)})
	if r.f.n["doubled"] != 0 || r.f.n["harmed by them"] != 1 {
		t.Errorf("%d doubled, %d harmed", r.f.n["doubled"], r.f.n["harmed by them"])
	}
}

// TestSameOutput: a client must receive what was printed, except for the end of a killed process's output.
func TestSameOutput(t *testing.T) {
	for _, tt := range []struct {
		printed, watched string
		cut, same        bool
	}{
		{"a\nb\n", "a\nb\n", false, true},
		{"a\nb\n", "a\n", false, false},
		{"a\nb\n", "a\n", true, true},
		{"a\nb", "a\nb\nc\n", true, true},
		{"a\nb\n", "a\na\nb\n", true, false},
		{"a\nb\n", "b\n", true, false},
		{"", "a\n", true, true},
	} {
		testkit.Same(t, tt, tt.same, sameOutput([]byte(tt.printed), []byte(tt.watched), tt.cut))
	}
}
