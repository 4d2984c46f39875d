package history

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// logFile is a log in memory.
type logFile struct{ *bytes.Reader }

func (f logFile) Size() (int64, error) { return f.Reader.Size(), nil }
func (f logFile) Close() error         { return nil }

// logOf is the event log of events a second apart.
func logOf(t testing.TB, list []contract.Event) *eventlog.Log {
	t.Helper()
	var raw []byte
	var chain eventlog.Chain
	for i, e := range list {
		at := someTime.Add(time.Duration(i) * time.Second)
		line, err := contract.EncodeLine(nil, uint64(i+1), at, e)
		if err == nil {
			raw, err = chain.Append(raw, eventlog.Content{Input: 1, At: at, Line: line})
		}
		if err == nil {
			raw, err = chain.Append(raw, eventlog.Content{Input: 1, At: at, Record: []byte(`{"kind":"origin"}`)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return eventlog.New(logFile{bytes.NewReader(raw)})
}

// lived is what two agents do, with outcomes, changed words and hostile ones.
func lived(n int) (list []contract.Event) {
	for i := range n {
		id := fmt.Sprint("orch-", i%2)
		list = append(list,
			contract.Event{ID: id, Body: contract.ToolUse{Tool: "Read", ToolUse: fmt.Sprint("t", i), Input: []byte(`{"file_path":"a \"quoted\" path"}`)}},
			contract.Event{ID: contract.Human, Body: contract.Message{MessageID: fmt.Sprint("m", i), From: contract.Human, To: id, Kind: "note", Text: fmt.Sprint("word\x1b[31m ", i)}},
			contract.Event{ID: contract.Human, Body: contract.Message{MessageID: fmt.Sprint("m", i), From: contract.Human, To: id, Kind: "note", Text: fmt.Sprint("changed ", i), Edited: true}},
			contract.Event{ID: id, Body: contract.ToolResult{ToolUse: fmt.Sprint("t", i), Text: "a\nresult \u202e hidden"}},
			contract.Event{ID: id, Body: contract.Delivered{MessageID: fmt.Sprint("m", i)}})
	}
	return list
}

// TestThePastIsReadWhereItLies: a chronicle whose first part lies in a log has the same
// entries in each thread, and finds the same, as one that was told all of it.
func TestThePastIsReadWhereItLies(t *testing.T) {
	list := lived(40)
	log := logOf(t, list)
	want := open(t, Options{Dir: t.TempDir()})
	for i, e := range list {
		want.Add(someTime.Add(time.Duration(i)*time.Second), e)
	}
	recent, whole, err := Recent(t.Context(), log, 60)
	if err != nil || whole || len(recent) != 60 {
		t.Fatalf("%d recent events, whole %v, %v", len(recent), whole, err)
	}
	first := open(t, Options{Dir: t.TempDir()})
	first.Past(log)
	for _, e := range recent {
		if _, err := first.Recall(e); err != nil {
			t.Fatal(err)
		}
	}
	have := open(t, Options{Dir: t.TempDir()})
	have.Past(log)
	if _, err := log.Each(t.Context(), eventlog.Position{}, func(e eventlog.Entry) error {
		if e.Line == nil {
			return nil
		}
		_, err := have.Recall(e)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, e := range lived(3) {
		at := someTime.Add(time.Duration(len(list)+i) * time.Second)
		want.Add(at, e)
		first.Add(at, e)
	}
	if at := have.CatchUp(first, len(recent)); at != first.len() {
		t.Fatalf("caught up to %d of %d", at, first.len())
	}
	version := first.Version()
	have.Succeed(first)
	if have.Version() <= version {
		t.Errorf("version %d after %d", have.Version(), version)
	}
	all := map[string][2]*Thread{"all": {want.All(), have.All()}, "talk": {want.Talk(), have.Talk()}, "orch-1": {want.Agent("orch-1"), have.Agent("orch-1")}}
	for name, f := range map[string]Filter{"kind": {Kinds: []string{"tool_result"}}, "text": {Text: "WORD 7"}, "hidden": {Text: "result  hidden"}, "agent": {Agent: "orch-0"}} {
		w, h := want.Filter(f), have.Filter(f)
		w.Follow(t.Context())
		h.Follow(t.Context())
		all[name] = [2]*Thread{w, h}
	}
	for name, th := range all {
		if th[0].Len() != th[1].Len() {
			t.Errorf("%s: %d entries, want %d", name, th[1].Len(), th[0].Len())
			continue
		}
		for i := range th[0].Len() {
			w, _ := th[0].Entry(i)
			h, ok := th[1].Entry(i)
			if diff := cmp.Diff(w, h); diff != "" || !ok {
				t.Fatalf("%s, entry %d (-told +read):\n%s", name, i, diff)
			}
			if n, _ := th[1].Number(i); th[1].Place(n) != i {
				t.Errorf("%s: entry %d is found at %d", name, i, th[1].Place(n))
			}
		}
	}
	for _, text := range []string{"word 3", "changed 39", `a "quoted" path`, "nowhere"} {
		for _, back := range []bool{false, true} {
			from := 0
			if back {
				from = want.All().Len()
			}
			w, wok := want.Find(t.Context(), want.All(), text, from, back)
			if h, ok := have.Find(t.Context(), have.All(), text, from, back); h != w || ok != wok {
				t.Errorf("%q (back %v) is found at %d, %v, want %d, %v", text, back, h, ok, w, wok)
			}
		}
	}
	if lost, err := have.Lost(); lost != 0 || err != nil {
		t.Errorf("lost %d, %v", lost, err)
	}
}

func TestRecentIsAllOfAShortLog(t *testing.T) {
	list := lived(2)
	recent, whole, err := Recent(t.Context(), logOf(t, list), len(list))
	if err != nil || !whole || len(recent) != len(list) || recent[0].N != 1 {
		t.Errorf("%d events, whole %v, %v", len(recent), whole, err)
	}
	if recent, whole, err = Recent(t.Context(), logOf(t, nil), 5); err != nil || !whole || len(recent) != 0 {
		t.Errorf("of nothing: %d events, whole %v, %v", len(recent), whole, err)
	}
}
