package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Damage to a transcript between two processes, as a power cut leaves it: Claude Code does not wait until it is on
// disk.
var damages = []func(text []byte, cut func(n int) int) []byte{
	func(text []byte, cut func(int) int) []byte { return text[:cut(len(text))] },             // in the middle of a line
	func([]byte, func(int) int) []byte { return nil },                                        // empty
	func(text []byte, _ func(int) int) []byte { return make([]byte, len(text)) },             // zeroes
	func(text []byte, cut func(int) int) []byte { return zeroed(text, cut(len(text))) },      // zeroes at the end
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)) },      // shorter by some lines
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)*1000) }, // or by nearly all
}

func zeroed(text []byte, from int) []byte {
	text = slices.Clone(text)
	clear(text[from:])
	return text
}

func withoutLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[:max(0, len(lines)-1-n)], nil)
}

// losesTranscripts reports whether transcripts are damaged in this round. Its forced crash points need them.
func (r *round) losesTranscripts() bool {
	return r.o.transcripts > 0 && r.must == "" && !r.hosted && r.seed%r.o.transcripts == 2%r.o.transcripts
}

// loseTranscript damages the transcript of an agent's session, at random, while no process of the run lives.
func (r *round) loseTranscript() {
	if !r.losesTranscripts() || r.rnd.IntN(2) == 0 {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(r.dir, "home", ".claude", "projects", "*", "*.jsonl"))
	if len(paths) == 0 {
		return
	}
	path := paths[r.rnd.IntN(len(paths))]
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return
	}
	kind := r.rnd.IntN(len(damages))
	if err := os.WriteFile(path, damages[kind](text, r.rnd.IntN), 0o600); err != nil {
		r.fail("damage a transcript: %v", err)
		return
	}
	session := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	r.damaged[session] = true
	r.f.damaged++
	r.logf("  %s: transcript of session %s is damaged (%d)", r.name(), session, kind)
}
