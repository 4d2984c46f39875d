package supervisor

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

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
	dir := t.TempDir()
	store := testkit.Must(journal.OpenStore(dir))(t)
	t.Cleanup(func() { store.Close() })
	return onDisk{t, store, dir}
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
	if err != nil || len(h.Damage) > 0 || h.Torn > 0 {
		d.t.Fatalf("%v, %+v", err, h)
	}
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
			for lines := starts[max(snapshot-2, 0)]; lines <= starts[cut]; lines += 3 {
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
		if !run.Snapshot(s.Encode) {
			t.Fatal("no snapshot was taken")
		}
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
	if err != nil {
		t.Fatalf("snapshot after %d, %d lines: %v", snapshot, lines, err)
	}
	testkit.OK(t, run.Close())
	if a, b := fingerprint(t, &states[len(inputs)]), fingerprint(t, &got); a != b {
		t.Fatalf("snapshot after %d of %d inputs: another state", snapshot, len(inputs))
	}
	want := whole[:starts[len(inputs)]]
	have := d.entries()
	if len(have) != len(want) {
		t.Fatalf("snapshot after %d of %d inputs, %d lines told: the log has %d lines of %d", snapshot, len(inputs), lines, len(have), len(want))
	}
	for i := range want {
		if string(have[i].Line) != string(want[i].Line) || string(have[i].Record) != string(want[i].Record) || have[i].Input != want[i].Input {
			t.Fatalf("line %d:\n%s%s\n%s%s", i+1, have[i].Line, have[i].Record, want[i].Line, want[i].Record)
		}
	}
}
