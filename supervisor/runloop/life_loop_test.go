package runloop

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// fakeJournal is a disk with a delay: records are durable when sync says so.
type fakeJournal struct {
	loop *Loop
	wait time.Duration // until a record is durable; negative: never by itself
	fail func(k journal.Kind, payload []byte) error

	forget bool         // keep no records
	used   atomic.Int64 // what a resume would read

	mu      sync.Mutex
	seq     uint64
	durable uint64
	records []journal.Record

	told     []journal.LogContent
	snapshot journal.Record // the last one
}

func (j *fakeJournal) AppendSoon(k journal.Kind, payload []byte) (uint64, error) {
	return j.Append(k, payload)
}

func (j *fakeJournal) Append(k journal.Kind, payload []byte) (uint64, error) {
	if j.fail != nil {
		if err := j.fail(k, payload); err != nil {
			return 0, err
		}
	}
	j.mu.Lock()
	j.seq++
	seq := j.seq
	if !j.forget {
		j.records = append(j.records, journal.Record{Seq: seq, Kind: k, Payload: slices.Clone(payload)})
	}
	wait := j.wait
	j.mu.Unlock()
	switch {
	case wait == 0:
		j.loop.Committed(seq)
	case wait > 0:
		time.AfterFunc(wait, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.durable = max(j.durable, seq) // timers of the same moment ring in any order
			j.loop.Committed(j.durable)
		})
	}
	return seq, nil
}

// AppendEvents keeps the lines of the event log.
func (j *fakeJournal) AppendEvents(lines ...journal.LogContent) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.forget {
		j.told = append(j.told, lines...)
	}
	return nil
}

// Fill is what used says, of 100 MiB.
func (j *fakeJournal) Fill() (used, limit int64) { return j.used.Load(), 100 << 20 }

// Snapshot takes a snapshot at once.
func (j *fakeJournal) Snapshot(encode func() ([]byte, error)) bool {
	raw, err := encode()
	if err != nil {
		panic(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.snapshot = journal.Record{Seq: j.seq, Kind: journal.Snapshot, Payload: raw}
	return true
}

// takes sets how long the disk takes from now on.
func (j *fakeJournal) takes(wait time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wait = wait
}

// sync makes all that was appended durable.
func (j *fakeJournal) sync() { j.loop.Committed(uint64(j.count())) }

func (j *fakeJournal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int(j.seq)
}

// inputs are the recorded inputs, oldest first.
func (j *fakeJournal) inputs(t *testing.T) []input.Body {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []input.Body
	for _, r := range j.records {
		in, err := input.DecodeInput(r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, in.Body)
	}
	return list
}

// liveRun is a loop that runs in a bubble, with a journal, a bridge and a listener.
type liveRun struct {
	t        *testing.T
	loop     *Loop
	port     *fakePort
	recorded *fakeJournal
	ended    chan struct{} // closed when Run has returned; then exit is set
	exit     contract.Exit

	mu     sync.Mutex
	events []contract.Event
}

// live starts a run on a journal. Its agents answer by the port's functions.
func live(t *testing.T, recorded *fakeJournal, port *fakePort, change func(*runconfig.Options)) *liveRun {
	t.Helper()
	n := newLiveRun(t, recorded, port)
	n.begin(change)
	return n
}

func newLiveRun(t *testing.T, recorded *fakeJournal, port *fakePort) *liveRun {
	n := &liveRun{t: t, port: port, recorded: recorded, ended: make(chan struct{})}
	n.loop = NewLoop(policy.Policy{CWD: "/w"}, func(_ time.Time, e contract.Event) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	port.loop, port.live = n.loop, map[string]bridge.AgentRef{}
	recorded.loop = n.loop
	n.loop.Record(recorded)
	return n
}

func (n *liveRun) begin(change func(*runconfig.Options)) { n.beginOn(n.port, change) }

func (n *liveRun) beginOn(port Port, change func(*runconfig.Options)) {
	o := runconfig.Options{Run: testRun, Delimiter: "d", CWD: "/w", HumanPresent: true}
	if change != nil {
		change(&o)
	}
	go func() {
		defer close(n.ended)
		n.exit = n.loop.Run(context.Background(), port, input.Began{Options: o.WithDefaults()})
	}()
	n.t.Cleanup(func() { // for a test that failed halfway
		n.loop.Trouble(errors.New("the test is over"))
		n.loop.Put(input.Signal{Signal: "INT"})
		<-n.ended
		n.port.wg.Wait()
	})
}

// over waits for the end, which must come by itself within some simulated days.
func (n *liveRun) over() contract.Exit {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(30 * 24 * time.Hour):
		n.t.Fatal("the run does not end")
	}
	n.port.wg.Wait()
	return n.exit
}

func (n *liveRun) say(ref, text string) {
	n.loop.Put(input.Command{Channel: input.ChannelStdin,
		Command: contract.Command{Ref: ref, Body: contract.Say{Text: text}}})
}

// hearing are the events of one type so far.
func hearing[B contract.Body](n *liveRun) []B {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []B
	for _, e := range n.events {
		if b, ok := e.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// sent are the messages that the port received, by agent.
func (n *liveRun) sent() []string {
	n.port.mu.Lock()
	defer n.port.mu.Unlock()
	return slices.Clone(n.port.told)
}

// silentPort has agents that start and answer nothing.
func silentPort() *fakePort { return &fakePort{answer: func(*fakePort, bridge.MessageParams) {}} }

// asksBack has an Arbiter that asks the human after each message.
func asksBack() *fakePort {
	return &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
		f.ruled(p, ruling("ADDRESS_HUMAN", "And now?"))
	}}
}

// starts are the processes that were requested.
func (f *fakePort) starts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.born)
}

// alive counts the agents that have a process.
func (f *fakePort) alive() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.live)
}

// TestUnknownFramesAreNoNotices: a frame that the driver does not know is no event of a run; other notices are.
func TestUnknownFramesAreNoNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := live(t, &fakeJournal{}, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		synctest.Wait()
		ref := n.loop.Snapshot().Agents[0].AgentRef
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: "unknown frame", Frame: "system/new"}})
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: "something else"}})
		synctest.Wait()
		if got := hearing[contract.Notice](n); len(got) != 1 || got[0].Text != "something else" {
			t.Errorf("notices %+v", got)
		}
		n.loop.Put(input.Signal{Signal: "TERM"})
		n.over()
	})
}
