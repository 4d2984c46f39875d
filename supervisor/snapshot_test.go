package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// restored is a state restored from a snapshot. It must be equal: nothing may be lost, and encoding it again
// must give the same bytes.
func restored(t *testing.T, s *State) State {
	t.Helper()
	raw := testkit.Must(Snapshot{State: *s}.Encode())(t)
	snapshot := testkit.Must(decodeSnapshot(raw))(t)
	back := snapshot.State
	again := testkit.Must(Snapshot{State: back}.Encode())(t)
	testkit.Need(t, string(raw) == string(again), "the snapshot holds another state:\n%s\n%s", raw, again)
	return back
}

// goesOnTheSame compares a step from a restored state with the same step from the original one. Its arguments
// are the fingerprints of the states before and after.
func goesOnTheSame(t *testing.T, before string, in input.Input, after string, out []input.Effect) {
	t.Helper()
	var back State
	testkit.OK(t, json.Unmarshal([]byte(before), &back))
	again := fingerprint(t, &back)
	if again != before {
		t.Fatalf("the snapshot holds another state:\n%s", cmp.Diff(before, again))
	}
	next, effects := Apply(back, in)
	got := fingerprint(t, &next)
	if got != after {
		t.Fatalf("after a snapshot %T leads to another state:\n%s", in.Body, cmp.Diff(after, got))
	}
	if reflect.DeepEqual(out, effects) { // nearly always, and much faster than cmp
		return
	}
	testkit.Need(t, cmp.Equal(out, effects, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })),
		"after a snapshot %T leads to other effects:\n%+v\n%+v", in.Body, out, effects)
}

// TestStateIsAllEncoded: a snapshot contains every field of the state. Types that encoding/json omits, or
// cannot restore, have a codec of their own.
func TestStateIsAllEncoded(t *testing.T) {
	seen := map[reflect.Type]bool{}
	codec := reflect.TypeFor[json.Unmarshaler]()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] || reflect.PointerTo(typ).Implements(codec) {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				if !f.IsExported() && strings.HasPrefix(f.Name, "own") {
					continue // what one step may write to; it ends with the step
				}
				testkit.Check(t, (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-",
					"%s.%s (%s) is not in a snapshot", path, f.Name, typ)
				walk(f.Type, path+"."+f.Name)
			}
		case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
			t.Errorf("%s is a %s: a snapshot does not bring it back", path, typ)
		}
	}
	walk(reflect.TypeFor[State](), "State")
	testkit.Check(t, len(seen) >= 30, "only %d types were looked at", len(seen))
}

// TestFullStateRoundTrips: a state with a value in each field is equal after decoding.
func TestFullStateRoundTrips(t *testing.T) {
	var s State
	n := 0
	corpus.Distinct(reflect.ValueOf(&s).Elem(), &n)
	s.Task.History = decider.DecisionHistory{}
	at := time.Unix(1_800_000_000, 7)
	for i := range 80 {
		e := decider.DecisionExecution{
			Agent: []string{"developer", "tester"}[i%2], ID: fmt.Sprintf("orch-%d", i), Iteration: i,
			StartedAt: at, CompletedAt: at.Add(time.Duration(i) * time.Second),
			Status: decider.StatusSuccess, Output: strings.Repeat("word ", i), Files: []string{"a.go"},
			Tokens:   decider.Tokens{Input: i, Total: i},
			Document: &decider.DecisionDocument{Remaining: []string{"x"}, KeyContext: strings.Repeat("k", 400)},
		}
		if i%7 == 0 {
			e.Status, e.Error = decider.StatusFailure, &decider.DecisionFailure{Agent: "tester", Message: "m", At: at}
		}
		s.Task.History = s.Task.History.Add(e)
	}
	back := restored(t, &s)
	testkit.Same(t, "", s, back, cmp.Exporter(func(reflect.Type) bool { return true }))
	var e decider.DecisionExecution
	testkit.Same(t, "the history goes on otherwise", back.Task.History.Add(e), s.Task.History.Add(e))
}

