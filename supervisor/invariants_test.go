package supervisor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// fingerprint is a complete state, in the form of a snapshot: Apply must never change the state it was given,
// and must return the same state for the same input.
func fingerprint(t *testing.T, s *State) string {
	t.Helper()
	raw := testkit.Must(jsonl.Marshal(s))(t)
	return string(raw)
}

// checkInvariants checks what holds for every state of a run.
func checkInvariants(t *testing.T, s *State) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range s.Agents {
		switch {
		case seen[a.ID]:
			t.Fatalf("two agents %s", a.ID)
		case a.Status == AgentReady && len(a.Turn) > 0:
			t.Fatalf("%s is %s and has a turn %v", a.ID, a.Status, a.Turn)
		case s.Halted && a.Up():
			t.Fatalf("halted, and %s is %s", a.ID, a.Status)
		}
		seen[a.ID] = true
		checkTaken(t, a, s.Ending == nil)
	}
	carried, waiting := map[string]bool{}, 0
	for _, m := range s.Conversation.Mail {
		switch a, _ := s.Agent(m.To); {
		case !a.Alive() && a.Status != AgentParked && s.Ending == nil:
			t.Fatalf("a %s waits for %s, which is %s", m.Kind, m.To, a.Status)
		case !m.Sent && !m.Reported && len(m.Carries) > 0:
			t.Fatalf("unsent message %s carries %v", m.ID, m.Carries)
		case !m.Reported:
			waiting++
		}
		for _, c := range m.Carries {
			carried[c] = true
		}
	}
	// Every message to an agent was seen, waits, or was returned.
	if l := s.Conversation.Ledger; l.Posted != l.Seen+l.Returned+l.Demoted+waiting || l.Sent < l.Seen ||
		l.Resent > l.Sent || l.Swallowed > l.Resent {
		t.Fatalf("the ledger is %+v, and %d wait", l, waiting)
	}
	for _, e := range s.Conversation.WorkLog {
		if (e.Carrier != "") != carried[e.ID] {
			t.Fatalf("report %s says its carrier is %q, the mail says %v", e.ID, e.Carrier, carried[e.ID])
		}
	}
	checkRenewing(t, s)
	checkHeirs(t, s)
	checkWithheld(t, s)
	checkRequests(t, s)
	checkLeftovers(t, s)
	switch live := s.Task.Phase.Live(); {
	case s.Ending != nil && live:
		t.Fatalf("ending, and %s", s.Task.Phase)
	case s.Ending != nil:
	case s.Lifecycle.TrustQuestion != nil && !s.HumanPresent:
		t.Fatal("the run waits for a look at the workspace, and there is no bridge to take it")
	case len(s.spentLimits()) > 0 && live && !s.HumanPresent && s.busyCount() == 0 && !s.AnyTakenOver() &&
		!s.Handoff.IsDue() && s.Rulings.DeciderRequest == nil:
		t.Fatal("a limit of costs is spent, no human is there to raise it, and the run does not end")
	// A dialogue never stalls silently: if no agent is busy and nothing is in progress, the run waits for an
	// answer from outside.
	case live && stalled(s):
		t.Fatalf("stalled in %s: %s", s.Task.Phase, s.LivingText())
	}
}

// checkEffects checks the effects of every step of a live run: every move that is tried exists in the machine,
// and agents report nothing once the run has ended.
func checkEffects(t *testing.T, before *State, out []input.Effect) {
	t.Helper()
	ended := before.Ending != nil
	for _, e := range out {
		em, ok := e.(input.Emit)
		if _, down := e.(input.Shutdown); down {
			ended = true
		}
		if !ok {
			continue
		}
		switch b := em.Event.Body.(type) {
		case contract.Notice:
			testkit.Need(t, !strings.HasPrefix(b.Text, "no move from"), "the table lacks a move: %s", b.Text)
		case contract.Permission:
			testkit.Need(t, contract.DecidedBy(b.By) != "", "who decided has no words: %+v", b)
		case contract.Session:
			ended = false // resumed
		case contract.Message, contract.Question, contract.State:
			testkit.Need(t, !ended, "after the end: %T %+v", b, b)
		}
	}
}

