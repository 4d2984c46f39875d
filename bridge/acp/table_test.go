package acp

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "record what is found about the makes that are installed")

// TestFindings tries with each make what docs/makes.md says of it in a table, and compares what it finds with what was
// recorded. `scripts/test --long --only ./bridge/acp -run TestFindings -update` records it and writes the table. Two of
// the makes are also tried by day, where they are installed.
func TestFindings(t *testing.T) {
	t.Parallel()
	recorded, byDay := acptest.Found(), []string{"fake", "opencode", "claude-acp"}
	if testkit.Race {
		byDay = byDay[:1] // what the detector could find is the same with each
	}
	var mu sync.Mutex // of recorded
	t.Run("makes", func(t *testing.T) {
		for _, name := range acptest.Makes {
			t.Run(name, func(t *testing.T) {
				if !slices.Contains(byDay, name) {
					testkit.Long(t)
				}
				t.Parallel()
				found := anyRig(t, name).findings()
				mu.Lock()
				defer mu.Unlock()
				if *update {
					recorded[name] = found
				}
				testkit.Same(t, "found", recorded[name], found)
				holds := func(row string) bool { return found[row] == acptest.Hold }
				x, known := table[name]
				testkit.Check(t, !known || x.asks == holds(acptest.Rules) &&
					(x.reads || x.metaRules) == holds(acptest.Reading), "the table of traits says otherwise: %+v", x)
			})
		}
	})
	const file, page = "acptest/found.json", "../../docs/makes.md"
	raw := testkit.Must(os.ReadFile(page))(t)
	before, rest, ok := strings.Cut(string(raw), "| |")
	_, after, more := strings.Cut(rest, "|\n\n")
	testkit.Need(t, ok && more, "%s has no table that begins with an empty cell", page)
	text := before + documented(recorded) + "\n" + after
	if *update {
		raw, err := json.MarshalIndent(recorded, "", "  ")
		testkit.OK(t, err, os.WriteFile(file, append(raw, '\n'), 0o600), os.WriteFile(page, []byte(text), 0o600))
	} else if text != string(raw) {
		t.Errorf("the table of %s is not what was found: write it with -update", page)
	}
}

// documented is the table of findings.
func documented(all map[string]map[string]string) string {
	real := acptest.Makes[1:]
	lines := []string{"| | " + strings.Join(real, " | ") + " |", "|" + strings.Repeat("---|", len(real)+1)}
	for _, row := range acptest.Rows {
		line := "| " + row + " |"
		for _, name := range real {
			line += " " + all[name][row] + " |"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// permissive are the user's own settings, or a variable, with which a make would allow everything.
var permissive = map[string][2]string{
	"opencode":   {".config/opencode/config.json", `{"permission": "allow"}`},
	"claude-acp": {".claude/settings.json", `{"permissions": {"allow": ["Bash", "Edit", "Write"]}}`},
	"copilot":    {"", "COPILOT_ALLOW_ALL=1"},
}

// findings tries a make: in a session, and in the same one after its process was killed.
func (r *rig) findings() map[string]string {
	t, found := r.t, map[string]string{}
	path := func(name string) string { return filepath.Join(r.dir, name) }
	for _, by := range []string{"command", "reading"} {
		testkit.OK(t, os.WriteFile(path("secret-"+by), []byte("words for "+by), 0o600))
	}
	const why = "nothing of that on a Tuesday"
	r.deny, r.why = "secret", why
	r.cfg.SettingSources = []string{"user"}
	r.cfg.Rules.Deny = []string{"Bash(cat *)", "Read(//" + path("secret-*")[1:] + ")"}
	r.make.InputUSD, r.make.OutputUSD = 1, 1
	// heard reports whether a text has come back from a tool, to the model if it is a scripted one.
	heard := func(text string) bool {
		if r.model == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			return strings.Contains(eventsText(r.events), text)
		}
		texts := r.model.Requests()
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, text) })
	}
	const verdict = ` [[verdict {"kind":"done"}]]`
	for range 4 {
		r.answers <- bridge.Allow
	}
	found[acptest.Resume] = "no"
	if r.resumes("[[shell true]] [[shell true]]" + verdict) {
		found[acptest.Resume] = acptest.Yes
	}
	found[acptest.Version] = r.agent.Info().MakeVersion
	found[acptest.Context] = r.measures()
	found[acptest.Reason] = "no"
	// holds reports whether a call was kept from running.
	holds := func(script string, ran func() bool) bool {
		judged := r.count()
		turn := r.turn(script + verdict)
		switch {
		case r.count() == judged:
		case turn.Verdict == nil:
			found[acptest.Reason] = acptest.EndsTurn
		case heard(why):
			found[acptest.Reason] = acptest.Yes
		}
		return !ran()
	}
	there := func(name string) func() bool { return func() bool { return r.file(name) != "" } }
	says := func(by string) func() bool { return func() bool { return heard("words for " + by) } }
	rules := holds("[[write "+path("secret-new")+"|x]]", there("secret-new"))
	rules = holds("[[shell echo x >secret-by-shell]]", there("secret-by-shell")) && rules
	rules = holds("[[shell cat secret-command]]", says("command")) && rules
	reading := holds("[[read "+path("secret-reading")+"]]", says("reading"))
	found[acptest.Failures] = r.failures()
	found[acptest.Cost] = acptest.Unknown
	r.mu.Lock()
	turns := of[bridge.Turn](r)
	r.mu.Unlock()
	switch last := turns[len(turns)-1]; {
	case r.agent.(*agent).costs.begun:
		found[acptest.Cost] = acptest.Known
	case !last.CostUnknown:
		found[acptest.Cost] = "by price"
	}
	if p, ok := permissive[r.make.Name]; ok && r.model != nil && rules {
		r.stop(false)
		if p[0] == "" {
			r.make.Env = append(r.make.Env, p[1])
		} else {
			testkit.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(r.home, p[0])), 0o700),
				os.WriteFile(filepath.Join(r.home, p[0]), []byte(p[1]), 0o600))
		}
		r.launch()
		rules = holds("[[shell echo x >secret-allowed]]", there("secret-allowed"))
	}
	found[acptest.Rules], found[acptest.Reading] = acptest.Pass, "do not hold"
	if rules {
		found[acptest.Rules] = acptest.Hold
	}
	if reading {
		found[acptest.Reading] = acptest.Hold
	}
	return found
}