func TestSnapshotOfAnotherVersion(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"v":0,"state":{}}`, "older"}, {fmt.Sprintf(`{"v":%d,"state":{"Options":7}}`, StateVersion+1), "newer"},
	} {
		_, err := decodeSnapshot([]byte(c.raw))
		_, ok := errors.AsType[*VersionError](err)
		testkit.Check(t, ok && strings.Contains(err.Error(), c.want), "%s: %v", c.raw, err)
	}
	for _, raw := range []string{"", "{}", fmt.Sprintf(`{"v":%d,"state":`, StateVersion),
		fmt.Sprintf(`{"v":%d,"state":{"Options":7}}`, StateVersion), "\x00\x01"} {
		testkit.Fails(t, fmt.Sprintf("%q decodes", raw), testkit.Err(decodeSnapshot([]byte(raw))))
	}
}

// toldTwice is an EventRecorder with a record before the events of each step.
func toldTwice(before *State, step Replayed, after *State) []LogItem {
	return append([]LogItem{{Record: fmt.Appendf(nil, `{"kind":"%T"}`, step.Input.Body)}},
		RecordEvents(before, step, after)...)
}

// onDisk is a store with a run that a loop records.
type onDisk struct {
	t     *testing.T
	store *journal.Store
	dir   string
}

func newOnDisk(t *testing.T) onDisk {
	t.Helper()
	d := onDisk{t: t, dir: t.TempDir()}
	d.store = testkit.Must(journal.OpenStore(d.dir))(t)
	t.Cleanup(func() { d.store.Close() })
	return d
}

// entries are the lines of the event log.
func (d onDisk) entries() (list []journal.LogContent) {
	d.t.Helper()
	log := testkit.Must(d.store.EventLog(testRun))(d.t)
	defer log.Close()
	h, err := log.Each(d.t.Context(), journal.LogPosition{}, func(e journal.LogEntry) error {
		e.Line, e.Record = bytes.Clone(e.Line), bytes.Clone(e.Record)
		list = append(list, e.LogContent)
		return nil
	})
	testkit.Need(d.t, err == nil && len(h.Damage) == 0 && h.Torn <= 0, "%v, %+v", err, h)
	return list
}

// TestRestoreAfterAnyCut cuts a run off after each of its inputs, with its lines written up to any
// point before, and a snapshot anywhere before that. The restored state equals the state before the cut,
// and the event log contains each line once, the same as without a cut.
func TestRestoreAfterAnyCut(t *testing.T) {
	var inputs []input.Input
	p := begin(t, nil)
	p.verdict("arbiter", ruling("SELECT_MODE", "work", "mode", "developer"))
	p.spawned("orch-1")
	p.happen("orch-1", bridge.Assistant{Text: "I look at it."})
	p.happen("orch-1", bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: []byte(`{"command":"make"}`)})
	p.verdict("orch-1", report("question", "May I?", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "May it?"))
	p.say("It may.")
	inputs = p.in

	// The effects of each input.
	states := []State{{}}
	var told [][]LogItem
	for _, in := range inputs {
		s := states[len(states)-1]
		next, out := Apply(s, in)
		states, told = append(states, next), append(told, toldTwice(&s, Replayed{Input: in, Effects: out}, &next))
	}
	var whole []journal.LogContent
	var telling LogEncoder
	starts := []int{0} // of the lines of each input
	for i, list := range told {
		for _, x := range list {
			line := testkit.Must(telling.Content(uint64(i+1), inputs[i].At, x))(t)
			line.Line = bytes.TrimSuffix(line.Line, []byte("\n"))
			whole = append(whole, line)
		}
		starts = append(starts, len(whole))
	}
	n := len(inputs)
	for cut := n - 3; cut <= n; cut++ {
		for snapshot := 0; snapshot <= cut; snapshot += 3 {
			for lines := starts[max(snapshot-2, 0)]; lines <= starts[cut]; lines += often(7, 3) {
				restoreAfter(t, inputs[:cut], states, told, whole, starts, snapshot, lines)
			}
		}
	}
}

// restoreAfter writes a run with a snapshot after so many inputs and so many lines of the event log, and
// resumes it.
func restoreAfter(t *testing.T, inputs []input.Input, states []State, told [][]LogItem, whole []journal.LogContent,
	starts []int, snapshot, lines int) {
	t.Helper()
	d := newOnDisk(t)
	run, err := d.store.Create(journal.Meta{Run: testRun}, journal.Options{})
	testkit.OK(t, err)
	tell := func(lines []journal.LogContent) {
		t.Helper()
		for _, x := range lines {
			testkit.OK(t, run.AppendEvents(x))
		}
	}
	for i, in := range inputs {
		raw, err := input.EncodeInput(in)
		if err == nil {
			_, err = run.Append(journal.Input, raw)
		}
		testkit.OK(t, err)
		if i+1 != snapshot {
			continue
		}
		// By then the log contains everything except what the last two inputs led to.
		by := starts[max(snapshot-2, 0)]
		tell(whole[:by])
		s := Snapshot{State: states[snapshot]}
		for _, x := range whole[:by] {
			if e, err := contract.DecodeLine(x.Line); x.Line != nil && err == nil {
				s.Seq = e.Seq
			}
		}
		for j := max(snapshot-2, 0); j < snapshot; j++ {
			s.Waiting = append(s.Waiting, Waiting{At: inputs[j].At, Input: uint64(j + 1), Items: told[j]})
		}
		testkit.Need(t, run.Snapshot(s.Encode), "no snapshot was taken")
		tell(whole[by:lines])
	}
	if snapshot == 0 {
		tell(whole[:lines])
	}
	testkit.OK(t, run.Close())
	var got State
	run, _, err = d.store.Open(testRun, 0, journal.Options{}, func(r *journal.Recovered) (raw []byte, err error) {
		got, raw, err = Restore(r, toldTwice)
		return raw, err
	})
	testkit.OK(t, err)
	testkit.OK(t, run.Close())
	a, b := fingerprint(t, &states[len(inputs)]), fingerprint(t, &got)
	testkit.Need(t, a == b, "snapshot after %d of %d inputs: another state", snapshot, len(inputs))
	want := whole[:starts[len(inputs)]]
	have := d.entries()
	testkit.Need(t, len(have) == len(want), "snapshot after %d of %d inputs, %d lines told: the log has %d lines of %d",
		snapshot, len(inputs), lines, len(have), len(want))
	for i := range want {
		testkit.Need(t, string(have[i].Line) == string(want[i].Line) &&
			string(have[i].Record) == string(want[i].Record) && have[i].Input == want[i].Input, "line %d:\n%s%s\n%s%s",
			i+1, have[i].Line, have[i].Record, want[i].Line, want[i].Record)
	}
}

// TestUnreadableRuleIsRefused: a run is not resumed with a permission rule that this version cannot read.
func TestUnreadableRuleIsRefused(t *testing.T) {
	for _, s := range []State{
		{Options: runconfig.Options{Deny: []string{"Bash(rm *)", "Bash("}}},
		{Permission: input.PermissionState{Rules: []string{"Bash("}}},
	} {
		d := newOnDisk(t)
		run, err := d.store.Create(journal.Meta{Run: testRun}, journal.Options{})
		testkit.OK(t, err)
		raw := testkit.Must(input.EncodeInput(input.Input{At: time.Unix(1, 0), Body: input.InputEnded{}}))(t)
		testkit.Must(run.Append(journal.Input, raw))(t)
		testkit.Need(t, run.Snapshot(Snapshot{State: s}.Encode), "no snapshot was taken")
		testkit.OK(t, run.Close())
		_, _, err = d.store.Open(testRun, 0, journal.Options{}, func(r *journal.Recovered) (raw []byte, err error) {
			_, raw, err = Restore(r, RecordEvents)
			return raw, err
		})
		testkit.Check(t, err != nil && strings.Contains(err.Error(), `"Bash(": the closing parenthesis is missing`) &&
			strings.Contains(err.Error(), "Resume it with the arbiter that wrote it"), "%v", err)
	}
}

// TestForkFromASnapshot: the first decision that can be made again is the one after those of the oldest snapshot, if
// its question was not put before.
func TestForkFromASnapshot(t *testing.T) {
	for turn, want := range map[string]int{"": 37, "m-1": 38} {
		s := State{Rulings: RulingState{Decisions: 36}}
		s.Agents = []*Agent{{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}}}}
		if turn != "" {
			s.Agents[0].Turn = []string{turn}
		}
		raw := testkit.Must(Snapshot{State: s}.Encode())(t)
		f := ForkFinder{Number: 5}
		testkit.OK(t, f.Take(journal.Record{Kind: journal.Snapshot, Seq: 900, Payload: raw}))
		testkit.Check(t, f.First == want && f.Last() == 36 && !f.Found, "turn %q: from %d to %d, want from %d", turn,
			f.First, f.Last(), want)
	}
}

// TestForkedState: a fork has ids of its own in all texts, and directories of its own; what waits for processes of the
// other run is dropped. An agent on another host is refused.
func TestForkedState(t *testing.T) {
	old, run := uuid.NewString(), uuid.NewString()
	s := State{Options: runconfig.Options{Run: old, CWD: "/src",
		Workspace: runconfig.Workspace{Root: "/src", Base: "b", Own: "/state/runs/" + old + "/work"}}}
	s.Paused = true
	s.Changes.Last, s.Changes.Queue = "c", []input.ChangeTurn{{Agent: "orch-1"}, {Judge: true}}
	s.Budget.CostUSD, s.Budget.Day = 1.5, BudgetDay{OthersUSD: 0.5}
	for _, id := range []string{"arbiter", "orch-1", "orch-2"} {
		a := &Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 2},
			SessionID: uuid.NewString(),
			Role:      RoleOrchestrator, Brief: "Work on arbiter/" + old[:8] + "/main of " + old}}
		if id == "arbiter" {
			a.Role = RoleArbiter
		}
		if id == "orch-2" {
			a.Make, a.MakeSession, a.HasHistory = "other", "its own", true
		}
		a.Turn = []string{"m-" + id}
		s.Agents = append(s.Agents, a)
	}
	f := ForkFinder{Number: 3, State: s}
	forked := testkit.Must(f.Fork(run))(t)
	now := &forked.State
	testkit.Check(t, now.Options.Run == run && now.Options.ForkedFrom.Run == old &&
		now.Options.ForkedFrom.CostUSD == 1.5 && now.Spent() == 1.5 && !now.Paused && now.Ending != nil &&
		now.Options.Workspace.Isolated(), "%+v", now.Options)
	testkit.Same(t, "the cost of the day without the other run's", 0, now.Budget.Day.Spent(now.Spent()))
	testkit.Check(t, len(now.Changes.Queue) == 1 && now.Changes.Queue[0].Judge && now.Changes.Last == "", "%+v",
		now.Changes)
	a := now.Agents[1]
	testkit.Check(t, a.Brief == "Work on arbiter/"+run[:8]+"/main of "+run && a.Isolation != "" &&
		strings.Contains(a.ReturnNotice, path.Join("/state/runs", run, "work", "orch-1")), "%+v", a)
	// A session of another make is not copied, and loading it would change the other run's.
	a = now.Agents[2]
	testkit.Check(t, a.MakeSession == "" && a.NewSession && len(forked.Afresh) == 1 && forked.Afresh[0] == "orch-2",
		"%+v begins %v", a, forked.Afresh)
	for i, x := range forked.Sessions {
		testkit.Check(t, x.From == s.Agents[i].SessionID && x.To == now.Agents[i].SessionID && x.From != x.To &&
			x.FromTop == "/src" && x.ToTop == path.Join("/state/runs", run, "work", x.Agent) &&
			x.Cut[0] == "m-"+x.Agent, "%+v", x)
	}
	testkit.Check(t, s.Agents[1].Isolation == "" && s.Options.Run == old, "the state of the other run was changed")
	s.Agents[1].Host = "far"
	testkit.Fails(t, "a fork", testkit.Err(f.Fork(run)), "orch-1 works on host far")
	err := f.Take(journal.Record{Kind: journal.Input, Payload: []byte("{")})
	testkit.Check(t, err != nil && !errors.Is(err, journal.ErrEnough), "%v", err)
}

// TestThoseGoneCostNothing: an input about one agent copies only that agent, not all agents that have ended;
// one more message of the conversation copies no other message.
func TestThoseGoneCostNothing(t *testing.T) {
	s, _ := Apply(State{}, input.Input{At: time.Unix(1, 0),
		Body: input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", Task: "t"}.WithDefaults()}})
	for i := range NamesKept {
		ref := bridge.AgentRef{ID: fmt.Sprintf("orch-%d", i+1), Generation: 1}
		s.Agents = append(s.Agents, &Agent{AgentIdentity: AgentIdentity{AgentRef: ref},
			AgentProcess: AgentProcess{Status: AgentEnded, Dismissed: true}})
	}
	for range RecentMessagesKept {
		s.Conversation.RecentMessages = append(s.Conversation.RecentMessages, &contract.Message{})
	}
	in := input.Input{At: time.Unix(2, 0), Body: byBridge(s.Agents[0].AgentRef, bridge.ToolUse{Tool: "Read"})}
	const rounds = 1000
	perRound := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			f()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	n := perRound(func() { Apply(s, in) })
	testkit.Check(t, n <= 8<<10, "a tool call copies %d bytes", n)
	n = perRound(func() { (&step{State: s}).tellHuman(KindMessage, "a word") })
	testkit.Check(t, n <= 8<<10, "a word copies %d bytes", n)
}
