package supervisor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
)

const (
	goldenJournal = "testdata/journal/v1/run.ndjson"
	goldenSummary = "testdata/journal/v1/summary.json"
)

// A golden journal is written once and then stays: later versions have to fold it to
// the same history. A new format gets a directory of its own beside it.
var writeGolden = flag.Bool("write-golden-journal", false, "write the golden journal anew, from the run in this file")

// smallRun has a bit of everything a journal can hold.
func smallRun(t *testing.T) *play {
	p := begin(t, func(o *Options) {
		o.Env, o.Allow, o.Trusted = map[string]string{"LANG": "C"}, []string{"Bash(make *)"}, true
	})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port? <8080> & others"))
	p.say("8080")
	one := p.summon("serve on 8080")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"serve"},{"text":"test"}]}`)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.happen(one, bridge.Assistant{Text: "I begin."})
	p.happen(one, bridge.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"make && ls"}`)})
	p.happen(one, bridge.Context{Tokens: 1000, Window: 200_000, Pct: 0.5})
	p.do(asked(p, one, "p1", "ask"))
	p.command(contract.Permit{Request: "p1", Behavior: "allow", Scope: "run"})
	p.call(one, "report_progress", `{"message":"half is there"}`)
	p.call(one, "update_plan", `{"index":1,"status":"done"}`)
	p.happen(one, bridge.Retry{Attempt: 1, DelayMS: 500, Status: 529, Reason: "overloaded"})
	p.rebirth(one, bridge.FateBegun)
	p.do(Probed{Agent: p.agent(one).AgentRef, Result: bridge.ProbeResult{SilentMS: 100, CPUMS: 50, RSSBytes: 1 << 28, Answered: true}})
	p.do(Woke{Slept: time.Hour})
	p.verdict(one, report("handoff", "my context thins", true))
	two := p.summon("go on")
	p.verdict("arbiter", ruling("CONTINUE", "Another is summoned."))
	p.command(contract.Malformed{Problem: "line 9 is no JSON", Raw: json.RawMessage("{")})
	p.do(asked(p, two, "p2", "ask"))
	p.stopped()

	p.do(Resumed{Options: p.s.Options, Claude: bridge.ClaudeInfo{Version: "2.1.330"}, Word: "Port 9090 instead.", Notice: "3 processes were ended", Stay: true})
	p.back(bridge.FateAbsent)
	p.command(contract.Permit{Request: "p2", Behavior: "deny", Message: "not now"})
	p.do(asked(p, two, "p3", "ask"))
	p.do(BridgeLost{Message: "signal: killed"})
	p.do(Rang{Key: restartPrefix + theBridge})
	p.do(BridgeBack{Claude: p.s.Claude, Swept: 2})
	p.back(bridge.FateSeen)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.turn(two, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529", CostUSD: 0.25})
	p.do(Rang{Key: retryKey(p.agent(two).AgentRef)})
	p.verdict(two, report("question", "Both ports?", true))
	p.command(contract.Pause{})
	p.say("Later: docs", contract.Note, two)
	return p
}

// summary is what has to stay the same, whatever later versions say and keep: who
// there is, who said what to whom, what waits, what it cost.
type summary struct {
	Phase, Task string
	Lives       int
	Agents      []summaryAgent
	Plan        []contract.Step
	Messages    []string // kind, from, to, id, status
	Waiting     []string
	Ledger      Ledger
	Restarts    []restart.Class
	Granted     int
	Paused      bool
	Exchanges   int
	Crashes     int
	CostUSD     float64
	Began       time.Time
	LivedS      float64
}

type summaryAgent struct {
	ID, Name, Session  string
	Generation         int
	Status, Standing   string
	Brief, Predecessor string
	Open               []string
}

func summarize(t *testing.T, list []journal.Record) summary {
	t.Helper()
	var fold Fold
	var ledger Messages
	for _, r := range list {
		step, err := fold.Replay(r)
		if err != nil {
			t.Fatal(err)
		}
		ledger.Take(step, &fold.State)
	}
	s := &fold.State
	ledger.Close(s)
	out := summary{
		Phase: string(s.Phase), Task: s.Task, Lives: s.Lives, Plan: s.Plan, Ledger: s.Ledger,
		Granted: len(s.Granted), Paused: s.Paused, Exchanges: s.Exchanges, Crashes: s.Crashes,
		CostUSD: s.CostUSD, Began: s.Began.UTC(), LivedS: s.Lived.Seconds(),
	}
	for _, a := range s.Agents {
		out.Agents = append(out.Agents, summaryAgent{
			ID: a.ID, Name: a.Name, Session: a.SessionID, Generation: a.Generation, Status: string(a.Status),
			Standing: string(a.Standing), Brief: a.Brief, Predecessor: a.Predecessor, Open: a.Turn,
		})
	}
	for _, m := range ledger.List {
		out.Messages = append(out.Messages, strings.Join([]string{m.Kind, m.From, m.To, m.ID, m.Status}, " "))
	}
	for _, m := range s.Mail {
		out.Waiting = append(out.Waiting, m.Kind+" "+m.To+" "+m.ID)
	}
	for _, r := range s.Restarts {
		out.Restarts = append(out.Restarts, r.Class)
	}
	return out
}

// TestAnOldJournalFoldsToTheSameHistory holds this version to what the first one
// wrote.
func TestAnOldJournalFoldsToTheSameHistory(t *testing.T) {
	if *writeGolden {
		writeGoldenJournal(t)
	}
	raw, err := os.ReadFile(goldenJournal)
	if err != nil {
		t.Fatal(err)
	}
	var list []journal.Record
	for line := range bytes.Lines(raw) {
		payload := bytes.TrimSpace(line)
		in, err := DecodeInput(payload)
		if err != nil {
			t.Fatal(err)
		}
		kind := journal.Fact
		if Narrates(in.Fact) {
			kind = journal.Narration
		}
		list = append(list, journal.Record{Seq: uint64(len(list) + 1), Kind: kind, Payload: payload})
	}
	raw, err = os.ReadFile(goldenSummary)
	if err != nil {
		t.Fatal(err)
	}
	var want summary
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, summarize(t, list)); diff != "" {
		t.Errorf("an old run has another history now (-then +now):\n%s", diff)
	}
}

func writeGoldenJournal(t *testing.T) {
	t.Helper()
	p := smallRun(t)
	p.folds()
	list := records(t, p.in)
	var lines bytes.Buffer
	for _, r := range list {
		lines.Write(r.Payload)
		lines.WriteByte('\n')
	}
	text, err := json.MarshalIndent(summarize(t, list), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(goldenJournal), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{goldenJournal: lines.Bytes(), goldenSummary: append(text, '\n')} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestASmallRunFolds: the run the golden journal was made of, by this version.
func TestASmallRunFolds(t *testing.T) { smallRun(t).folds() }
