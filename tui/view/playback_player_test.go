package view

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

var playbackBegan = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

func atPlayback(seconds int) time.Time {
	return playbackBegan.Add(time.Duration(seconds) * time.Second)
}

// memory is a log in memory.
type memory struct{ *bytes.Reader }

func (m memory) Size() (int64, error) { return m.Reader.Size(), nil }
func (m memory) Close() error         { return nil }

type playbackTimedEvent struct {
	second int
	id     string
	body   contract.Body
}

func logOf(t *testing.T, list []playbackTimedEvent) *journal.EventLog {
	t.Helper()
	var raw []byte
	var chain journal.LogChain
	for i, e := range list {
		line, err := contract.EncodeLine(nil, uint64(i+1), atPlayback(e.second), contract.Event{ID: e.id, Body: e.body})
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: 1, At: atPlayback(e.second), Line: line})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return journal.NewLog(memory{bytes.NewReader(raw)})
}

// notices are events at the given seconds, each with its second as its text.
func notices(seconds ...int) (list []playbackTimedEvent) {
	for _, s := range seconds {
		list = append(list, playbackTimedEvent{s, "supervisor", contract.Notice{Text: fmt.Sprint(s)}})
	}
	return list
}

// recordingStage keeps what it receives.
type recordingStage struct {
	mu       sync.Mutex
	received []string
}

// taken returns what it received.
func (a *recordingStage) taken() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.received)
}

func (a *recordingStage) Add(ctx context.Context, _ time.Time, e contract.Event) bool {
	text := e.Body.EventName()
	if n, ok := e.Body.(contract.Notice); ok {
		text = n.Text
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received = append(a.received, text)
	return ctx.Err() == nil
}

func (a *recordingStage) Forget(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received = nil
	return ctx.Err() == nil
}

// playing plays a log in a bubble.
func playing(t *testing.T, list []playbackTimedEvent, act func(p *Player, received func(want ...string))) {
	synctest.Test(t, func(t *testing.T) {
		p, a := NewPlayer("run-1", logOf(t, list)), &recordingStage{}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { defer close(over); p.Play(ctx, a) }()
		act(p, func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got := a.taken(); !slices.Equal(got, want) {
				t.Errorf("%q was told, not %q", got, want)
			}
		})
		cancel()
		<-over
	})
}

// TestPace: events arrive at their original pace, or at a multiple of it, and long pauses are shortened.
func TestPace(t *testing.T) {
	playing(t, notices(0, 1, 2, 1000, 1001, 1010, 1020), func(p *Player, received func(...string)) {
		received("0")
		time.Sleep(time.Second)
		received("0", "1")
		time.Sleep(500 * time.Millisecond)
		if got := p.Now(); !got.Equal(atPlayback(1).Add(500 * time.Millisecond)) {
			t.Errorf("half a second later it is %v", got)
		}
		time.Sleep(500 * time.Millisecond)
		received("0", "1", "2")
		time.Sleep(longestPause)
		received("0", "1", "2", "1000")
		p.Faster(1)
		p.Faster(1)
		time.Sleep(time.Second / 8)
		received("0", "1", "2", "1000", "1001")
		time.Sleep(19 * time.Second / 8)
		received("0", "1", "2", "1000", "1001", "1010", "1020")
		if s := p.Status(); !s.Ended || s.Speed != 8 || !s.At.Equal(atPlayback(1020)) {
			t.Errorf("at the end: %+v", s)
		}
		p.Faster(-9)
		p.Faster(9)
		if s := p.Status(); s.Speed != 64 {
			t.Errorf("the highest speed is %d", s.Speed)
		}
	})
}

// TestPause: during a pause nothing is reported, and the time stands still.
func TestPause(t *testing.T) {
	playing(t, notices(0, 1, 2), func(p *Player, received func(...string)) {
		time.Sleep(250 * time.Millisecond)
		p.Pause()
		time.Sleep(3 * time.Hour)
		received("0")
		if s := p.Status(); !s.Paused || !s.At.Equal(atPlayback(0).Add(250*time.Millisecond)) {
			t.Errorf("%+v", s)
		}
		p.Jump(1)
		received("0", "1", "2")
		p.Jump(-1)
		received("0")
		p.Pause()
		time.Sleep(2 * time.Second)
		received("0", "1", "2")
	})
}

// TestMoments: events with the same time are reported together, also during a pause.
func TestMoments(t *testing.T) {
	playing(t, notices(0, 0, 1, 1, 2), func(p *Player, received func(...string)) {
		received("0", "0")
		p.Pause()
		p.Begin()
		received("0", "0")
		p.Jump(1)
		received("0", "0", "1", "1", "2")
	})
}

