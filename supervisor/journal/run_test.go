package journal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

func TestWriteCloseOpen(t *testing.T) {
	s := newTestStore(t)
	var committed atomic.Uint64
	r := createRun(t, s, testRun, Options{Committed: func(upTo uint64) { committed.Store(upTo) }})
	add(t, r, 1, 100)
	syncRun(t, r)
	if d := r.Durable(); d != 100 {
		t.Errorf("durable up to %d, want 100", d)
	}
	add(t, r, 101, 150)
	closeRun(t, r)
	if c := committed.Load(); c != 150 {
		t.Errorf("committed up to %d, want 150", c)
	}
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
