package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// generations is the play of three Orchestrators and three Arbiters, with its token counts set for an effective
// window, and changed by pairs of old and new text.
func generations(t *testing.T, window int, change ...string) string {
	t.Helper()
	raw := testkit.Must(rehearsal.BuiltinSource("generations"))(t)
	text := string(raw)
	for name, share := range map[string]int{`low: "207000"`: 69, `warn: "213000"`: 71, `crit: "258000"`: 86} {
		testkit.Includes(t, "the play lacks", text, name)
		key, _, _ := strings.Cut(name, ":")
		text = strings.Replace(text, name, fmt.Sprintf("%s: %q", key, fmt.Sprint(window/100*share+window%100)), 1)
	}
	changed := strings.NewReplacer(change...).Replace(text)
	testkit.Need(t, len(change) == 0 || changed != text, "the play lacks %q", change)
	return scenarioFile(t, changed)
}

// windows are the effective windows a run can have: the model's own window, the default ceiling, no ceiling,
// and a ceiling for one model.
var windows = []struct {
	name   string
	window int
	args   []string
}{
	{"200K", 167_000, []string{"--no-input", "--model", "claude-sonnet-4-5"}},
	{"1M with the ceiling", 300_000, []string{"--no-input", "--model", "claude-opus-5-5"}},
	{"1M without", 967_000, []string{"--no-input", "--model", "claude-opus-5-5", "--context-tokens", "0"}},
	{"1M with a ceiling of its own", 120_000,
		[]string{"--no-input", "--model", "claude-opus-5-5", "--context-tokens-for", "claude-opus=120000"}},
}

// TestGenerations: each Orchestrator is warned and hands off, each successor receives a checked document, the
// Arbiter is renewed twice, and the work is completed.
func TestGenerations(t *testing.T) {
	for i, w := range windows {
		for _, p := range players(t) {
			if testkit.Race && !p.real && i > 0 {
				continue // the window concerns the CLI, not data races
			}
			t.Run(w.name+"/"+p.name, func(t *testing.T) {
				if p.long(t); i > 0 { // the driver's TestLiveWarnings and TestSmallJob cover the real CLI
					testkit.Long(t)
				}
				t.Parallel()
				s := p.plays(t, generations(t, w.window), "Weave three", w.args...)
				r := s.finish(contract.ExitComplete)
				testkit.Check(t, r.Iterations == 3 && r.Crashes == 0, "result %+v", r)
				checkGenerations(t, s, w.window)
			})
		}
	}
}

// ruledBy counts the Arbiter's sessions that made a decision.
func ruledBy(lines []contract.Line) int {
	session, ruled := "", map[string]bool{}
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Spawn:
			if l.ID == contract.Arbiter {
				session = b.SessionID
			}
		case contract.Decision:
			ruled[session] = true
		}
	}
	return len(ruled)
}

func checkGenerations(t *testing.T, s *script, window int) {
	t.Helper()
	levels := map[string][]string{}
	for _, l := range s.lines {
		switch b := l.Body.(type) {
		case contract.ContextWarning:
			levels[l.ID] = append(levels[l.ID], b.Level)
		case contract.Context:
			testkit.Check(t, b.Window == window && b.Tokens <= window, "line %d: %s has %d of %d tokens", l.Seq, l.ID,
				b.Tokens, b.Window)
		case contract.Restart, contract.Error:
			t.Errorf("line %d: %+v", l.Seq, b)
		}
	}
	want := map[string][]string{"orch-1": {"warn", "critical"}, "orch-2": {"critical"},
		"arbiter": {"critical", "critical"}}
	for id, list := range want {
		testkit.Same(t, fmt.Sprintf("%s was warned", id), list, levels[id])
	}
	var ways []string
	for _, h := range collect[contract.Handoff](s) {
		ways = append(ways, h.From+" to "+h.To)
		testkit.Check(t, h.GeneratedBecause == "", "drawn up: %+v", h)
	}
	if want := []string{"orch-1 to orch-2", "arbiter to arbiter", "orch-2 to orch-3", "arbiter to arbiter",
		"orch-3 to arbiter"}; !slices.Equal(ways, want) {
		t.Errorf("documents went %v", ways)
	}
	again := 0
	checks := collect[contract.Check](s)
	for _, c := range checks {
		if c.Again {
			again++
		}
	}
	n := len(checks) - again
	testkit.Check(t, n == 4 && again == 4, "%d checks, and %d once more before the end", n, again)
	testkit.Same(t, "sessions of the Arbiter ruled", 3, ruledBy(s.lines))
	work := collect[contract.Session](s)[0].CWD
	for _, name := range []string{"one", "two", "three"} {
		testkit.Same(t, name, name+"\n", textOf(t, filepath.Join(work, name+".txt")))
	}
}

// early makes the CLI compact at 167,000 tokens of a model with a window of a million. (A model with a window
// of 200,000 reports the same threshold, but was not seen to compact.)
var early = []string{"--no-input", "--model", "claude-opus-5-5", "--env", settings.CompactWindow + "=200000"}

// TestCompactionBlocked: if an agent ignores the context warning, its compaction is blocked, and it hands off.
func TestCompactionBlocked(t *testing.T) {
	testkit.Long(t)
	eachPlayer(t, func(t *testing.T, p player) {
		p.inside(t)
		s := p.plays(t, absolute(t, "testdata/scenarios/cornered.yaml"), "Dig", early...)
		r := s.finish(contract.ExitComplete)
		testkit.Check(t, sums(r, "filled in"), "result %+v", r)
		c := collect[contract.Compact](s)
		testkit.Check(t, len(c) == 1 && c[0].Blocked && c[0].Trigger == "auto", "compactions %+v", c)
		l := collect[contract.ContextWarning](s)
		testkit.Check(t, len(l) == 1 && l[0].Level == "critical", "warnings %+v", l)
	})
}
