package tui

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// pumped runs a pump over so many events, each of which takes the time each, until all are added, and
// returns the times of the frames.
func pumped(events int, each time.Duration) (frames []time.Time) {
	box := newMailbox()
	for range events {
		box.push(queuedEvent{e: contract.Event{Body: contract.Accepted{}}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	added, all := 0, make(chan struct{})
	p := &pump{
		box: box, changed: func() <-chan struct{} { return nil }, again: make(chan struct{}, 1),
		motion: func() time.Duration { return 0 }, add: func(queuedEvent) {
			time.Sleep(each)
			if added++; added == events {
				close(all)
			}
		},
		draw: func() { frames = append(frames, time.Now()) },
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	<-all
	synctest.Wait() // the last frame is painted
	cancel()
	wg.Wait()
	return frames
}

// TestPumpKeepsUp: a burst of events, such as a resumed run of many megabytes, is processed as fast as
// possible, not in portions with each frame.
func TestPumpKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if frames := pumped(50_000, 10*time.Microsecond); time.Since(began) > 600*time.Millisecond {
			t.Errorf("events of 500 ms took %s and %d frames", time.Since(began), len(frames))
		}
	})
}

// TestPumpPaints: meanwhile frames are painted as often as usual, and not more often.
func TestPumpPaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frames := pumped(20_000, 50*time.Microsecond)
		for i := 1; i < len(frames); i++ {
			gap := frames[i].Sub(frames[i-1])
			testkit.Check(t, gap >= frame && gap <= 2*frame, "frame %d came %s after the one before", i, gap)
		}
		testkit.Check(t, len(frames) >= 10, "%d frames in a second", len(frames))
	})
}

// TestTraffic bounds what is sent to the terminal, in bytes per second: little while only seconds and
// figures change, more while four agents write and call tools, and almost nothing while all wait for the
// human. The clock is a bubble's, so that the figures are the same on every machine.
func TestTraffic(t *testing.T) {
	testkit.WithoutRace(t)
	const span = 20 // seconds
	for _, tt := range []struct {
		w, h                 int
		scene, still         bool
		timers, busy, waited int // the maximum, in bytes per second
	}{
		{w: 120, h: 40, timers: 5_000, busy: 15_000, waited: 500},
		{w: 120, h: 40, still: true, timers: 1_000, busy: 15_000, waited: 500},
		{w: 200, h: 50, scene: true, timers: 5_000, busy: 25_000, waited: 500}, // tiles show arriving text
	} {
		t.Run(fmt.Sprintf("%dx%d-still=%v", tt.w, tt.h, tt.still), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line := &wire{w: tt.w, h: tt.h}
				screen := line.screen(t)
				host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Login: LoginYes, CWD: "/home/weaver/loom"}}
				f := testkit.Must(New(Options{Screen: screen, Host: host, Theme: "dark", Still: tt.still,
					Begin: &Begin{Task: "Let the shop export invoices"}, Ritual: Ritual{Scene: tt.scene, Human: view.RitualSmith}}))(t)
				ctx, cancel := context.WithCancel(context.Background())
				over := make(chan struct{})
				go func() { defer close(over); _ = f.Run(ctx) }()
				time.Sleep(time.Second)
				synctest.Wait()
				p := host.begunRun()
				p.fourAtWork()
				time.Sleep(2 * time.Second) // sent once: the picture, fading text
				synctest.Wait()
				line.take()
				sent := func(what string, most int, during func()) {
					for range span * 10 {
						during()
						time.Sleep(100 * time.Millisecond)
						synctest.Wait()
					}
					got := len(line.take()) / span
					t.Logf("%s: %d bytes/s", what, got)
					testkit.Check(t, got <= most, "%s: %d bytes a second are sent, want %d at most", what, got, most)
				}
				sent("only timers move", tt.timers, func() {})
				n := 0
				sent("four agents work", tt.busy, func() { n++; p.works(n) })
				for i := range 4 {
					p.endTurn(fmt.Sprint("orch-", i+1), reports("done", "It is written.", true))
				}
				p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Which format?"))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				line.take()
				sent("all wait", tt.waited, func() {})
				f.Leave()
				cancel()
				<-over
			})
		})
	}
}

// works makes each of four agents write a few words, and once a second end a call and start another.
func (p *fakeRun) works(n int) {
	for i := range 4 {
		id, use := fmt.Sprint("orch-", i+1), fmt.Sprint("w", i, "-", n/10)
		p.sink(time.Now(), contract.Event{ID: id, Body: contract.Delta{Text: "and a few words more, "}})
		if n%10 != i*2 {
			continue
		}
		p.does(id, bridge.ToolUse{Tool: "Bash", ToolUse: use,
			Input: fmt.Appendf(nil, `{"command":"go test ./invoice -run Test%d"}`, n)})
		p.does(id, bridge.ToolResult{ToolUse: use, Text: "ok  \tshop/invoice\t0.112s"})
		p.full(id, 20_000+50*n)
	}
}

// heaped measures the memory in use until it is stopped, and returns the maximum.
func heaped() (stop func() uint64) {
	var most atomic.Uint64
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	}()
	return func() uint64 { close(quit); <-done; return most.Load() }
}

