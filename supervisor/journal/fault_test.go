package journal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// troubles collects what a run reports.
type troubles struct {
	mu   sync.Mutex
	told []error
	at   []time.Time
	upTo uint64
}

func (tr *troubles) options() Options {
	return Options{
		Committed: func(upTo uint64) {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.upTo = upTo
		},
		Trouble: func(err error) {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.told, tr.at = append(tr.told, err), append(tr.at, time.Now())
		},
	}
}

// last returns how many reports there were, and the present trouble.
func (tr *troubles) last() (reports int, present error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.told) == 0 {
		return 0, nil
	}
	return len(tr.told), tr.told[len(tr.told)-1]
}

// failing is a call that fails until it is repaired.
type failing struct {
	mu  sync.Mutex
	err error
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) on(calls ...string) func(call, name string) error {
	return func(call, name string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, c := range calls {
			if c == call {
				return f.err
			}
		}
		return nil
	}
}

func TestFullDiskIsRetried(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		calls []string
	}{
		{"no space", syscall.ENOSPC, []string{"write"}},
		{"quota", syscall.EDQUOT, []string{"write"}},
		{"short write", &errPartial{130, syscall.ENOSPC}, []string{"write"}},
		{"no space, and it cannot be cut back", &errPartial{130, syscall.ENOSPC}, []string{"write", "truncate"}},
		{"file too long, no other", syscall.EFBIG, []string{"write", "open"}},
		{"fsync without space", syscall.ENOSPC, []string{"sync"}},
		{"read-only", syscall.EROFS, []string{"write", "truncate", "open", "rename", "unlink", "syncdir"}},
		{"disk gone", syscall.EIO, []string{"write", "truncate", "open", "sync", "rename", "unlink", "syncdir"}},
		{"run is not in its place", ErrVanished, []string{"present"}},
		{"segment is not in its place", ErrVanished, []string{"holds"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tr troubles
				var fail failing
				m, _, r := runInMemory(t, tr.options())
				addBatches(t, r, 10, 5)
				fail.set(c.err)
				m.setFault(fail.on(c.calls...))
				add(t, r, 11, 20)
				time.Sleep(10 * time.Second)
				add(t, r, 21, 25)
				time.Sleep(time.Minute)
				n, err := tr.last()
				testkit.Check(t, errors.Is(err, c.err) && n <= 2, "trouble %v, told %d times, want %v", err, n, c.err)
				testkit.Same(t, "durable", 10, r.Durable())
				testkit.Same(t, "committed", 10, tr.upTo)
				if records, bytes := r.Pending(); records != 15 || bytes != 15*(frameHead+100) {
					t.Errorf("%d records of %d bytes are pending", records, bytes)
				}
				fail.set(nil)
				mended := time.Now()
				syncRun(t, r)
				d := time.Since(mended)
				testkit.Check(t, d <= time.Second, "it took %v to notice that it is over", d)
				synctest.Wait()
				_, err = tr.last()
				testkit.Check(t, err == nil, "trouble did not end: %v", err)
				closeRun(t, r)
				checkAfterCrash(t, m, 25, true)
			})
		})
	}
}

// TestFailedSyncIsNeverTrusted: after a failed fsync nothing more is written to that segment, and what was not
// durable is written again, at once.
func TestFailedSyncIsNeverTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr troubles
		m, _, r := runInMemory(t, tr.options())
		addBatches(t, r, 10, 5)
		failTimes(m, "sync", segmentName(1), 1, syscall.EIO)
		began := time.Now()
		addBatches(t, r, 20, 10)
		testkit.Same(t, "it took", 0, time.Since(began))
		synctest.Wait()
		n, err := tr.last()
		testkit.Check(t, err == nil && n == 2 && errors.Is(tr.told[0], syscall.EIO), "told %v", tr.told)
		m.mu.Lock()
		from := len(m.log)
		m.mu.Unlock()
		addBatches(t, r, 40, 10)
		for _, o := range m.log[from:] {
			if h := m.nodes[o.node]; o.kind == "write" && h == segmentNode(m, 1) {
				t.Error("the failed segment was written to again")
			}
		}
		closeRun(t, r)
	})
}

