package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// scratchChecks is a run whose agents share a directory, and whose checks run on copies of it.
func scratchChecks(o *runconfig.Options) {
	isolated(o)
	o.Workspace.Isolation, o.ScratchChecks = "", true
}

// answersCheck answers the check that runs, which is one on the files before the task or not.
func (p *play) answersCheck(earlier bool, r bridge.CheckResult) {
	p.t.Helper()
	c, open := p.checking()
	if !open {
		p.t.Fatal("no check runs")
	}
	if is := strings.Contains(c.Params.Command, "read-tree -u --reset base"); is != earlier || earlier && !c.Permitted ||
		!c.Params.Scratch {
		p.t.Fatalf("on the files before the task: %t, want %t: %+v", is, earlier, c)
	}
	p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: r})
}

// TestACheckRunsOnTheFilesBeforeTheWork: what passes is tried once on the files as they were, and its receipt says how
// that ended, wherever it is shown. It is tried once only.
func TestACheckRunsOnTheFilesBeforeTheWork(t *testing.T) {
	for name, c := range map[string]struct {
		now, then bridge.CheckResult
		want      string
	}{
		"it failed":                    {ok("ok"), bridge.CheckResult{Exit: 1}, verdict.FailedAtFirst},
		"it was true":                  {ok("ok"), ok("ok"), verdict.AlreadyTrue},
		"its output was another":       {ok("ok"), ok("nothing"), verdict.FailedAtFirst},
		"the files are not restored":   {ok("ok"), bridge.CheckResult{Exit: notAsBefore}, ""},
		"it takes too long then":       {ok("ok"), bridge.CheckResult{TimedOut: true}, ""},
		"it took too long":             {bridge.CheckResult{Output: "ok", Bytes: 2, DurationMS: 31_000}, bridge.CheckResult{}, ""},
		"it fails, and is not tried":   {bridge.CheckResult{Exit: 2}, bridge.CheckResult{}, ""},
		"the time of its checks ended": {ok("ok"), bridge.CheckResult{Exit: -2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, scratchChecks)
			one := p.spawn("parser")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.works(one, []string{"parser.go"}, "make parser")
			p.answersCheck(false, c.now)
			if len(told[contract.Check](p)) > 0 != (name == "it took too long" || name == "it fails, and is not tried") {
				t.Errorf("reported: %+v", told[contract.Check](p))
			}
			switch {
			case c.then.Exit == -2:
				h := p.s.Handoff.Documents[0]
				p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, h.Serial)})
			case len(told[contract.Check](p)) == 0:
				p.answersCheck(true, c.then)
			}
			p.recorded("parser.go")
			if e := last[contract.Check](p); e.Receipt.Before != c.want {
				t.Errorf("the event says %q, want %q", e.Receipt.Before, c.want)
			}
			if h := last[contract.Handoff](p); len(h.Receipts) != 1 || h.Receipts[0].Before != c.want {
				t.Errorf("the document has %+v", h.Receipts)
			}
			if got := p.lastSent("arbiter"); strings.Contains(got, c.want) != true {
				t.Errorf("the Arbiter reads %q", got)
			}
			if _, open := p.checking(); open {
				t.Error("another check runs")
			}
			p.folds()
		})
	}
}

// TestNobodyLooksBack: without scratch copies, on another host, and of what asks Git.
func TestNobodyLooksBack(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*runconfig.Options)
		command string
	}{
		"no copies": {func(o *runconfig.Options) { scratchChecks(o); o.ScratchChecks = false }, "make"},
		"no Git":    {func(o *runconfig.Options) { o.ScratchChecks = true }, "make"},
		"asks Git":  {scratchChecks, "cd x && git log --oneline | grep parser"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, c.change)
			one := p.spawn("parser")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.works(one, nil, c.command)
			check, _ := p.checking()
			p.do(input.Checked{Serial: check.Serial, Number: 1, Request: check.Request, Result: ok("ok")})
			if _, open := p.checking(); open {
				t.Error("it runs on the files before the task")
			}
		})
	}
}

// TestACompleteThatNothingProves goes back once; what the Arbiter insists on is in the result. One proof is enough.
func TestACompleteThatNothingProves(t *testing.T) {
	const open = "already true before the work"
	for name, c := range map[string]struct {
		check, criterion bridge.CheckResult // on the files before the task
		back             bool
	}{
		"both were true":            {ok("ok"), ok("ok"), true},
		"the check failed at first": {bridge.CheckResult{Exit: 1}, ok("ok"), false},
		"the criterion failed":      {ok("ok"), bridge.CheckResult{Exit: 1}, false},
		"one is not known":          {ok("ok"), bridge.CheckResult{TimedOut: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { scratchChecks(o); o.Accept = []string{"make test"} })
			one := p.spawn("parser")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.works(one, []string{"parser.go"}, "true")
			p.answersCheck(false, ok("ok"))
			p.answersCheck(true, c.check)
			p.recorded("parser.go")
			completes := func(first bool) {
				if first { // then the Arbiter of this test insists
					p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
				}
				p.answersCheck(false, ok("ok")) // once more
				p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Tree: "tree"})
				p.answersCheck(false, ok("ok"))
				if first {
					p.answersCheck(true, c.criterion)
				}
			}
			completes(true)
			if got := strings.Contains(p.lastSent("arbiter"), open); got != c.back {
				t.Fatalf("sent back: %t: %s", got, p.lastSent("arbiter"))
			}
			if c.back {
				p.contains("what is open", p.lastSent("arbiter"), "`true`", "`make test`")
				completes(false)
			}
			p.do(input.Stopped{})
			p.recorded()
			r := last[contract.Result](p)
			if got := slices.ContainsFunc(r.Open, func(text string) bool { return strings.Contains(text, open) }); got != c.back {
				t.Errorf("open at the end: %q", r.Open)
			}
			want := map[bool]string{true: verdict.AlreadyTrue}[c.criterion.Exit == 0 && !c.criterion.TimedOut]
			if c.criterion.Exit == 1 {
				want = verdict.FailedAtFirst
			}
			if len(r.Acceptance) != 1 || r.Acceptance[0].Before != want {
				t.Errorf("the criterion: %+v", r.Acceptance)
			}
			p.folds()
		})
	}
}
