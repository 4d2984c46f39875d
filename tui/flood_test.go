package tui

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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
		if others := screen.paints.Load() - paints - 1; others > 10 {
			t.Errorf("key %d was painted behind %d other frames", n, others)
		}
		narrated, bytes := waiting(f.box)
		if narrated > mailboxLimit || bytes > mailboxBytes+piece {
			t.Errorf("%d events that narrate, of %d bytes, wait", narrated, bytes)
		}
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
		if want := words.Count(sent-kept, "event") + " came faster"; kept == 0 || decided != sent/1000 ||
			!strings.HasPrefix(notice, want) {
			t.Errorf("%d kept, %d decisions, and %q is reported, want %q", kept, decided, notice, want)
		}
		if _, bytes := m.Waiting(); bytes != 0 {
			t.Errorf("an empty mailbox counts %d bytes", bytes)
		}
	}
}