func segmentNode(m *memFS, number int) *memNode {
	runs := m.nodes[m.nodes[0].entries[runsName]]
	run := m.nodes[runs.entries[testRun]]
	return m.nodes[run.entries[segmentName(number)]]
}

func TestCloseGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail failing
		fail.set(syscall.ENOSPC)
		m, s, r := runInMemory(t, Options{})
		addBatches(t, r, 5, 5)
		m.setFault(fail.on("write"))
		add(t, r, 6, 8)
		began := time.Now()
		err := r.Close()
		testkit.Fails(t, "close", err, syscall.ENOSPC, "3 records")
		d := time.Since(began)
		testkit.Check(t, d <= 6*time.Second, "close took %v", d)
		testkit.Fails(t, "sync after that", r.Sync(t.Context()), ErrClosed)
		testkit.Works(t, "second close", r.Close())
		m.setFault(nil)
		r2, rec, err := s.Open(testRun, 0, Options{}, resumeTest) // the lock is free
		testkit.Check(t, err == nil && rec.Records == 5 && !rec.Harmed(), "open: %v, %+v", err, rec)
		closeRun(t, r2)
	})
}

// TestSlowDisk: if an fsync takes 5 s, only callers that ask to wait do.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, r := runInMemory(t, Options{})
		m.setFault(func(call, _ string) error {
			if call == "sync" {
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		began := time.Now()
		add(t, r, 1, 1)
		synctest.Wait() // the writer is in the fsync
		add(t, r, 2, 1000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		testkit.Check(t, r.Durable() == 0 && time.Since(began) == 0, "%d durable after %v", r.Durable(),
			time.Since(began))
		testkit.Fails(t, "sync within a second", r.Sync(ctx), context.DeadlineExceeded)
		testkit.Fails(t, "update within a second", r.Update(ctx, func(*Meta) {}), context.DeadlineExceeded)
		syncRun(t, r)
		testkit.Same(t, "two groups took", 10*time.Second, time.Since(began))
		closeRun(t, r)
	})
}

// TestHangingDisk: a disk that never answers does not block Close for ever.
func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s, r := runInMemory(t, Options{})
		answer := make(chan struct{})
		m.setFault(func(call, _ string) error {
			if call == "sync" {
				<-answer
			}
			return nil
		})
		add(t, r, 1, 1)
		testkit.Fails(t, "close", r.Close(), ErrStuck)
		_, _, err := s.Open(testRun, 0, Options{}, resumeTest)
		testkit.Check(t, isHeld(err), "a second owner while the first may still write: %v", err)
		close(answer)
		<-r.done
		testkit.Same(t, "the record was not written in the end", 1, r.Durable())
	})
}

func isHeld(err error) bool {
	var held *HeldError
	return errors.As(err, &held)
}

func TestPendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail failing
		fail.set(syscall.ENOSPC)
		m, _, r := runInMemory(t, Options{MaxPending: 10_000})
		m.setFault(fail.on("write"))
		narrated, inputs := 0, 0
		for range 1000 {
			if _, err := r.Append(Narration, payload(1)); err == nil {
				narrated++
			} else if !errors.Is(err, ErrDropped) {
				t.Fatal(err)
			}
		}
		for range 1000 {
			if _, err := r.Append(Input, payload(1)); err == nil {
				inputs++
			} else if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
		}
		testkit.Check(t, narrated == 80 && inputs == 80 && r.Lost() == 920,
			"%d narrations and %d inputs were taken, lost %d", narrated, inputs, r.Lost())
		fail.set(nil)
		syncRun(t, r)
		testkit.Same(t, "after that: record", 161, testkit.Must(r.Append(Narration, nil))(t))
		testkit.Works(t, "Close", r.Close())
	})
}

