package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestParseAt(t *testing.T) {
	all := []string{"a.b"}
	if point, n, life, err := parseAt("a.b:2:3", all); err != nil || point != "a.b" || n != 2 || life != 2 {
		t.Errorf("%s, %d, %d, %v", point, n, life, err)
	}
	for _, text := range []string{"", "a.b", "a.b:1", "c.d:1:1", "a.b:0:1", "a.b:1:0", "a.b:x:1", "a.b:1:y",
		"a.b:1:1:1"} {
		if _, _, _, err := parseAt(text, all); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestHelpIsKnown: each kind of help is for points that are there.
func TestHelpIsKnown(t *testing.T) {
	count := map[string]int{}
	for _, p := range allPoints() {
		count[helpFor(p)]++
	}
	for _, help := range []string{"", byBridge, byFlip, byLitter, byTear, byDisk, byRemove, byHuman} {
		if count[help] == 0 {
			t.Errorf("help %q is for no point", help)
		}
	}
}

// TestFlippedIsCountedApart: what a flipped bit costs is no loss of arbiter's, and
// what comes after it is.
func TestFlippedIsCountedApart(t *testing.T) {
	r := &round{f: newFigures(), dir: t.TempDir(), run: "r", sent: map[string]*spoken{},
		rnd: rand.New(rand.NewPCG(1, 1))}
	dir := r.runDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.sent["before"] = &spoken{text: "one", accepted: true}
	r.sent["refused"] = &spoken{text: "two"}
	if r.flip() {
		t.Error("flipped in nothing")
	}
	name := filepath.Join(dir, "journal-000001")
	raw := make([]byte, 5000)
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if !r.flip() || !r.flipped || r.f.flipped != 1 || !r.sent["before"].flipped || r.sent["refused"].flipped {
		t.Errorf("%+v, %+v", r.f, r.sent)
	}
	now, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bits := 0
	for i := range now {
		if now[i] != raw[i] {
			if bits++; now[i]&(now[i]-1) != 0 || i < len(raw)/4 {
				t.Errorf("byte %d is %#x", i, now[i])
			}
		}
	}
	if bits != 1 {
		t.Errorf("%d bytes changed", bits)
	}
	r.sent["after"] = &spoken{text: "three", accepted: true}
	if r.sent["after"].flipped {
		t.Error("said later, and taken for harmed")
	}
	const one = "⟦k3x | from: human | kind: task | id: a-1⟧\nDo it."
	r.checkDoubled([]rehearsal.Request{history(t, "s", one, one)})
	if r.f.doubled != 0 || r.f.harmed != 1 {
		t.Errorf("%d doubled, %d harmed", r.f.doubled, r.f.harmed)
	}
}
