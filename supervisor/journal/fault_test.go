package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// failing fails these calls, of any file.
func failing(err error, calls ...string) func(call, name string) error {
	return func(call, _ string) error {
		if slices.Contains(calls, call) {
			return err
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
				m, _, r := runInMemory(t, tr.options())
				addBatches(t, r, 10, 5)
				m.setFault(failing(c.err, c.calls...))
				add(t, r, 11, 20)
				time.Sleep(10 * time.Second)
				add(t, r, 21, 25)
				time.Sleep(time.Minute)
				n, err := tr.last()
				testkit.Check(t, errors.Is(err, c.err) && n <= 2, "trouble %v, told %d times, want %v", err, n, c.err)
				testkit.Same(t, "durable", 10, r.Durable())
				testkit.Same(t, "committed", 10, tr.upTo)
				r.mu.Lock()
				records, bytes := r.st.records+r.st.taken, r.waiting()
				r.mu.Unlock()
				testkit.Check(t, records == 15 && bytes == 15*(frameHead+100), "pending: %d records of %d bytes", records,
					bytes)
				m.setFault(nil)
				mended := time.Now()
				syncRun(t, r)
				d := time.Since(mended)
				testkit.Check(t, d <= time.Second, "it took %v to notice that it is over", d)
				synctest.Wait()
				testkit.Works(t, "trouble did not end", testkit.Err(tr.last()))
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
			testkit.Check(t, o.kind != "write" || o.node != m.fileOf(segmentName(1)).id,
				"the failed segment was written to again")
		}
		closeRun(t, r)
	})
}

func TestCloseGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s, r := runInMemory(t, Options{})
		addBatches(t, r, 5, 5)
		m.setFault(failing(syscall.ENOSPC, "write"))
		add(t, r, 6, 8)
		began := time.Now()
		err := r.Close()
		testkit.Fails(t, "close", err, syscall.ENOSPC, "3 records")
		d := time.Since(began)
		testkit.Check(t, d <= 6*time.Second, "close took %v", d)
		testkit.Fails(t, "sync after that", r.Sync(t.Context()), ErrClosed)
		testkit.Works(t, "second close", r.Close())
		m.setFault(nil)
		resumes(t, s, 5) // the lock is free
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
		err := opening(s, testRun, 0)
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
		m, _, r := runInMemory(t, Options{MaxPending: 10_000})
		m.setFault(failing(syscall.ENOSPC, "write"))
		for _, c := range []struct {
			kind    Kind
			refusal error
		}{{Narration, ErrDropped}, {Input, ErrFull}} {
			taken := 0
			for range 1000 {
				_, err := r.Append(c.kind, payload(1))
				testkit.Need(t, err == nil || errors.Is(err, c.refusal), "%v", err)
				if err == nil {
					taken++
				}
			}
			testkit.Same(t, fmt.Sprint("taken of kind ", c.kind), 80, taken)
		}
		m.setFault(nil)
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
				testkit.OK(t, r.AppendEvents(LogContent{Input: r.Durable(), At: time.Now(), Record: []byte(`{}`)}))
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
		testkit.OK(t, finish(t.Context(), r)) // this needs no record
		closeRun(t, r)
		r, _, err = s.Open(testRun, 0, o, resumeTest)
		testkit.Need(t, err == nil, "%v", err)
		again := fill()
		testkit.Check(t, r.Snapshot(func() ([]byte, error) { return []byte("the state"), nil }),
			"no snapshot was begun")
		synctest.Wait()
		more := fill()
		testkit.Check(t, again >= 70 && more >= 70, "after a resume %d inputs were taken, after a snapshot %d", again, more)
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

// soonRun is a run in memory that counts the commits to its segment, each of which takes as long as slow says, and the
// writes to its event log.
type soonRun struct {
	*Run
	t               *testing.T
	commits, logged atomic.Int32
	slow            atomic.Int64
}