// TestJumps: forwards and back, over a pause, to the beginning and to the end, also from the end.
func TestJumps(t *testing.T) {
	playing(t, notices(0, 5, 9, 30, 5000, 5003), func(p *Player, received func(...string)) {
		received("0")
		p.Jump(1)
		received("0", "5", "9")
		p.Jump(1)
		received("0", "5", "9", "30")
		p.Jump(1)
		received("0", "5", "9", "30", "5000", "5003")
		p.Jump(-1)
		received("0", "5", "9", "30")
		p.Jump(-1)
		received("0", "5", "9")
		p.End()
		received("0", "5", "9", "30", "5000", "5003")
		if s := p.Status(); !s.Ended {
			t.Errorf("it is not at the end: %+v", s)
		}
		p.Jump(-1)
		received("0", "5", "9", "30")
		p.Begin()
		received("0")
		time.Sleep(2 * time.Second)
		received("0", "5")
	})
}

// TestState: the state results from the events so far, also after a jump back.
func TestState(t *testing.T) {
	playing(t, []playbackTimedEvent{
		{0, "supervisor", contract.Session{Session: "run-1", CWD: "/loom", Permissions: "ask"}},
		{0, "arbiter", contract.Spawn{Name: "Arbiter", Generation: 1}},
		{0, "human", contract.Message{From: "human", To: "arbiter", Kind: "task", Text: "Teach the loom"}},
		{1, "supervisor", contract.State{From: "idle", To: "executing"}},
		{1, "orch-1", contract.Spawn{Name: "Orchestrator I", Mode: "developer", Generation: 1}},
		{2, "orch-1", contract.Assistant{Text: "I begin."}},
		{3, "orch-1", contract.Context{Tokens: 10, Window: 100, Pct: 10}},
		{4, "orch-1", contract.Turn{CostUSD: 0.5, Outcome: "done"}},
		{4, "supervisor", contract.Plan{Steps: []contract.Step{{Text: "Read", Status: "done"}}}},
		{5, "orch-1", contract.Handoff{From: "orch-1", To: "orch-2"}},
		{6, "orch-1", contract.Done{}},
		{7, "supervisor", contract.Result{Status: "complete", CostUSD: 0.5}},
	}, func(p *Player, received func(...string)) {
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s := p.Snapshot()
		if s.Options.CWD != "/loom" || s.Task.Text != "Teach the loom" || len(s.Agents) != 2 {
			t.Fatalf("%+v", s.Options)
		}
		if o := s.Agents[1]; o.Status != supervisor.AgentBusy || o.Mode != "developer" || !o.Works() ||
			o.Role != supervisor.RoleOrchestrator {
			t.Errorf("orch-1 is %+v", o)
		}
		p.End()
		synctest.Wait()
		before, s := s, p.Snapshot()
		if o := s.Agents[1]; !o.Gone() || o.CostUSD != 0.5 || o.Context.Pct != 10 || s.Ending == nil ||
			len(s.Task.Plan) != 1 {
			t.Errorf("at the end orch-1 is %+v", o)
		}
		if before.Agents[1].Status != supervisor.AgentBusy {
			t.Error("an earlier state has changed")
		}
		p.Begin()
		synctest.Wait()
		if s := p.Snapshot(); len(s.Agents) != 1 || s.Ending != nil || s.Budget.CostUSD != 0 {
			t.Errorf("at the beginning there are %d agents", len(s.Agents))
		}
	})
}

// TestUnreadable: a line that is not an event ends the playback with an error, and jumping back is
// possible.
func TestUnreadable(t *testing.T) {
	var raw []byte
	var chain journal.LogChain
	for i, line := range []string{`{"v":1,"seq":1,"event":"notice","id":"supervisor","text":"a"}`,
		`{"v":1,"event":7}`} {
		var err error
		if raw, err = chain.Append(raw, journal.LogContent{At: atPlayback(i), Line: []byte(line)}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, a := NewPlayer("run-1", journal.NewLog(memory{bytes.NewReader(raw)})), &recordingStage{}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { defer close(over); p.Play(ctx, a) }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s := p.Status(); s.Err == nil || !s.Ended || len(a.taken()) != 1 {
			t.Errorf("%+v, %q", s, a.taken())
		}
		p.Begin()
		synctest.Wait()
		if s := p.Status(); s.Err != nil || s.Ended {
			t.Errorf("after going back: %+v", s)
		}
		cancel()
		<-over
	})
}
