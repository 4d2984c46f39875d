package journal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestWriteCloseOpen(t *testing.T) {
	s := newTestStore(t)
	var committed atomic.Uint64
	r := createRun(t, s, testRun, Options{Committed: func(upTo uint64) { committed.Store(upTo) }})
	add(t, r, 1, 100)
	syncRun(t, r)
	testkit.Same(t, "durable up to", 100, r.Durable())
	add(t, r, 101, 150)
	closeRun(t, r)
	testkit.Same(t, "committed up to", 150, committed.Load())
	if _, err := r.Append(Input, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if err := r.Finish(context.Background(), "complete"); !errors.Is(err, ErrClosed) {
		t.Errorf("finish after close: %v", err)
	}
	checkRecords(t, reader(s, testRun), 150)

	r, rec := openRun(t, s, testRun, Options{})
	if rec.Records != 150 || rec.Damage != nil || rec.MetaLost != "" {
		t.Errorf("recovery: %+v", rec)
	}
	add(t, r, 151, 200)
	syncRun(t, r)
	checkRecords(t, reader(s, testRun), 200)
	if r.Dir() == "" || r.ID() != testRun || r.LockFile() == nil {
		t.Error("a run without a place")
	}
}

// TestReadTo reads from the last snapshot before an input: the newest one, or the previous one, which is kept.
func TestReadTo(t *testing.T) {
	s := newTestStore(t)
	r := createRun(t, s, testRun, Options{})
	for n := uint64(10); n <= 30; n += 10 {
		add(t, r, n-9, n)
		syncRun(t, r)
		if !r.Snapshot(func() ([]byte, error) { return snapshotAt(n, n), nil }) {
			t.Fatal("no snapshot was begun")
		}
		if err := r.Update(t.Context(), func(*Meta) {}); err != nil { // it comes after the snapshot, or beside it
			t.Fatal(err)
		}
		closeRun(t, r)
		r, _ = openRun(t, s, testRun, Options{})
	}
	add(t, r, 31, 35)
	closeRun(t, r)
	for upTo, want := range map[uint64]Recovery{
		35: {Records: 35, Snapshot: 30}, 32: {Records: 32, Snapshot: 30}, 30: {Records: 30, Snapshot: 30}, 29: {},
		100: {Records: 35, Snapshot: 30},
	} {
		e := expectRecords{t: t}
		rec, err := s.ReadTo(testRun, upTo, e.each)
		if err != nil || rec.Records != want.Records || rec.Snapshot != want.Snapshot || rec.Damage != nil ||
			e.next != want.Records {
			t.Errorf("up to %d: %v, %+v, want %+v", upTo, err, rec, want)
		}
	}
}

// TestALongRunIsResumedLikeAShortOne: a resume reads as much of a run with a large event log as of one with a small
// one, and all of both can be read.
func TestALongRunIsResumedLikeAShortOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, long := resumedBytes(t, 2), resumedBytes(t, 200)
		if long > short+1000 {
			t.Errorf("to resume a long run %d bytes were read, and %d for a short one", long, short)
		}
	})
}

// resumedBytes writes a run with so many snapshots, and returns how many bytes its resume reads.
func resumedBytes(t *testing.T, snapshots int) int {
	t.Helper()
	m, o, upTo := newMemFS(), Options{MaxBytes: 100_000}, uint64(0)
	s := freshStore(t, m)
	r := testkit.Must(s.Create(Meta{Run: testRun}, o))(t)
	for range snapshots {
		add(t, r, upTo+1, upTo+100)
		syncRun(t, r)
		for range 100 {
			upTo++
			testkit.OK(t, r.AppendEvents(linesOf(upTo)...))
		}
		if !r.Snapshot(func() ([]byte, error) { return snapshotAt(upTo, upTo), nil }) {
			t.Fatal("no snapshot was begun")
		}
		synctest.Wait()
	}
	closeRun(t, r)
	m.read = 0
	r, rec := openRun(t, s, testRun, o)
	read := m.read
	if rec.Records != upTo || rec.Damage != nil {
		t.Errorf("%d records: %+v", upTo, rec)
	}
	closeRun(t, r)
	checkTold(t, s, upTo)
	return read
}

// TestRefusedResumeChangesNothing: for example because of a state of another version. A torn end of the event
// log is kept, too: in that version it may not be torn.
func TestRefusedResumeChangesNothing(t *testing.T) {
	s := newTestStore(t)
	r := createRun(t, s, testRun, Options{})
	add(t, r, 1, 10)
	closeRun(t, r)
	log := filepath.Join(r.Dir(), LogName)
	addTo(t, log, []byte("{\"another\":\"form\"}\n{\"torn"))
	before := listing(t, r.Dir())
	refusal := errors.New("another version")
	if _, _, err := s.Open(testRun, 0, Options{},
		func(*Recovered) ([]byte, error) { return nil, refusal }); !errors.Is(err, refusal) {
		t.Errorf("open: %v", err)
	}
	if after := listing(t, r.Dir()); !slices.Equal(before, after) {
		t.Errorf("files were touched: %v, then %v", before, after)
	}
	r, rec := openRun(t, s, testRun, Options{})
	if rec.Harmed() || len(rec.Damage) != 1 || rec.Damage[0].SetAside == "" {
		t.Errorf("%+v", rec)
	}
	closeRun(t, r)
	checkTold(t, s, 10)
}