// stalled reports whether nothing will ever happen by itself.
func stalled(s *State) bool {
	waits := s.Paused || s.Conversation.Held || s.Question.Open != nil
	if s.budgetHolds() || waits && s.HumanPresent || len(s.Agents) == 0 || s.Task.Text == "" {
		return false
	}
	for _, a := range s.Agents {
		switch a.Status {
		case AgentBusy, AgentStarting, AgentDown, AgentRestarting, InHand:
			return false
		case AgentParked:
			if a.Role == RoleArbiter && s.HumanPresent && s.Rulings.FallbackReason == "" {
				return false // a human was asked to choose
			}
		}
		if a.Troubles > 0 {
			return false
		}
	}
	for _, m := range s.Conversation.Mail {
		// All agents are idle: what was sent is answered, and what is held back waits for a document that is
		// being processed.
		a, _ := s.Agent(m.To)
		if !m.Sent && !s.withholds(&m) && !(m.To == s.Agents[0].ID && s.Renewal.Withholds(m.Kind)) &&
			(a.Status == AgentReady || a.Status == AgentStopping) {
			return false
		}
	}
	return !s.Handoff.IsDue() && s.Rulings.DeciderRequest == nil
}

// FuzzApply passes random inputs to Apply: it must not panic, must keep the invariants, must not change its
// input, and must be deterministic.
func FuzzApply(f *testing.F) {
	for seed := range uint64(often(20, 64)) {
		f.Add(seed, uint16(200))
	}
	f.Fuzz(applyRandomly)
}

// applyRandomly applies so many random inputs.
func applyRandomly(t *testing.T, seed uint64, n uint16) {
	r := rand.New(rand.NewPCG(seed, 7))
	o := randomOptions(r)
	if seed%3 == 0 {
		o = withHosts(r, o)
	}
	var s State
	at := time.Unix(1_800_000_000, 0)
	inputs := []input.Body{input.Began{Options: o}}
	for range int(n) % 400 {
		inputs = append(inputs, nil)
	}
	finished := 0
	var fold Replayer
	timers := alarms{}
	var events stream
	before := fingerprint(t, &s)
	for i, body := range inputs {
		if i > 0 {
			body = randomInput(r, &s)
		}
		at = at.Add(time.Second)
		if testing.Verbose() {
			what := any(body)
			if e, ok := body.(input.AgentEvent); ok {
				what = fmt.Sprintf("%s %T %+v", e.Event, e.Event.Body, e.Event.Body)
			}
			t.Logf("%s, %s: %T %+v", s.Task.Phase, s.LivingText(), body, what)
		}
		next, out := Apply(s, input.Input{At: at, Body: body})
		again, out2 := Apply(s, input.Input{At: at, Body: body})
		testkit.Need(t, before == fingerprint(t, &s), "apply changed its input by %T", body)
		after := fingerprint(t, &next)
		testkit.Need(t, after == fingerprint(t, &again) && reflect.DeepEqual(out, out2), "%T is not deterministic", body)
		checkEffects(t, &s, out)
		checkStep(t, &s, &next, body, out)
		if (uint64(i)+seed)%16 == 0 { // all steps would take most of the test's time
			goesOnTheSame(t, before, input.Input{At: at, Body: body}, after, out)
		}
		events.follow(t, at, &s, &next, body, out)
		s, before = next, after
		checkInvariants(t, &s)
		timers.follow(body, out)
		timers.check(t, &s)
		testkit.OK(t, fold.Take(recordOf(t, input.Input{At: at, Body: body}, i)))
		if after != fingerprint(t, &fold.State) {
			t.Fatalf("the journal folds to another state after %T:\n%s", body, cmp.Diff(s, fold.State))
		}
		if finished += len(ofType[input.Finish](out)); beginsProcessRun(body) {
			finished = 0
		}
		testkit.Need(t, finished <= 1, "finished twice")
	}
}

