package subcommands

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		landing [2]string // commands, at landing
		want    Compare
		again   string
		what    string
	}{
		"the same":        {[2]string{"echo a", "echo a"}, Same, "echo a", ""},
		"another byte":    {[2]string{"echo a", "echo a"}, Same, "echo b", "output"},
		"another code":    {[2]string{"exit 3", "exit 3"}, Same, "exit 4", "exit code"},
		"a signal":        {[2]string{"true", "true"}, Same, "kill -9 $$", "exit code"},
		"times":           {[2]string{"echo ok 0.01s", "echo ok 12.5s"}, Timed, "echo 'ok (cached)'", ""},
		"by chance":       {[2]string{"echo ok 0.01s", "echo ok 0.01s"}, Timed, "echo ok 0.02s", ""},
		"beside a time":   {[2]string{"echo ok 0.01s", "echo ok 0.02s"}, Timed, "echo no 0.02s", "output"},
		"a time of day":   {[2]string{"echo 2026-01-02 3:04:05", "echo 2026-01-03 13:04"}, Timed, "echo 2027-01-01 0:00", ""},
		"random":          {[2]string{"echo 17", "echo 18"}, Varies, "echo 19", ""},
		"random, another": {[2]string{"echo 17", "echo 18"}, Varies, "echo 19; false", "exit code"},
		"a line no end":   {[2]string{"printf %70000s 3s", "printf %70000s 4s"}, Timed, "printf %70000s 5s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, dir := newBench(), t.TempDir()
			run := func(command string) Outcome {
				o := testkit.Must(b.Run(context.Background(), command, dir))(t)
				return o
			}
			r := Claim{Kind: Check, Command: "x"}.Receipt("tree", run(c.landing[0]), run(c.landing[1]))
			err := r.Repeats(run(c.again))
			var m *Mismatch
			if errors.As(err, &m); r.Output != c.want || (m == nil) != (c.what == "") || m != nil && m.What != c.what {
				t.Errorf("output %s, want %s; %v, want %q", r.Output, c.want, err, c.what)
			}
		})
	}
}

// TestMatch: what was not made together does not belong together, also where each part is complete.
func TestMatch(t *testing.T) {
	t.Parallel()
	note := func() *Note {
		return &Note{Run: "run", Tree: "tree", Work: "work", Receipts: []Receipt{{
			Claim: Claim{Kind: Check, Command: "a && b"}, SHA256: "x", Output: Same, Tree: "tree"}}}
	}
	message := func(n *Note, s Stamp) (string, []byte) {
		text, digest, err := n.Encode()
		testkit.OK(t, err)
		s.Note = digest
		return s.Message("Title\n\nArbiter-Tree: other\n\n"), text
	}
	stamp := Stamp{Run: "run", Tree: "tree", Work: "work"}
	text, bytes := message(note(), stamp)
	if n, err := Match(text, "tree", bytes); err != nil || n.Receipts[0].Command != "a && b" {
		t.Fatal(n, err)
	}
	testkit.Check(t, strings.Contains(string(bytes), `"command": "a && b"`), "a person cannot read %s", bytes)
	if text, bytes = message(note(), Stamp{Run: "other", Tree: "tree", Work: "work"}); text != "" {
		refuses(t, "commit", text, "tree", bytes)
	}
	other := note()
	other.Tree = "other"
	text, bytes = message(other, stamp)
	refuses(t, "tree", text, "tree", bytes)
	other = note()
	other.Receipts[0].Tree = "other"
	text, bytes = message(other, stamp)
	refuses(t, "note", text, "tree", bytes)
	text, bytes = message(note(), stamp)
	refuses(t, "tree", text, "other", bytes)
	refuses(t, "note", text, "tree", nil)
	refuses(t, "note", text, "tree", append(bytes, ' '))
	refuses(t, "commit", strings.Replace(text, "Arbiter-Run", "Arbiter-Tree: tree\nArbiter-Run", 1), "tree", bytes)
	refuses(t, "commit", text+"\n\nSigned-off-by: somebody", "tree", bytes)
	refuses(t, "commit", stamp.Message("Title"), "tree", nil)
	changed := []byte(strings.Replace(string(bytes), "a && b", "a || b", 1))
	_, err := Match(text, "tree", changed)
	testkit.Check(t, strings.Contains(err.Error(), "receipt 1 was changed"), "%v", err)
}

func refuses(t *testing.T, what, message, tree string, note []byte) {
	t.Helper()
	var m *Mismatch
	_, err := Match(message, tree, note)
	testkit.Check(t, errors.As(err, &m) && m.What == what, "%v, want a mismatch of the %s", err, what)
}
