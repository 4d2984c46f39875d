package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func newGroup() *Group {
	return NewGroup(func() (*journal.EventLog, error) { return nil, errors.New("none") },
		func() *supervisor.State { return &supervisor.State{} }, slog.New(slog.DiscardHandler))
}

// TestClientReceivesAllEventsAndTheEnd: a client that subscribes late gets the events it asks for, and how the run
// ended. End waits for that.
func TestClientReceivesAllEventsAndTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		sink := g.publish
		sink(time.Now(), contract.Event{Body: contract.Takeover{State: "open"}})
		var received []string
		go g.Subscribe(t.Context(), control.SubscribeParams{Since: 0, State: true}, func(part any) error {
			received = append(received, fmt.Sprintf("%T", part))
			return nil
		})
		synctest.Wait()
		sink(time.Now(), contract.Event{Body: contract.Takeover{State: "ended"}})
		testkit.Check(t, g.Count() == 1 && g.Last() == 2, "%d clients, %d events", g.Count(), g.Last())
		g.End(control.RunEnded{Text: "complete"})
		want := []string{"control.StateChange", "control.Events", "control.Events", "control.RunEnded"}
		testkit.Check(t, slices.Equal(received, want) && g.Count() == 0, "heard %q, %d clients are left", received,
			g.Count())
	})
}

// TestStuckClient: the end of a run waits a limited time for a client that does not read.
func TestStuckClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.Subscribe(ctx, control.SubscribeParams{State: true}, func(any) error {
			<-ctx.Done()
			return ctx.Err()
		})
		synctest.Wait()
		began := time.Now()
		g.End(control.RunEnded{})
		testkit.Same(t, "waited for", lastEvents, time.Since(began))
	})
}

// TestAwaitFirst: the first client is waited for only if there was none yet.
func TestAwaitFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		began, absent := time.Now(), 0
		g.AwaitFirst(time.Minute, func() { absent++ })
		waited := time.Since(began)
		testkit.Check(t, waited == time.Minute && absent == 1, "nobody came: waited for %s, %d calls", waited, absent)
		g.Subscribe(t.Context(), control.SubscribeParams{State: true}, func(any) error { return errors.New("gone") })
		began = time.Now()
		g.AwaitFirst(time.Minute, func() { absent++ })
		waited = time.Since(began)
		testkit.Check(t, waited == 0 && absent == 1, "one had come: waited for %s, %d calls", waited, absent)
	})
}

func agent(id string, status supervisor.AgentStatus) *supervisor.Agent {
	a := new(supervisor.Agent)
	a.Status, a.AgentRef = status, bridge.AgentRef{ID: id, Generation: 1}
	return a
}

// TestChanges shows that a client has the complete state after each change, and is sent only what changed.
func TestChanges(t *testing.T) {
	one := &supervisor.State{}
	one.Options.Run, one.Budget.Runtime.Began = "run", time.Unix(1000, 0).UTC()
	one.Agents = []*supervisor.Agent{agent("arbiter", supervisor.AgentReady), agent("orch-1", supervisor.AgentBusy)}
	one.Question.Open = []supervisor.QuestionPart{{Text: "which <one>?"}}
	two := new(supervisor.State)
	*two = *one
	two.Paused, two.Question.Open = true, nil
	three := new(supervisor.State)
	*three = *two
	three.Agents = []*supervisor.Agent{
		one.Agents[0],
		agent("orch-1", supervisor.AgentReady),
		agent("orch-2", supervisor.AgentBusy),
	}
	four := new(supervisor.State)
	*four = *three
	four.Agents = three.Agents[:2]
	var s StateSender
	var r StateReceiver
	for i, x := range []struct {
		state   *supervisor.State
		members int // number sent; negative: all
	}{{one, -1}, {two, 2}, {three, 2}, {four, 1}} {
		c, changed, err := s.Change(x.state)
		testkit.Need(t, err == nil && changed, "%d: changed %v, %v", i, changed, err)
		testkit.Check(t, x.members < 0 || len(c.Members) == x.members, "%d: %d members were sent", i, len(c.Members))
		wire := testkit.Must(json.Marshal(c))(t)
		var got control.StateChange
		testkit.OK(t, json.Unmarshal(wire, &got))
		state := testkit.Must(r.Apply(got))(t)
		testkit.Check(t, reflect.DeepEqual(encodedState(t, state), encodedState(t, x.state)),
			"%d: the client has\n%s\ninstead of\n%s", i, encodedState(t, state), encodedState(t, x.state))
	}
	_, changed, err := s.Change(four)
	testkit.Check(t, !changed && err == nil, "the same state again: changed %v, %v", changed, err)
}

func encodedState(t *testing.T, s *supervisor.State) string {
	t.Helper()
	return string(testkit.Must(json.Marshal(s))(t))
}

// TestOtherVersion shows that the state of another version is refused.
func TestOtherVersion(t *testing.T) {
	var refused *supervisor.VersionError
	_, err := new(StateReceiver).Apply(control.StateChange{Version: supervisor.StateVersion + 1})
	testkit.Check(t, errors.As(err, &refused), "%v", err)
}

// gatedWriter is a reader that does not read until its gate opens.
type gatedWriter struct {
	gate chan struct{}
	bytes.Buffer
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

func TestSlowReaderNeverHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		l := NewWriter(w, 500, func(err error) { t.Errorf("lost: %v", err) })
		put := func(b contract.Body) { l.Put(time.Now(), contract.Event{ID: "arbiter", Body: b}) }
		put(contract.Question{Text: "first"})
		synctest.Wait() // now the writer is stuck on it, or has it in its buffer
		const flood = 1500
		for range flood {
			put(contract.Assistant{Text: "on and on"})
		}
		put(contract.Question{Text: "still there?"})
		put(contract.Result{Status: contract.StatusComplete})
		close(w.gate)
		testkit.OK(t, l.Close(time.Minute))
		kept := strings.Count(w.String(), `"event":"assistant"`)
		testkit.Check(t, kept < flood && kept >= 490, "%d of %d kept", kept, flood)
		for _, want := range []string{`"event":"question"`, `"event":"result"`, "events left out here"} {
			testkit.Check(t, strings.Contains(w.String(), want), "%s was left out", want)
		}
		// Lines are numbered as they are written, so the numbers have no gaps.
		n := uint64(0)
		for line := range strings.Lines(w.String()) {
			n++
			if l, err := contract.DecodeLine([]byte(line)); err != nil || l.Seq != n || l.V != contract.Version {
				t.Fatalf("line %d has v %d, seq %d: %v", n, l.V, l.Seq, err)
			}
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestLostReaderIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		l := NewWriter(failingWriter{errors.New("gone")}, 500, func(err error) { told = append(told, err) })
		for range 10 {
			l.Put(time.Now(), contract.Event{ID: "arbiter", Body: contract.Question{Text: "?"}})
		}
		err := l.Close(time.Minute)
		testkit.Check(t, err != nil && err.Error() == "gone", "close: %v", err)
		testkit.Same(t, "told", 1, len(told))
	})
}

func TestStuckReaderDoesNotHoldTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		l := NewWriter(w, 500, func(error) {})
		l.Put(time.Now(), contract.Event{ID: "arbiter", Body: contract.Question{Text: strings.Repeat("?", 100_000)}})
		began := time.Now()
		if err := l.Close(10 * time.Second); !errors.Is(err, ErrStuck) || time.Since(began) != 10*time.Second {
			t.Errorf("close: %v after %s", err, time.Since(began))
		}
		close(w.gate)
		<-l.done
	})
}