// randomInput prefers inputs that fit the state, so that runs make progress.
func randomInput(r *rand.Rand, s *State) input.Body {
	switch {
	case s.Ending != nil && r.IntN(2) == 0: // else most of a random run would come after its end
		if !s.Ending.Said {
			return input.Stopped{}
		}
		return input.Resumed{Options: changedOptions(r, s.Options), Word: []string{"", "w"}[r.IntN(2)], Stay: true}
	case len(s.Agents) > 0 && s.Task.Text == "" && s.HumanPresent && r.IntN(3) == 0:
		return byHuman(input.ChannelScreen, contract.Say{Text: "t"})
	}
	for _, a := range s.Agents {
		if a.Status == AgentStarting && r.IntN(3) == 0 {
			return input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Window: 1000, Resumed: r.IntN(4) > 0,
				Deliveries: randomStatuses(r, *a)}}
		}
	}
	if len(s.Agents) > 0 && r.IntN(5) == 0 {
		if f := renewingInput(r, s); f != nil {
			return f
		}
	}
	if len(s.Options.Hosts) > 0 && len(s.Agents) > 0 && r.IntN(8) == 0 {
		return hostInput(r, s)
	}
	if r.IntN(6) == 0 {
		if f := machineInput(r, s); f != nil {
			return f
		}
	}
	ref := bridge.AgentRef{ID: "arbiter", Generation: 1}
	var a Agent
	if len(s.Agents) > 0 {
		a = *s.Agents[r.IntN(len(s.Agents))]
		ref = a.AgentRef
		if r.IntN(20) == 0 {
			ref.Generation += 1 - 2*r.IntN(2)
		}
	}
	if s.Rulings.DeciderRequest != nil && r.IntN(3) == 0 || r.IntN(200) == 0 {
		return randomDecision(r, s)
	}
	if a.Takeover != nil && r.IntN(3) > 0 {
		return takenInput(r, a)
	}
	if len(s.Agents) > 0 && r.IntN(8) == 0 {
		return handsInput(r, s, a)
	}
	if len(s.Agents) > 0 && r.IntN(8) == 0 {
		return otherInput(r, s, a)
	}
	event := func(b bridge.EventBody) input.Body { return byBridge(ref, b) }
	switch r.IntN(12) {
	case 0, 1:
		switch {
		case a.Status == AgentStarting && r.IntN(6) > 0:
			return input.Spawned{Agent: ref, Result: bridge.SpawnResult{Window: 1000, Resumed: r.IntN(4) > 0,
				Deliveries: randomStatuses(r, a)}}
		case a.Status == AgentDown:
			return input.Timer{Key: RestartPrefix + RunOf(ref)}
		case a.Status == AgentReady || a.Status == AgentBusy:
			return event(randomTurn(r, a))
		}
		if r.IntN(4) == 0 {
			return input.NotSpawned{Agent: ref, Category: bridge.CatTrust, Message: "changed",
				Trust: []string{"", "h1", "h2"}[r.IntN(3)]}
		}
		cats := []bridge.Category{bridge.CatTimeout, bridge.CatResume, bridge.CatStart}
		return input.NotSpawned{Agent: ref, Category: cats[r.IntN(3)], Message: "m"}
	case 2, 3, 4, 5:
		return event(randomTurn(r, a))
	case 6:
		if len(a.Turn) > 0 {
			return event(bridge.Delivered{MessageID: a.Turn[0]})
		}
		switch r.IntN(4) {
		case 0:
			return event(bridge.Compact{Trigger: "auto", Blocked: r.IntN(2) == 0, PreTokens: 9})
		case 1:
			return event(bridge.ContextWarning{Level: []string{"warn", "critical"}[r.IntN(2)]})
		}
		if r.IntN(4) == 0 {
			statuses := []string{"pending", "in_progress", "completed", "lost"}
			return event(bridge.Tasks{Items: []bridge.Task{{Text: "a", Status: statuses[r.IntN(4)]},
				{Text: "mine", Status: "pending"}}[:r.IntN(3)]})
		}
		pct := float64(40 + 20*r.IntN(4))
		return event(bridge.Context{Tokens: int(pct), Window: 100, Pct: pct})
	case 7:
		if len(a.Turn) == 0 {
			return event(bridge.Notice{Text: "n"}) // no agent calls a tool outside of a turn
		}
		tools := []string{"spawn_orchestrator", "release_orchestrator", "set_plan", "status", "report_progress",
			"update_plan", "ask_predecessor", "nonsense"}
		inputs := []string{`{"prompt":"p"}`, `{"id":"all","reason":"r"}`, `{"id":"orch-1","reason":"r"}`,
			`{"steps":[{"text":"a"}]}`, `{"message":"m"}`, `{"index":1,"status":"done"}`, `{"question":"q"}`, `[]`,
			`{"prompt":7}`}
		return input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{AgentRef: ref, Tool: tools[r.IntN(len(tools))],
			Input: json.RawMessage(inputs[r.IntN(len(inputs))])}}
	case 8:
		behaviors := []string{"allow", "deny", "ask", ""}
		return input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: ref, Request: []string{"p1", "p2"}[r.IntN(2)],
			Tool: "Bash", Input: json.RawMessage(`{}`)}, Behavior: behaviors[r.IntN(4)], By: contract.ByRule}
	case 9:
		return byHuman(input.ChannelStdin, randomCommand(r, s))
	case 10:
		if len(a.Turn) > 0 && a.CurrentTool == "" && len(a.Subagents) == 0 {
			return input.NotSent{Agent: ref, MessageID: a.Turn[0], Message: "m"}
		}
		return input.Timer{Key: []string{RetryPrefix, RhythmPrefix}[r.IntN(2)] + RunOf(ref)}
	case 11:
		if q := s.Handoff.Merges.Queue; len(q) > 0 && r.IntN(2) == 0 {
			return input.Merged{Serial: q[0].Request, Status: []input.IsolationStatus{input.StatusMerged,
				input.StatusConflict}[r.IntN(2)], Head: "h"}
		}
		if len(s.Handoff.Documents) > 0 && r.IntN(3) > 0 {
			return randomProgress(r, s.Handoff.Documents[r.IntN(len(s.Handoff.Documents))])
		}
	}
	switch r.IntN(4) {
	case 0:
		return requestInput(r, s)
	case 1:
		if len(a.Turn) > 0 && r.IntN(2) == 0 {
			return input.Timer{Key: DeliveryTimerPrefix + a.Turn[0]}
		}
		return input.Probed{Agent: ref, Result: bridge.ProbeResult{SilentMS: 1 << 20, Answered: r.IntN(3) == 0,
			RSSBytes: int64(r.IntN(3)) << 33}}
	case 2:
		if !s.Lifecycle.IsUp(LifecycleHere) {
			return []input.Body{input.BridgeBack{Swept: 1}, input.BridgeFailed{Message: "m"},
				input.Timer{Key: LifecycleTimerKey(LifecycleHere)}}[r.IntN(3)]
		}
	}
	if r.IntN(20) == 0 {
		return []input.Body{input.InputEnded{}, input.Signal{Signal: "INT"}, input.OutputLost{}, input.Timer{Key: timeoutKey},
			input.JournalFull{Message: "m"}, input.Resumed{Options: s.Options}}[r.IntN(6)]
	}
	rare := []input.Body{
		event(bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: 1}}),
		event(bridge.Done{SessionID: "s", Exit: bridge.Exit{Code: 1}}),
		input.Stopped{}, input.BridgeLost{}, input.Timer{Key: CompactionBlockedPrefix + RunOf(ref)},
		input.WokeFromSleep{Slept: time.Hour},
		event(bridge.Quota{Window: "w", UsedPct: float64(r.IntN(100)), ResetsAt: 1_800_000_000 + r.Int64N(600)}),
		input.Timer{Key: ResetTimer},
		event(bridge.Retry{Attempt: 1}),
	}
	return rare[r.IntN(len(rare))]
}