// TestSizeIsBounded: the limit counts what a resume reads, and a resume begins with a snapshot. So a run that reached
// it can go on, and its event log has no limit.
func TestSizeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := freshStore(t, newMemFS())
		o := Options{MaxBytes: 10_000}
		r, err := s.Create(Meta{Run: testRun}, o)
		testkit.OK(t, err)
		fill := func() (taken int) {
			t.Helper()
			for range 1000 {
				line := LogContent{Input: r.Durable(), At: time.Now(), Record: []byte(`{}`)}
				testkit.OK(t, r.AppendEvents(line))
				kind := Kind(1 + taken%2)
				_, err := r.Append(kind, payload(1))
				if errors.Is(err, ErrFull) {
					continue
				}
				testkit.OK(t, err)
				taken++
				syncRun(t, r)
			}
			return taken
		}
		first := fill()
		if used, limit := r.Fill(); first != 77 || limit != o.MaxBytes || used > limit || used < limit-200 {
			t.Errorf("%d inputs were taken, %d of %d bytes", first, used, limit)
		}
		if err := r.Finish(t.Context(), "limit"); err != nil { // this needs no record
			t.Error(err)
		}
		closeRun(t, r)
		r, _, err = s.Open(testRun, 0, o, resumeTest)
		testkit.Need(t, err == nil, "%v", err)
		again := fill()
		testkit.Check(t, r.Snapshot(func() ([]byte, error) { return []byte("the state"), nil }),
			"no snapshot was begun")
		synctest.Wait()
		if more := fill(); again < 70 || more < 70 {
			t.Errorf("after a resume %d inputs were taken, after a snapshot %d", again, more)
		}
		closeRun(t, r)
	})
}

func TestRefusedRecords(t *testing.T) {
	r := createRun(t, newTestStore(t), testRun, Options{})
	testkit.Fails(t, "too large", testkit.Err(r.Append(Input, make([]byte, MaxPayload+1))), ErrTooLarge)
	testkit.Fails(t, "an unknown kind was taken", testkit.Err(r.Append(7, nil)))
	seq, err := r.Append(Input, make([]byte, MaxPayload))
	testkit.Check(t, seq == 1 && err == nil, "the largest: %d, %v", seq, err)
	syncRun(t, r)
}

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
	testkit.Need(t, err == nil && got == seq, "record %d got number %d: %v", seq, got, err)
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
		d, n := r.Durable(), commits.Load()
		testkit.Need(t, d == 0 && n == 0, "before the delay is over: durable up to %d, %d commits", d, n)
		add(t, r, 2, 2)
		synctest.Wait()
		d, n = r.Durable(), commits.Load()
		testkit.Need(t, d == 2 && n == 1, "after an urgent input: durable up to %d, %d commits, want 2 and 1", d, n)
		addSoon(t, r, 3) // the whole delay begins again
		time.Sleep(SoonDelay - time.Nanosecond)
		synctest.Wait()
		d, n = r.Durable(), commits.Load()
		testkit.Need(t, d == 2 && n == 1, "just before the second delay is over: durable up to %d, %d commits", d, n)
		addSoon(t, r, 4)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		d, n = r.Durable(), commits.Load()
		testkit.Need(t, d == 4 && n == 2, "after the delay: durable up to %d, %d commits, want 4 and 2", d, n)
		began := time.Now()
		addSoon(t, r, 5)
		syncRun(t, r)
		testkit.Same(t, "Sync took", 0, time.Since(began))
		testkit.Same(t, "r.Durable()", 5, r.Durable())
		addSoon(t, r, 6)
		closeRun(t, r)
		testkit.Same(t, "durable after Close", 6, r.Durable())
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
		testkit.Check(t, r.Snapshot(func() ([]byte, error) { return nil, nil }), "no snapshot was begun")
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
		m, _, r := runInMemory(t, Options{})
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
		testkit.Same(t, "writes to the event log after the commit", 1, logged.Load())
		closeRun(t, r)
	})
}
