package supervisor

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

var (
	began        = time.Unix(1_800_000_000, 0)
	takeoverMark = &bridge.InspectMark{Transcript: 7}
)

func atTakeover(s TakeoverStage) Takeover {
	return Takeover{Since: began, Channel: "stdin", Stage: s, Mark: takeoverMark}
}

// TestOrder: from the first stage to the last, each step leads to the next one.
func TestOrder(t *testing.T) {
	x := BeginTakeover(began, "stdin")
	if x.Stage != TakeoverStopping || x.HasProcess() {
		t.Fatalf("%+v", x)
	}
	if x = x.Inspect(3); x.Stage != TakeoverInspecting || x.Serial != 3 || x.HasProcess() {
		t.Fatalf("%+v", x)
	}
	x = x.Opens(began, bridge.InspectResult{Mark: takeoverMark}, "")
	if x.Stage != TakeoverOpening || x.Mark != takeoverMark || len(x.Trouble) > 0 || !x.HasProcess() {
		t.Fatalf("%+v", x)
	}
	x, awaited := x.Opened()
	if x.Stage != TakeoverOpen || !awaited || !x.HasProcess() {
		t.Fatalf("%+v, awaited %v", x, awaited)
	}
	if x, awaited = x.Opened(); awaited {
		t.Error("a terminal that is open opens again")
	}
	x, next := x.Close(GivenBack)
	if x.Stage != TakeoverClosing || next != CloseTerminal || !x.HasProcess() {
		t.Fatalf("%+v, next %d", x, next)
	}
	if x, awaited = x.Opened(); awaited || x.Stage != TakeoverClosing {
		t.Error("a terminal that is being closed opens again")
	}
	if x = x.Left("").Read(4); x.Stage != TakeoverReading || x.Serial != 4 || x.Why != GivenBack || x.HasProcess() {
		t.Fatalf("%+v", x)
	}
}

// TestClose: a takeover can be ended in every stage, and the first reason is kept.
func TestClose(t *testing.T) {
	for stage, want := range map[TakeoverStage]TakeoverNext{
		TakeoverStopping: TakeoverWait, TakeoverInspecting: TakeoverOver, TakeoverOpening: CloseTerminal, TakeoverOpen: CloseTerminal, TakeoverClosing: CloseTerminal,
		TakeoverReading: TakeoverWait,
	} {
		x, next := atTakeover(stage).Close("first")
		if next != want || x.Why != "first" {
			t.Errorf("%s: next %d, want %d; %+v", stage, next, want, x)
		}
		if want == CloseTerminal != (x.Stage == TakeoverClosing) {
			t.Errorf("%s leads to %s", stage, x.Stage)
		}
		if x, _ = x.Close("second"); x.Why != "first" {
			t.Errorf("%s: ended for %q", stage, x.Why)
		}
	}
}

// TestNothingNoted: if an inspection failed, or recorded nothing, the human gets the session all the same, and
// it is reported.
func TestNothingNoted(t *testing.T) {
	earlier := atTakeover(TakeoverInspecting)
	earlier.Trouble = append(make([]string, 0, 4), "old")
	for want, x := range map[string]Takeover{
		"no git":          earlier.Opens(began, bridge.InspectResult{}, "no git"),
		"the first state": earlier.Opens(began, bridge.InspectResult{}, ""),
		"the transcript; no space": earlier.Opens(began,
			bridge.InspectResult{Mark: takeoverMark, Problems: []string{"the transcript"}}, "no space"),
	} {
		if x.Stage != TakeoverOpening || x.Mark == nil || !x.Mark.Partial || x.Mark.AtMS != began.UnixMilli() {
			t.Errorf("%s: %+v", want, x)
		}
		if got := strings.Join(x.Trouble, "; "); !strings.Contains(got, want) {
			t.Errorf("trouble %q, want %q", got, want)
		}
	}
}