// randomProgress is an input about a document that is being processed, mostly an expected one.
func randomProgress(r *rand.Rand, h Handover) input.Body {
	failed := []string{"", "denied"}[r.IntN(2)]
	switch r.IntN(8) {
	case 0:
		return input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, h.Serial)}
	case 1:
		return input.Checked{Serial: h.Serial, Number: r.IntN(4), Failed: failed}
	}
	if h.Document == nil {
		return input.Inspected{Serial: h.Serial, Result: bridge.InspectResult{Texts: []string{"s"},
			Files: []string{"f"}}, Failed: failed}
	}
	return input.Checked{Serial: h.Serial, Number: len(h.Receipts) + 1,
		Result: bridge.CheckResult{Exit: r.IntN(2), SHA256: "s"}, Failed: failed}
}

func randomStatuses(r *rand.Rand, a Agent) []bridge.DeliveryStatus {
	var list []bridge.DeliveryStatus
	for _, id := range a.Turn {
		fates := []string{bridge.DeliveryAbsent, bridge.DeliverySeen, bridge.DeliveryBegun, bridge.DeliveryRuled,
			bridge.DeliveryEnded, ""}
		f := bridge.DeliveryStatus{MessageID: id, Status: fates[r.IntN(len(fates))]}
		if f.Status == bridge.DeliveryRuled {
			f.Verdict = randomTurn(r, a).Verdict
		}
		list = append(list, f)
	}
	return list
}

