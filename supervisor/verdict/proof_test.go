package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMeets(t *testing.T) {
	for _, c := range []struct {
		expect string
		o      Outcome
		want   string
	}{
		{"all tests pass", Outcome{}, CheckPassed},
		{"all tests pass", Outcome{Exit: 1}, CheckFailed},
		{"", Outcome{}, CheckPassed},
		{"exit 1", Outcome{Exit: 1}, CheckPassed},
		{"exits with code 2", Outcome{Exit: 2}, CheckPassed},
		{"exit code: 0 and `ok`", Outcome{Output: "all ok\n", Bytes: 7}, CheckPassed},
		{"exit status 3", Outcome{}, CheckFailed},
		{"`exit 1`", Outcome{Exit: 1}, CheckPassed},
		{"prints `42`", Outcome{Output: "41\n", Bytes: 3}, CheckFailed},
		{`prints "4 passed" and "0 failed"`, Outcome{Output: "4 passed, 1 failed", Bytes: 18}, CheckFailed},
		{"prints `42`", Outcome{Output: "tail", Bytes: 1 << 20}, CheckUnclear},
		{"no output", Outcome{}, CheckPassed},
		{"No output at all", Outcome{Output: "x", Bytes: 1}, CheckFailed},
		{"it ends by a signal", Outcome{Exit: -1}, CheckFailed},
	} {
		got, why := c.o.Meets(c.expect)
		if got != c.want || (got == CheckPassed) != (why == "") {
			t.Errorf("%q of %+v: %s (%s), want %s", c.expect, c.o, got, why, c.want)
		}
	}
}

func TestProofs(t *testing.T) {
	d := &Document{
		Checks: []Check{{"go test ./...", "ok"}, {"make lint", ""}, {"curl localhost", ""}},
		Claims: []Claim{
			{Claim: "tests pass", Verified: true, Check: 1}, {Claim: "make lint is clean", Verified: true},
			{Claim: "it serves", Check: 3}, {Claim: "it is fast", Verified: true}, {Claim: "odd", Check: 9},
			{Claim: "odd", Check: -1},
		},
	}
	receipts := []Receipt{{Result: CheckPassed, SHA256: strings.Repeat("ab", 32), Bytes: 12},
		{Result: CheckFailed, Why: "exit code 2, expected 0", Exit: 2, SHA256: strings.Repeat("cd", 32)},
		{Result: CheckUnrun, Exit: -1, Why: "denied"}}
	want := []string{Verified, Refuted, Unverified, Unverified, Unverified, Unverified}
	if diff := cmp.Diff(want, d.Proofs(receipts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{Unverified, Unverified, Unverified, Unverified, Unverified, Unverified},
		d.Proofs(nil)); diff != "" {
		t.Error("without receipts the author's word verifies nothing:", diff)
	}
	text := d.Proven(receipts)
	for _, part := range []string{
		"go test ./... — expect: ok — PASSED: exit code 0, 12 bytes, sha256 abababababab",
		"make lint — FAILED: exit code 2, 0 bytes, sha256 cdcdcdcdcdcd; exit code 2, expected 0",
		"curl localhost — UNRUN; denied",
		"tests pass — VERIFIED (said to be verified)", "make lint is clean — REFUTED (said to be verified)",
		"it serves — UNVERIFIED (not verified)",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
	if p, f, o := d.Tally(receipts); p != 1 || f != 1 || o != 1 {
		t.Errorf("tally %d %d %d", p, f, o)
	}
	if p, f, o := d.Tally(receipts[:1]); p != 1 || f != 0 || o != 2 {
		t.Errorf("with two that were not run: tally %d %d %d", p, f, o)
	}
	var none *Document
	if none.Proofs(receipts) != nil || none.Proven(receipts) != "" {
		t.Error("no document, no proofs")
	}
}