// TestLeft: why a terminal's process ended, unless somebody requested it.
func TestLeft(t *testing.T) {
	for _, c := range []struct{ why, program, want string }{
		{"", "", "the human left it"},
		{"", "exit code 3", "the terminal's program ended: exit code 3"},
		{TakeoverHalted, "exit code 3", TakeoverHalted},
	} {
		x := atTakeover(TakeoverOpen)
		x.Why = c.why
		if got := x.Left(c.program).Why; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestLose: what was done before a bridge was lost is read with the next one, if the state before was recorded.
func TestLose(t *testing.T) {
	x, read := atTakeover(TakeoverOpen).Lose()
	if !read || x.Stage != TakeoverReading || x.Serial != 0 || x.Why != BridgeLost {
		t.Errorf("%+v, read %v", x, read)
	}
	if x, read = BeginTakeover(began, "stdin").Lose(); read {
		t.Errorf("there is nothing to compare with: %+v", x)
	}
}

// TestMethodsChangeNothing: takeovers are shared with earlier states.
func TestMethodsChangeNothing(t *testing.T) {
	x := atTakeover(TakeoverOpening)
	x.Trouble = append(make([]string, 0, 8), "one")
	kept, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	x.Inspect(1)
	x.Opens(began, bridge.InspectResult{Problems: []string{"two"}}, "three")
	x.Opened()
	x.Close("why")
	x.Left("program")
	x.Read(2)
	x.Lose()
	x.ReleaseAfter("enough")
	x.Digest("n", "id", began, bridge.InspectResult{Problems: []string{"two"}}, "three")
	if now, err := json.Marshal(x); err != nil || string(now) != string(kept) || x.Trouble[:2][1] != "" {
		t.Errorf("%s\n%s (%v)", kept, now, err)
	}
}

// TestDigest: a human who only looked is idle; whatever was done or could not be seen is reported.
func TestDigest(t *testing.T) {
	x := atTakeover(TakeoverReading)
	d := x.Digest("Orchestrator I", "orch-1", began.Add(90*time.Second), bridge.InspectResult{}, "")
	if !d.Idle || d.Quotes != "" || !strings.Contains(d.Finding, "Orchestrator I (orch-1) over for 2 minutes") ||
		!strings.Contains(d.Finding, "No file was seen to change") {
		t.Errorf("%+v", d)
	}
	for want, c := range map[string]struct {
		found  bridge.InspectResult
		failed string
	}{
		"1 message typed":                 {found: bridge.InspectResult{Changes: &bridge.Changes{Words: 1}}},
		"by the human or by others: a.go": {found: bridge.InspectResult{Changes: &bridge.Changes{Files: []string{"a.go"}}}},
		"Not seen: no transcript":         {failed: "no transcript"},
		"Not seen: a repository lost":     {found: bridge.InspectResult{Problems: []string{"a repository lost"}}},
	} {
		if d := x.Digest("Orchestrator I", "orch-1", began, c.found, c.failed); d.Idle ||
			!strings.Contains(d.Finding, want) {
			t.Errorf("%s: idle %v: %s", want, d.Idle, d.Finding)
		}
	}
}

// TestDigestBounds: long texts and lists are cut to what a message may contain.
func TestDigestBounds(t *testing.T) {
	c := &bridge.Changes{
		Words: 99, Texts: []string{"before", strings.Repeat("s", 9000)}, Moved: true,
		Tools: []bridge.ToolCount{{Tool: "Bash", Count: 2}},
	}
	for range 50 {
		c.Typed, c.Files = append(c.Typed, strings.Repeat("長", 1000)), append(c.Files, "f")
	}
	c.Typed = append(c.Typed, "the last\nof them")
	d := atTakeover(TakeoverReading).Digest("n", "id", began, bridge.InspectResult{Changes: c}, "")
	if n := strings.Count(d.Quotes, "(cut)"); n != typedKept-1+1 {
		t.Errorf("%d texts are cut:\n%s", n, d.Quotes)
	}
	for _, want := range []string{"the last of it:", "«the last\n  of them»", "Its last words there:\n- «sss"} {
		if !strings.Contains(d.Quotes, want) {
			t.Errorf("no %q in:\n%s", want, d.Quotes)
		}
	}
	for _, want := range []string{"and 10 more", "Tools used: Bash 2", "does not follow"} {
		if !strings.Contains(d.Finding, want) {
			t.Errorf("no %q in:\n%s", want, d.Finding)
		}
	}
	if strings.Contains(d.Quotes, "before") || !strings.Contains(d.Notice, "and 10 more") {
		t.Errorf("quotes %s\nnotice %s", d.Quotes, d.Notice)
	}
}

// TestTerminalConfig: the human's terminal has no verdicts, no tools of the supervisor and no hooks, and the
// agent's own configuration is not changed.
func TestTerminalConfig(t *testing.T) {
	own := bridge.AgentConfig{
		Partial: true, Hooks: &bridge.HookConfig{}, AppendSystemPrompt: "x", Env: map[string]string{"LANG": "C"},
	}
	for _, trusted := range []bool{true, false} {
		c := TerminalConfig(own, trusted)
		if !c.Resume || c.Partial || c.Hooks != nil || c.MCPTools != nil || c.JSONSchema != nil ||
			!strings.HasPrefix(c.AppendSystemPrompt, "x\n\nFor now") {
			t.Errorf("%+v", c)
		}
		if _, said := c.Env["CLAUDE_CODE_SANDBOXED"]; said != trusted || c.Env["LANG"] != "C" {
			t.Errorf("trusted %v: %v", trusted, c.Env)
		}
	}
	if want := map[string]string{"LANG": "C"}; !reflect.DeepEqual(own.Env, want) || own.Hooks == nil {
		t.Errorf("its own: %+v", own)
	}
}

// TestStagesAreNamed: a stage is written into snapshots, so no two have the same name.
func TestStagesAreNamed(t *testing.T) {
	list := []TakeoverStage{TakeoverStopping, TakeoverInspecting, TakeoverOpening, TakeoverOpen, TakeoverClosing, TakeoverReading}
	slices.Sort(list)
	if n := len(slices.Compact(list)); n != 6 {
		t.Errorf("%d names", n)
	}
}