func randomTurn(r *rand.Rand, a Agent) bridge.Turn {
	verdicts := []string{
		`{"decision":"CONTINUE","message":"m","reason":"r"}`,
		`{"decision":"CONTINUE","message":"m","reason":"r","to":"orch-1"}`,
		`{"decision":"ADDRESS_HUMAN","message":"m","reason":"r"}`,
		`{"decision":"ADDRESS_ORCHESTRATOR","message":"m","reason":"r","to":"orch-2"}`,
		`{"decision":"SELECT_MODE","message":"m","reason":"r","mode":"developer"}`,
		`{"decision":"RETRY","message":"m","reason":"r","to":"orch-1"}`,
		`{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`,
		`{"decision":"HANDOFF","message":"m","reason":"r"}`, `null`,
		`{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k"}}`, `{"x":1}`,
		`{"expects_response":true,"message":"m","kind":"question"}`,
		`{"expects_response":false,"message":"m","kind":"progress"}`,
		`{"expects_response":true,"message":"m","kind":"done","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}}`,
		`{"expects_response":true,"message":"m","kind":"handoff","handoff":{"accomplished":["a"],"remaining":["b"],"key_context":"k","decisions":[],"constraints":[],"files":[],"checks":[{"command":"make","expect":"ok"},{"command":"ls","expect":""}],"open_questions":[],"claims":[]}}`,
	}
	t := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnDone,
		Verdict: json.RawMessage(verdicts[r.IntN(len(verdicts))]), CostUSD: 0.01}
	if r.IntN(4) == 0 {
		t.Tools, t.Failed, t.Files = 3, &bridge.FailedTool{Tool: "Bash", Attempted: "make", Message: "exit 2"},
			[]string{"a.go"}
	}
	switch r.IntN(12) {
	case 0:
		t.Outcome, t.Verdict = bridge.TurnInterrupted, nil
	case 1:
		cats := []bridge.Category{bridge.CatOverloaded, bridge.CatInvalidRequest, bridge.CatVerdict, bridge.CatServer,
			bridge.CatPromptTooLong, bridge.CatCompaction}
		t.Outcome, t.Verdict, t.Category = bridge.TurnFailed, nil, cats[r.IntN(len(cats))]
	}
	return t
}

// lastWord is the id of the last waiting message.
func lastWord(s *State) string {
	if len(s.Conversation.Mail) == 0 {
		return "none"
	}
	return s.Conversation.Mail[len(s.Conversation.Mail)-1].ID
}