func (r *rig) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.judged)
}

// measures says when the context was first known in a turn with two calls, by their results: a call's request has no
// order with it.
func (r *rig) measures() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := 0
	for _, e := range r.events {
		switch e.(type) {
		case bridge.Context:
			return []string{acptest.Known, "known after the first call", "known when a turn ends"}[calls]
		case bridge.ToolResult:
			calls++
		}
	}
	return acptest.Unknown
}

// resumes reports whether a session goes on after its process was killed. One make loses a session that is loaded in
// the minute in which it began: then it is tried once more, in case that minute was just over.
func (r *rig) resumes(script string) bool {
	known := table[r.make.Name]
	defer func() { table[r.make.Name] = known }()
	tried := known
	tried.forgets = false
	table[r.make.Name] = tried
	for range 2 {
		r.cfg.Resume, r.cfg.MakeSession = false, ""
		r.launch()
		first := r.send(script)
		r.ended(first)
		r.stop(true)
		r.cfg.Resume, r.cfg.MakeSession = true, r.agent.Info().MakeSession
		if err := r.tryLaunch(first); err != nil {
			r.cfg.Resume, r.cfg.MakeSession = false, ""
			r.launch()
			return false
		}
		d := r.agent.Info().Deliveries
		testkit.Check(r.t, len(d) == 1 && d[0].Status == bridge.DeliveryRuled, "deliveries %+v", d)
		if !known.forgets {
			break
		}
		r.stop(true)
	}
	return true
}

// repeats reports whether a request with a text was made three times.
func repeats(requests []string, text string) bool {
	times := map[string]int{}
	for _, request := range requests {
		if strings.Contains(request, text) {
			times[request]++
		}
	}
	return slices.Max(append(slices.Collect(maps.Values(times)), 0)) >= 3
}

// failures is what becomes of a turn whose model answers with an error, by its status.
func (r *rig) failures() string {
	var list []string
	by := map[string][]string{}
	for _, status := range []string{"400", "401", "500"} {
		script := "[[fail " + status + "]]"
		id, what, again := r.send(script), "reported", false
		testkit.Await(r.t, "the end of "+script, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			again = r.model != nil && repeats(r.model.Requests(), script)
			return again || slices.ContainsFunc(of[bridge.Turn](r), func(x bridge.Turn) bool {
				return slices.Contains(x.MessageIDs, id)
			})
		})
		if again {
			testkit.Must(r.agent.Interrupt(r.t.Context()))(r.t)
		}
		switch turn := r.ended(id); {
		case turn.Verdict != nil:
			r.t.Errorf("%s: %+v", script, turn)
		case again:
			what = "repeated"
		case turn.Outcome == bridge.TurnDone:
			what = "looks like a turn's end"
		case turn.Outcome == bridge.TurnFailed && (turn.Category == "" || turn.Error == ""):
			r.t.Errorf("%s: it is not said why: %+v", script, turn)
		}
		if !slices.Contains(list, what) {
			list = append(list, what)
		}
		by[what] = append(by[what], status)
		turn := r.turn("And now?")
		testkit.Check(r.t, turn.Outcome == bridge.TurnDone && turn.Verdict != nil, "after %s: %+v", script, turn)
	}
	if len(list) == 1 {
		return list[0]
	}
	for i, what := range list {
		list[i] += " (" + strings.Join(by[what], ", ") + ")"
	}
	return strings.Join(list, ", ")
}

// TestOnlyTheTableNamesMakes: the supervisor has no word about one make, so that what it promises holds for each.
func TestOnlyTheTableNamesMakes(t *testing.T) {
	testkit.OK(t, filepath.WalkDir("../../supervisor", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		for name := range table {
			testkit.Excludes(t, fmt.Sprintf("%s names the make", path), strings.ToLower(string(raw)), name)
		}
		return err
	}))
}

// TestEnvironmentOfAnotherHost: what the client passes takes precedence over what the host has itself.
func TestEnvironmentOfAnotherHost(t *testing.T) {
	t.Setenv("ITS_KEY", "of the host")
	t.Setenv("ITS_OTHER", "of the host")
	env := environment(bridge.AgentConfig{Env: map[string]string{"ITS_KEY": "passed"},
		Make: &bridge.MakeSpec{Env: []string{"ITS_KEY", "ITS_OTHER"}}}, traits{})
	for _, want := range []string{"ITS_KEY=passed", "ITS_OTHER=of the host"} {
		testkit.Check(t, slices.Contains(env, want), "%s is missing", want)
	}
}
