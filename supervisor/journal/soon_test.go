package journal

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// soonRun is a run in memory that counts the commits to its segment and the writes to its event log.
func soonRun(t *testing.T) (r *Run, commits, logged *atomic.Int32) {
	t.Helper()
	commits, logged = new(atomic.Int32), new(atomic.Int32)
	m := newMemFS()
	r = testkit.Must(freshStore(t, m).Create(Meta{Run: testRun, CWD: "/"}, Options{}))(t)
	t.Cleanup(func() { r.Close() })
	m.setFault(func(call, name string) error {
		switch {
		case call == "sync" && strings.HasPrefix(name, "journal-"):
			commits.Add(1)
		case call == "write" && name == LogName:
			logged.Add(1)
		}
		return nil
	})
	synctest.Wait() // the writer waits for something to write
	return r, commits, logged
}

func addSoon(t *testing.T, r *Run, seq uint64) {
	t.Helper()
	got, err := r.AppendSoon(kindOf(seq), payload(seq))
	if err != nil || got != seq {
		t.Fatalf("record %d got number %d: %v", seq, got, err)
	}
}

// addLine adds a line to the event log.
func addLine(t *testing.T, r *Run) {
	t.Helper()
	line := LogContent{Input: r.Durable(), At: time.Now(), Record: []byte(`{}`)}
	testkit.OK(t, r.AppendEvents(line))
}

// TestSoonSharesACommit: an input that is not urgent is durable after SoonDelay, or with an urgent one before that.
func TestSoonSharesACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, commits, _ := soonRun(t)
		addSoon(t, r, 1)
		time.Sleep(SoonDelay / 2)
		synctest.Wait()
		if d, n := r.Durable(), commits.Load(); d != 0 || n != 0 {
			t.Fatalf("before the delay is over: durable up to %d, %d commits", d, n)
		}
		add(t, r, 2, 2)
		synctest.Wait()
		if d, n := r.Durable(), commits.Load(); d != 2 || n != 1 {
			t.Fatalf("after an urgent input: durable up to %d, %d commits, want 2 and 1", d, n)
		}
		addSoon(t, r, 3) // the whole delay begins again
		time.Sleep(SoonDelay - time.Nanosecond)
		synctest.Wait()
		if d, n := r.Durable(), commits.Load(); d != 2 || n != 1 {
			t.Fatalf("just before the second delay is over: durable up to %d, %d commits", d, n)
		}
		addSoon(t, r, 4)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if d, n := r.Durable(), commits.Load(); d != 4 || n != 2 {
			t.Fatalf("after the delay: durable up to %d, %d commits, want 4 and 2", d, n)
		}
		began := time.Now()
		addSoon(t, r, 5)
		syncRun(t, r)
		if took := time.Since(began); took != 0 || r.Durable() != 5 {
			t.Errorf("Sync took %v, and %d are durable", took, r.Durable())
		}
		addSoon(t, r, 6)
		closeRun(t, r)
		if d := r.Durable(); d != 6 {
			t.Errorf("after Close %d are durable, want 6", d)
		}
	})
}

// TestLinesShareAWrite: lines of the event log are written together, SoonDelay after the first of them, however many
// commits there are before that; at once before a snapshot, and at Close.
func TestLinesShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, commits, logged := soonRun(t)
		expect := func(when string, writes, committed int32) {
			t.Helper()
			synctest.Wait()
			if n, c := logged.Load(), commits.Load(); n != writes || c != committed {
				t.Errorf("%s: %d writes to the event log and %d commits, want %d and %d", when, n, c, writes, committed)
			}
		}
		add(t, r, 1, 1)
		expect("after the first input", 0, 1)
		addLine(t, r)
		time.Sleep(SoonDelay / 2)
		add(t, r, 2, 2)
		expect("after a commit before the delay is over", 0, 2)
		addLine(t, r)
		time.Sleep(SoonDelay/2 - time.Nanosecond)
		expect("just before the delay is over", 0, 2)
		time.Sleep(time.Nanosecond)
		expect("after the delay", 1, 2)
		addLine(t, r)
		time.Sleep(SoonDelay)
		expect("after another delay", 2, 2)
		addLine(t, r)
		if !r.Snapshot(func() ([]byte, error) { return nil, nil }) {
			t.Error("no snapshot was begun")
		}
		expect("before a snapshot", 3, 3)
		addLine(t, r)
		closeRun(t, r)
		expect("at the end", 4, 3)
	})
}

// TestLinesAreNotDelayedTwice: the delay of the first line counts, even if other lines are added while a commit keeps
// the writer busy.
func TestLinesAreNotDelayedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		r := testkit.Must(freshStore(t, m).Create(Meta{Run: testRun, CWD: "/"}, Options{}))(t)
		add(t, r, 1, 1)
		syncRun(t, r)
		var slow atomic.Bool
		var logged atomic.Int32
		m.setFault(func(call, name string) error {
			if call == "sync" && strings.HasPrefix(name, "journal-") && slow.Load() {
				time.Sleep(2 * SoonDelay)
			}
			if call == "write" && name == LogName {
				logged.Add(1)
			}
			return nil
		})
		addLine(t, r)
		slow.Store(true)
		add(t, r, 2, 2) // its commit takes twice the delay
		time.Sleep(SoonDelay + time.Nanosecond)
		addLine(t, r)
		time.Sleep(SoonDelay - time.Nanosecond)
		synctest.Wait()
		if n := logged.Load(); n != 1 {
			t.Errorf("%d writes to the event log after the commit, want 1", n)
		}
		closeRun(t, r)
	})
}