func randomCommand(r *rand.Rand, s *State) contract.CommandBody {
	list := []contract.CommandBody{
		contract.Say{Text: "x"}, contract.Say{Text: "x", Strength: contract.Stop},
		contract.Say{Text: "x", Strength: contract.Steer, To: "orch-1"},
		contract.Permit{Request: "p1", Behavior: "allow", Scope: "run"}, contract.Permit{Request: "p2", Behavior: "deny"},
		contract.Interrupt{}, contract.Kill{ID: "orch-1"}, contract.Pause{}, contract.Continue{}, contract.Continue{},
		contract.Halt{},
		contract.EditMessage{MessageID: lastWord(s), Text: "y"}, contract.WithdrawMessage{MessageID: lastWord(s)},
		contract.ForceAgent{Mode: "tester"},
		contract.SkipStep{}, contract.RetryLast{}, contract.Reset{},
		contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: "pending"}}},
		contract.Choose{Option: "retry"}, contract.Choose{Option: "fallback"}, contract.Choose{Option: "skip"},
		contract.Malformed{Problem: "p"},
		contract.Attach{ID: "orch-1"}, contract.Attach{ID: "arbiter"}, contract.Detach{ID: "orch-1"},
		contract.Configure{Permissions: []string{"ask", "rules"}[r.IntN(2)]}, contract.Configure{Allow: "Bash(ls)"},
	}
	return list[r.IntN(len(list))]
}

// randomDecision is an answer to the open question, or a late or wrong one.
func randomDecision(r *rand.Rand, s *State) input.Body {
	f := input.Decided{Number: s.Rulings.Decisions + 1, Point: decider.PointSelect, Input: json.RawMessage(`{}`)}
	if s.Rulings.DeciderRequest != nil {
		f.Serial, f.Point, f.About = s.Rulings.DeciderRequest.Serial, s.Rulings.DeciderRequest.Point,
			s.Rulings.DeciderRequest.About
	}
	list := []decider.Decision{
		{Decision: "SELECT_MODE", Mode: "developer"}, {Decision: "SELECT_MODE", Mode: "wizard"}, {Decision: "CONTINUE"},
		{Decision: "RETRY"},
		{Decision: "COMPLETE", Summary: "s"}, {Decision: "SLEEP"}, {},
	}
	f.Decision = list[r.IntN(len(list))]
	f.Decision.Usage.CostUSD = 0.01
	f.Decision.Reason, f.Decision.Source = "r", []decider.Source{decider.ByModel, decider.ByRules, decider.ByFallback,
		decider.ByCache}[r.IntN(4)]
	switch r.IntN(10) {
	case 0:
		f.Failed = "m"
	case 1:
		f.Deferred = true
	case 2:
		f.Serial += r.IntN(3) - 1
	}
	return f
}

// checkRequests: requests have different ids, because answers name them by id. A process waits for each open one, and a
// run that ends has none.
func checkRequests(t *testing.T, s *State) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range s.Permission.All() {
		testkit.Need(t, !seen[p.ID], "two requests %s", p.ID)
		seen[p.ID] = true
	}
	for _, p := range s.Permission.Open {
		a, _ := s.Agent(p.Params.ID)
		testkit.Need(t, p.Check || a.Up(), "%s is %s, and its request %s is open", a.ID, a.Status, p.ID)
	}
	testkit.Need(t, len(s.Permission.Open) == 0 || s.Ending == nil && (s.HumanPresent || s.Permission.Reconsidering != 0),
		"requests are open in a run that ends, or that no human answers: %v", seen)
}

// checkAnswered: no request disappears without an answer. A process that resumes the run keeps those that it does not
// answer, because their agents ask again.
func checkAnswered(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	left := map[string]string{}
	for _, r := range before.Permission.All() {
		left[r.ID] = r.Params.Tool + " by " + r.Params.ID
	}
	for _, r := range after.Permission.All() {
		delete(left, r.ID)
	}
	for _, b := range said[contract.Permission](out) {
		delete(left, b.Request)
	}
	testkit.Need(t, len(left) == 0, "%T dropped requests that nobody answered: %v", f, left)
}

// requestInput is the end of a request without an answer of a human: it is withdrawn, or changed rules decide
// it.
func requestInput(r *rand.Rand, s *State) input.Body {
	if len(s.Permission.Open) == 0 || r.IntN(2) == 0 {
		return input.PermissionWithdrawn{Request: "p1"}
	}
	p := s.Permission.Open[r.IntN(len(s.Permission.Open))]
	settled := input.PermissionResolution{
		Request: p.ID, Asked: p.Params.Request, Behavior: []string{bridge.Allow, bridge.Deny}[r.IntN(2)], By: contract.ByRule,
	}
	return input.Reconsidered{Resolutions: []input.PermissionResolution{settled}[r.IntN(2):],
		Changes: s.Permission.Changes - r.IntN(2)}
}

