package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestParseAt(t *testing.T) {
	all := []string{"a.b", "e.f"}
	for text, want := range map[string]forced{
		"a.b:2:3":         {point: "a.b", n: 2, run: 3},
		"a.b:1:1,e.f,a.b": {point: "a.b", n: 1, run: 1, also: []string{"e.f", "a.b"}},
	} {
		if got, err := parseAt(text, all); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a.b", "a.b:1", "c.d:1:1", "a.b:0:1", "a.b:1:0", "a.b:x:1", "a.b:1:y",
		"a.b:1:1:1", "a.b:1:1,", "a.b:1:1,c.d"} {
		if _, err := parseAt(text, all); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestHelpIsKnown: each kind of help belongs to existing crash points.
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
	if !r.flip() || !r.flipped || r.f.flipped != 1 || !r.sent["before"].flipped || r.sent["refused"].flipped {
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
	if r.f.doubled != 0 || r.f.harmed != 1 {
		t.Errorf("%d doubled, %d harmed", r.f.doubled, r.f.harmed)
	}
}

// TestCompanionPoints: a round is killed at several points if none of them needs help, and if they were tried equally
// often.
func TestCompanionPoints(t *testing.T) {
	simple := slices.DeleteFunc(allPoints(), func(p string) bool { return helpFor(p) != "" })
	wanted := append([]string{"loop.bridge.lost", simple[0], simple[1]}, simple[2:4]...)
	also, rest := companions(simple[5], wanted, map[string]int{simple[1]: 1}, 2)
	if want := []string{simple[0], simple[2]}; !slices.Equal(also, want) {
		t.Errorf("also %v, want %v", also, want)
	}
	if want := []string{"loop.bridge.lost", simple[1], simple[3]}; !slices.Equal(rest, want) {
		t.Errorf("the rest is %v, want %v", rest, want)
	}
	also, _ = companions(simple[1], wanted, map[string]int{simple[1]: 1, simple[3]: 1}, 2)
	if want := []string{simple[1], simple[3]}; !slices.Equal(also, want) {
		t.Errorf("beside a second try: %v, want %v", also, want)
	}
	if also, rest := companions("loop.inspect", wanted, nil, 2); len(also) > 0 || !slices.Equal(rest, wanted) {
		t.Errorf("a point that needs help has company: %v, %v", also, rest)
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
