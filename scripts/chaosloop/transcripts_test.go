package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestTranscriptsAreDamaged: each kind of damage leaves another file, and no longer one; the session is noted.
func TestTranscriptsAreDamaged(t *testing.T) {
	for kind, damage := range damages {
		text := []byte("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")
		if got := damage(text, func(n int) int { return n / 2 }); string(got) == string(text) || len(got) > len(text) {
			t.Errorf("damage %d left %q", kind, got)
		}
	}
	r := &round{o: options{transcripts: 1}, f: newFigures(), dir: t.TempDir(), damaged: map[string]bool{},
		rnd: rand.New(rand.NewPCG(1, 2))}
	dir := filepath.Join(r.dir, "home", ".claude", "projects", "p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "session.jsonl")
	if err := os.WriteFile(path, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		r.loseTranscript()
	}
	if text, err := os.ReadFile(path); !r.damaged["session"] || r.f.damaged == 0 || string(text) == "{}\n{}\n" {
		t.Errorf("damaged %v, %d times: %q, %v", r.damaged, r.f.damaged, text, err)
	}
}