// checkLeftovers: nothing is kept, offered or waited for of an agent that has ended, and what is on its way to an agent
// is in its turn.
func checkLeftovers(t *testing.T, s *State) {
	t.Helper()
	if s.Ending != nil || len(s.Agents) == 0 {
		return
	}
	of := func(id string) (a Agent) { a, _ = s.Agent(id); return a }
	ended := func(id, what string) {
		a := of(id)
		testkit.Need(t, !a.Gone(), "%s is gone, and %s", id, what)
	}
	for _, q := range s.Handoff.WaitingQuestions {
		ended(q.Of, "is asked what "+q.By.ID+" waits for")
	}
	for _, r := range s.Permission.Unclaimed {
		ended(r.Params.ID, "request "+r.ID+" waits for it")
	}
	for _, list := range s.Task.AgentTasks {
		ended(list.Agent, "its tasks are shown")
	}
	for _, x := range s.Conversation.Accepted {
		ended(x.To, "message "+x.ID+" waits for an answer of it")
	}
	if r := s.Question.Recovery; slices.Contains(r.Options, "retry") && of(r.Agent).Status == AgentEnded {
		t.Fatalf("%s is gone, and can be tried again: %+v", r.Agent, r)
	}
	for _, p := range s.Handoff.Merges.Queue {
		testkit.Need(t, slices.ContainsFunc(s.Handoff.Documents, func(h Handover) bool { return h.Serial == p.Document }),
			"the work of %s is to be merged for document %d, which is dropped", p.Agent, p.Document)
	}
	for _, m := range slices.Concat(s.Conversation.Mail, s.Conversation.InTurn) {
		testkit.Need(t, !m.Sent || slices.Contains(of(m.To).Turn, m.Wire), "a %s was sent to %s, and is not in its turn %v",
			m.Kind, m.To, of(m.To).Turn)
	}
	for _, a := range s.Agents {
		testkit.Need(t, !a.Gone() || a.Work == nil, "%s is gone, and works: %+v", a.ID, a.Work)
		testkit.Need(t, a.Status != AgentBusy || len(a.Turn) > 0, "%s is busy without a message", a.ID)
		testkit.Need(t, a.Status != AgentReady || a.CurrentTool == "" && len(a.Subagents) == 0,
			"%s is ready, and at %s, with subagents %v", a.ID, a.CurrentTool, a.Subagents)
	}
	testkit.Need(t, !s.Conversation.Held || !s.HumanPresent || s.Question.Open != nil,
		"messages are held until a human says something, and nothing asks for it")
}

// checkRenewing: a renewal that holds mail back is in progress, and nothing else holds it.
func checkRenewing(t *testing.T, s *State) {
	t.Helper()
	if s.Ending != nil || !s.Task.Phase.Live() || len(s.Agents) == 0 || s.Paused || s.Conversation.Held ||
		s.budgetHolds() {
		return
	}
	a := s.Agents[0]
	for _, m := range s.Conversation.Mail {
		if s.turnsLeft() <= s.busyCount() {
			break // little is left of a cost limit
		}
		to, _ := s.Agent(m.To)
		held := m.Sent || m.Pauses || s.withholds(&m) || m.To == a.ID && s.Renewal.Withholds(m.Kind)
		testkit.Need(t, held || to.Status != AgentReady, "a %s to %s is not sent, and nothing holds it", m.Kind, m.To)
	}
	if a.Status != AgentReady {
		return
	}
	switch s.Renewal.Stage {
	case RenewalAsked:
		asks := func(m Mail) bool { return m.To == a.ID && !s.Renewal.Withholds(m.Kind) }
		if a.Troubles <= 0 && !slices.ContainsFunc(slices.Concat(s.Conversation.Mail, s.Conversation.InTurn), asks) {
			t.Fatal("the Arbiter's renewal is due, and no request asks for it")
		}
	case RenewalGiven:
		if !slices.ContainsFunc(s.Handoff.Documents, func(h Handover) bool { return h.Kind == HandoffKindRenewal }) {
			t.Fatal("the Arbiter's renewal is given, and nothing goes on")
		}
	}
}

