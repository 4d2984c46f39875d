package supervisor

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

const auditTestRun = "0f3b8a52-6d1a-4a0e-9d43-2f1f6a1f0001"

// memory is the file of a log.
type memory struct{ *bytes.Reader }

func (m memory) Size() (int64, error) { return m.Reader.Size(), nil }
func (m memory) Close() error         { return nil }

// recorded is the event log of a run with these inputs.
func recorded(t *testing.T, inputs ...input.Body) *journal.EventLog {
	t.Helper()
	var (
		state   State
		telling LogEncoder
		chain   journal.LogChain
		raw     []byte
	)
	for i, f := range inputs {
		in := input.Input{At: time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), Body: f}
		after, effects := Apply(state, in)
		for _, told := range LogItems(&state, Replayed{Input: in, Effects: effects}, &after) {
			content, err := telling.Content(uint64(i+1), in.At, told)
			if err == nil {
				raw, err = chain.Append(raw, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		state = after
	}
	return journal.NewLog(memory{bytes.NewReader(raw)})
}

// TestAuditIsTamperProof: every change of an export is detected, with its line.
func TestAuditIsTamperProof(t *testing.T) {
	log := recorded(t,
		input.Began{Options: runconfig.Options{Run: auditTestRun, Delimiter: "d", Task: "Weave <it> \u2028 \xff",
			HumanPresent: true}.WithDefaults()},
		input.Command{Command: contract.Command{Ref: "r", Body: contract.Say{Text: "And quickly."}},
			Channel: input.ChannelStdin},
		input.Signal{Signal: "INT"},
	)
	var lines []string
	err := AuditOf(t.Context(), log, auditTestRun, true, func(l AuditLine) error {
		lines = append(lines, string(l.Raw)+"\n")
		return nil
	})
	if err != nil || len(lines) < 8 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	verify := func(lines []string) error {
		a, err := ReadAudit(strings.NewReader(strings.Join(lines, "")))
		if err == nil {
			err = a.Against(t.Context(), log)
		}
		return err
	}
	testkit.OK(t, verify(lines))
	broken := func(what string, line int, changed []string) {
		t.Helper()
		if b, ok := errors.AsType[*Broken](verify(changed)); !ok || b.Line != line {
			t.Errorf("%s: %v, want line %d", what, b, line)
		}
	}
	for i, line := range lines {
		for _, at := range []int{1, len(line) / 3, len(line) / 2, len(line) - 3} {
			b := []byte(line)
			b[at] ^= 1
			broken(fmt.Sprint("flip in line ", i+1), i+1, slices.Concat(lines[:i], []string{string(b)}, lines[i+1:]))
		}
		broken("left out", i+1, slices.Concat(lines[:i], lines[i+1:]))
		if i > 0 {
			broken("twice", i+1, slices.Concat(lines[:i], []string{lines[i-1]}, lines[i:]))
			broken("swapped", i, slices.Concat(lines[:i-1], []string{line, lines[i-1]}, lines[i+1:]))
		}
		broken("blank in it", i+1, slices.Concat(lines[:i], []string{" " + line}, lines[i+1:]))
	}
	// A complete forged chain is correct in itself, but does not match the journal.
	broken("made anew", 3, forgedAudit(t, lines))
}

// forgedAudit changes a line and computes the chain after it again, as anybody can who knows the format.
func forgedAudit(t *testing.T, lines []string) []string {
	t.Helper()
	canonical := func(fields map[string]any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		testkit.OK(t, enc.Encode(fields))
		return strings.TrimSuffix(b.String(), "\n")
	}
	var list []string
	prev := ""
	for i, line := range lines {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var fields map[string]any
		testkit.OK(t, dec.Decode(&fields))
		if i == 2 {
			fields["by"] = "orch-1"
		}
		if prev != "" {
			fields["prev"] = prev
		}
		if fields["what"] == "end" {
			fields["detail"].(map[string]any)["head"] = prev
		}
		delete(fields, "hash")
		prev = fmt.Sprintf("%x", sha256.Sum256([]byte(canonical(fields))))
		fields["hash"] = prev
		list = append(list, canonical(fields)+"\n")
	}
	return list
}
