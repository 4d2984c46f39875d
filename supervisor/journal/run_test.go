package journal

import (
	"context"
	"errors"
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
	if _, err := r.Append(Fact, nil); !errors.Is(err, ErrClosed) {
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
	checkRecords(t, r.Records, 150)
	add(t, r, 151, 200)
	syncRun(t, r)
	checkRecords(t, r.Records, 150) // what was there before
	checkRecords(t, reader(s, testRun), 200)
	if r.Dir() == "" || r.ID() != testRun || r.LockFile() == nil {
		t.Error("a run without a place")
	}
}