// checkHeirs: each document is in the queue once, and no author in the queue works again.
func checkHeirs(t *testing.T, s *State) {
	t.Helper()
	waiting := map[string]bool{}
	for _, id := range s.Handoff.SuccessorQueue {
		testkit.Need(t, !waiting[id], "%s waits twice", id)
		waiting[id] = true
	}
	for _, p := range s.Permission.Open {
		testkit.Need(t, p.Params.Tool != "Check" || s.Handoff.IsCheck(p.Params.Request),
			"a human is asked for check %s, which no document waits for", p.Params.Request)
	}
}

// renewingInput fills the Arbiter's context, and returns what can happen then: mostly it gives its document, and
// sometimes it is disturbed.
func renewingInput(r *rand.Rand, s *State) input.Body {
	a := *s.Agents[0]
	event := func(b bridge.EventBody) input.Body { return byBridge(a.AgentRef, b) }
	switch {
	case a.Status == AgentRestarting && r.IntN(3) > 0:
		return event(bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Expected: true}})
	case a.Status == AgentStarting && r.IntN(3) > 0:
		return input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Window: 1000, Resumed: !a.NewSession,
			Deliveries: randomStatuses(r, a)}}
	case s.Renewal.Stage == RenewalAsked && a.Status == AgentBusy:
		ends := func(o string, c bridge.Category, verdict string) input.Body {
			return event(bridge.Turn{MessageIDs: a.Turn, Outcome: o, Category: c, Verdict: json.RawMessage(verdict)})
		}
		const handoff = `{"decision":"HANDOFF","message":"m","reason":"r",` +
			`"handoff":{"accomplished":["a"],"remaining":[],"key_context":"k"`
		full := ends(bridge.TurnDone, "", handoff+`}}`)
		return []input.Body{
			full, full, ends(bridge.TurnDone, "", handoff+`,"checks":[{"command":"ls","expect":""}]}}`),
			ends(bridge.TurnInterrupted, "", ""), ends(bridge.TurnFailed, bridge.CatPromptTooLong, ""),
			ends(bridge.TurnFailed, bridge.CatUsageLimit, ""),
			ends(bridge.TurnDone, "", `{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`),
			byHuman(input.ChannelStdin, contract.Say{Text: "x", Strength: contract.Steer}),
			byHuman(input.ChannelStdin, contract.Say{Text: "x", Strength: contract.Stop}),
			event(bridge.Compact{Trigger: "auto", PreTokens: 9}), event(bridge.Context{Tokens: 1, Window: 100, Pct: 1}),
		}[r.IntN(11)]
	case a.CompactionBlocked && a.Status == AgentBusy:
		return []input.Body{input.Timer{Key: CompactionBlockedPrefix + RunOf(a.AgentRef)},
			event(bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnInterrupted})}[r.IntN(2)]
	case s.Paused:
		return byHuman(input.ChannelStdin, contract.Continue{})
	case a.Status == AgentBusy:
		return []input.Body{
			event(bridge.Context{Tokens: 99, Window: 100, Pct: 99}), event(bridge.Compact{Trigger: "auto", Blocked: true}),
			byHuman(input.ChannelStdin, contract.Pause{}),
			event(bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: bridge.CatCompaction}),
		}[r.IntN(4)]
	}
	for _, h := range s.Handoff.Documents {
		if h.Request != "" {
			author := h.Agent
			return []input.Body{
				input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: author, Request: h.Request, Tool: "Check",
					Input: json.RawMessage(`{}`)}, Behavior: "ask"},
				byHuman(input.ChannelStdin, contract.Permit{Request: h.Request, Behavior: "allow"}),
				input.Checked{Serial: h.Serial, Number: len(h.Receipts) + 1, Request: h.Request,
					Result: bridge.CheckResult{SHA256: "s"}},
				input.Checked{Serial: h.Serial, Number: len(h.Receipts) + 1, Request: "another", Failed: "denied"},
			}[r.IntN(4)]
		}
	}
	return nil
}