// TestFlood: agents write a hundred megabytes a second. A key is still painted, ahead of nearly everything
// else; there are no more paints than frames and keys; the queue is bounded; lost events are reported; and
// memory is released. Figures are only logged: the benchmarks measure them on an idle machine.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	f, screen, host, end := benchFrontend(t, "Weave")
	run := host.begunRun()
	typist := newTypist(screen, func() int { return len(f.root.prompt.input.Text()) })
	const piece, rate = 32 << 10, 100 << 20
	presses := effort[int64](30, 60, 100)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stopHeap := heaped()
	var sent atomic.Int64
	text := strings.Repeat("all that there is to say, and \x1b[31mmore\x1b[0m of it\n", piece/48)
	stop := flood(rate/piece, func(i int) {
		id := fmt.Sprint("t", i)
		body := strings.Clone(text)
		switch i % 4 {
		case 0:
			run.sink(time.Now(), contract.Event{ID: "orch-1", Body: contract.Assistant{Text: body}})
		case 1:
			run.sink(time.Now(),
				contract.Event{ID: "orch-1",
					Body: contract.ToolUse{Tool: "Bash", ToolUse: id, Input: []byte(`{"command":"cat"}`)}})
			run.sink(time.Now(), contract.Event{ID: "orch-1", Body: contract.ToolResult{ToolUse: id, Text: body}})
		case 2:
			run.sink(time.Now(), contract.Event{ID: "orch-1", Body: contract.Delta{Text: body}})
		case 3:
			run.sink(time.Now(),
				contract.Event{ID: "orch-1", Body: contract.Message{MessageID: id, From: "orch-1", To: "arbiter",
					Kind: "progress", Text: body}})
		}
		sent.Add(int64(len(body)))
	})
	first, began := screen.paints.Load(), time.Now()
	var took []time.Duration
	gap := time.NewTicker(20 * time.Millisecond)
	defer gap.Stop()
	for n := 1; n <= int(presses); n++ {
		<-gap.C
		paints := screen.paints.Load()
		took = append(took, typist.press(n))
		others := screen.paints.Load() - paints - 1
		testkit.Check(t, others <= 10, "key %d was painted behind %d other frames", n, others)
		narrated, bytes := waiting(f.box)
		testkit.Check(t, narrated <= mailboxLimit && bytes <= mailboxBytes+piece,
			"%d events that narrate, of %d bytes, wait", narrated, bytes)
	}
	stop()
	paints, elapsed := screen.paints.Load()-first-presses, time.Since(began)
	grown := int64(stopHeap()) - int64(before.HeapAlloc)
	t.Logf("%.0f MB/s; key to frame p50 %.1f ms, p99 %.1f ms; %d other paints in %s; %d MB of heap at most",
		float64(sent.Load())/elapsed.Seconds()/(1<<20), quantile(took, 0.5), quantile(took, 0.99), paints, elapsed,
		grown>>20)
	if frames := int64(elapsed / frame); paints > frames+frames/2+2 {
		t.Errorf("%d paints beside those for keys, in the time of %d frames", paints, frames)
	}
	for ; !f.box.empty(); <-gap.C { // until all of it was received
	}
	var after runtime.MemStats
	kept := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	// Entries that are still being written are released later.
	for late := time.After(time.Minute); kept() > 64<<20; {
		select {
		case <-gap.C:
			continue
		case <-late:
			t.Errorf("%d MB of heap are still in use after the flood", kept()>>20)
		}
		break
	}
	end()
}

// waiting counts the narrating events in a mailbox, and their bytes.
func waiting(m *mailbox) (events, bytes int) {
	for _, e := range m.All() {
		if contract.Narrates(e.e.Body) {
			events, bytes = events+1, bytes+weight(e.e.Body)
		}
	}
	return events, bytes
}

// TestMailboxIsBounded: narrating events are dropped if too much waits, in bytes or in number, and the
// amount is reported; decisions of a run are never dropped.
func TestMailboxIsBounded(t *testing.T) {
	for _, size := range []int{0, 1 << 20} {
		m := newMailbox()
		body := strings.Repeat("x", size)
		const sent = 2 * mailboxLimit
		for i := range sent {
			m.put(time.Now(), contract.Event{ID: "orch-1", Body: contract.ToolResult{Text: body}})
			if i%1000 == 0 {
				m.put(time.Now(), contract.Event{ID: "arbiter", Body: contract.Decision{Decision: "CONTINUE"}})
			}
		}
		if events, bytes := m.Waiting(); events > mailboxLimit+sent/1000 || bytes > mailboxBytes {
			t.Errorf("%d events of %d bytes wait", events, bytes)
		}
		kept, decided, notice := 0, 0, ""
		for more := true; more; {
			var batch []queuedEvent
			batch, more = m.take(batchSize)
			for _, e := range batch {
				switch b := e.e.Body.(type) {
				case contract.ToolResult:
					kept++
				case contract.Decision:
					decided++
				case contract.Notice:
					notice = b.Text
				}
			}
		}
		want := words.Count(sent-kept, "event") + " came faster"
		testkit.Check(t, kept != 0 && decided == sent/1000 && strings.HasPrefix(notice, want),
			"%d kept, %d decisions, and %q is reported, want %q", kept, decided, notice, want)
		_, bytes := m.Waiting()
		testkit.Check(t, bytes == 0, "an empty mailbox counts %d bytes", bytes)
	}
}
