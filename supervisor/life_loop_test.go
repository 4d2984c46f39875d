package supervisor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// fakeJournal is a disk that takes its time: records are durable when sync says so.
type fakeJournal struct {
	loop *Loop
	wait time.Duration // until a record is durable; negative: never by itself
	fail func(k journal.Kind, payload []byte) error

	mu      sync.Mutex
	records []journal.Record
}

func (j *fakeJournal) Append(k journal.Kind, payload []byte) (uint64, error) {
	if j.fail != nil {
		if err := j.fail(k, payload); err != nil {
			return 0, err
		}
	}
	j.mu.Lock()
	seq := uint64(len(j.records) + 1)
	j.records = append(j.records, journal.Record{Seq: seq, Kind: k, Payload: slices.Clone(payload)})
	j.mu.Unlock()
	switch {
	case j.wait == 0:
		j.loop.Committed(seq)
	case j.wait > 0:
		time.AfterFunc(j.wait, func() { j.loop.Committed(seq) })
	}
	return seq, nil
}

// sync makes all that was appended durable.
func (j *fakeJournal) sync() { j.loop.Committed(uint64(j.count())) }

func (j *fakeJournal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.records)
}

// facts are the recorded facts of a type, oldest first.
func (j *fakeJournal) facts(t *testing.T) []Fact {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Fact
	for _, r := range j.records {
		in, err := DecodeInput(r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, in.Fact)
	}
	return list
}

// life is a loop that runs in a bubble, with a journal, a bridge and a listener.
type life struct {
	t     *testing.T
	loop  *Loop
	port  *fakePort
	book  *fakeJournal
	ended chan struct{} // closed when Run has returned; then exit is set
	exit  contract.Exit

	mu     sync.Mutex
	events []contract.Event
}

// live starts a run on a journal. Its agents answer by the port's functions.
func live(t *testing.T, book *fakeJournal, port *fakePort, change func(*Options)) *life {
	t.Helper()
	n := &life{t: t, port: port, book: book, ended: make(chan struct{})}
	n.loop = NewLoop(policy.Policy{Mode: policy.ModeAsk, CWD: "/w"}, func(_ time.Time, e contract.Event) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	port.loop, port.live = n.loop, map[string]bridge.AgentRef{}
	book.loop = n.loop
	n.loop.Record(book)
	o := Options{Run: testRun, Delimiter: "d", CWD: "/w", HumanPresent: true}
	if change != nil {
		change(&o)
	}
	go func() {
		defer close(n.ended)
		n.exit = n.loop.Run(context.Background(), port, Began{Options: o.WithDefaults()})
	}()
	t.Cleanup(func() { // of a test that failed halfway
		n.loop.Trouble(errors.New("the test is over"))
		n.loop.Put(Signalled{Signal: "INT"})
		<-n.ended
		port.wg.Wait()
	})
	return n
}

// over waits for the end, which must come by itself within some simulated days.
func (n *life) over() contract.Exit {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(30 * 24 * time.Hour):
		n.t.Fatal("the run does not end")
	}
	n.port.wg.Wait()
	return n.exit
}

func (n *life) say(ref, text string) {
	n.loop.Put(Commanded{contract.Command{Ref: ref, Body: contract.Say{Text: text}}})
}

// hearing are the events of one type so far.
func hearing[B contract.Body](n *life) []B {
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

// sent are the messages the port was given, by their agent.
func (n *life) sent() []string {
	n.port.mu.Lock()
	defer n.port.mu.Unlock()
	return slices.Clone(n.port.told)
}

// silentPort has agents that come up and say nothing.
func silentPort() *fakePort { return &fakePort{answer: func(*fakePort, bridge.MessageParams) {}} }

// asksBack has an Arbiter that asks the human after each message.
func asksBack() *fakePort {
	return &fakePort{answer: func(f *fakePort, p bridge.MessageParams) { f.ruled(p, ruling("ADDRESS_HUMAN", "And now?")) }}
}