func newSoonRun(t *testing.T) *soonRun {
	m, _, r := runInMemory(t, Options{})
	s := &soonRun{Run: r, t: t}
	t.Cleanup(func() { r.Close() })
	m.setFault(func(call, name string) error {
		switch {
		case call == "sync" && strings.HasPrefix(name, "journal-"):
			s.commits.Add(1)
			time.Sleep(time.Duration(s.slow.Load()))
		case call == "write" && name == LogName:
			s.logged.Add(1)
		}
		return nil
	})
	synctest.Wait() // the writer waits for something to write
	return s
}

func (s *soonRun) soon(seq uint64) {
	s.t.Helper()
	testkit.Same(s.t, "number", seq, testkit.Must(s.AppendSoon(kindOf(seq), payload(seq)))(s.t))
}

// line adds a line to the event log.
func (s *soonRun) line() {
	s.t.Helper()
	testkit.OK(s.t, s.AppendEvents(LogContent{Input: s.Durable(), At: time.Now(), Record: []byte(`{}`)}))
}

func (s *soonRun) expect(when string, durable uint64, commits, logged int32) {
	s.t.Helper()
	synctest.Wait()
	d, c, l := s.Durable(), s.commits.Load(), s.logged.Load()
	testkit.Need(s.t, d == durable && c == commits && l == logged,
		"%s: durable up to %d, %d commits, %d writes to the event log; want %d, %d and %d", when, d, c, l, durable,
		commits, logged)
}

// TestSoonSharesACommit: an input that is not urgent is durable after SoonDelay, or with an urgent one before that.
func TestSoonSharesACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSoonRun(t)
		r.soon(1)
		time.Sleep(SoonDelay / 2)
		r.expect("before the delay is over", 0, 0, 0)
		add(t, r.Run, 2, 2)
		r.expect("after an urgent input", 2, 1, 0)
		r.soon(3) // the whole delay begins again
		time.Sleep(SoonDelay - time.Nanosecond)
		r.expect("just before the second delay is over", 2, 1, 0)
		r.soon(4)
		time.Sleep(time.Nanosecond)
		r.expect("after the delay", 4, 2, 0)
		began := time.Now()
		r.soon(5)
		syncRun(t, r.Run)
		testkit.Same(t, "Sync took", 0, time.Since(began))
		r.expect("after Sync", 5, 3, 0)
		r.soon(6)
		closeRun(t, r.Run)
		testkit.Same(t, "durable after Close", 6, r.Durable())
	})
}

// TestLinesShareAWrite: lines of the event log are written together, SoonDelay after the first of them, however many
// commits there are before that, and even if other lines are added while a commit keeps the writer busy; at once before
// a snapshot, and at Close.
func TestLinesShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSoonRun(t)
		add(t, r.Run, 1, 1)
		r.expect("after the first input", 1, 1, 0)
		r.line()
		time.Sleep(SoonDelay / 2)
		add(t, r.Run, 2, 2)
		r.expect("after a commit before the delay is over", 2, 2, 0)
		r.line()
		time.Sleep(SoonDelay/2 - time.Nanosecond)
		r.expect("just before the delay is over", 2, 2, 0)
		time.Sleep(time.Nanosecond)
		r.expect("after the delay", 2, 2, 1)
		r.line()
		time.Sleep(SoonDelay)
		r.expect("after another delay", 2, 2, 2)
		r.line()
		r.slow.Store(int64(2 * SoonDelay))
		add(t, r.Run, 3, 3)
		time.Sleep(SoonDelay + time.Nanosecond)
		r.line()
		time.Sleep(SoonDelay - time.Nanosecond)
		r.expect("after a commit of twice the delay", 3, 3, 3)
		r.slow.Store(0)
		r.line()
		testkit.Check(t, r.Snapshot(func() ([]byte, error) { return nil, nil }), "no snapshot was begun")
		r.expect("before a snapshot", 3, 4, 4)
		r.line()
		closeRun(t, r.Run)
		testkit.Same(t, "writes at the end", 5, r.logged.Load())
	})
}
