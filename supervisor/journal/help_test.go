package journal

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

const (
	testRun   = "0b8f3c1e-5d0a-4c55-9c11-6d2f0b8a7e21"
	failAfter = 30 * time.Second
)

// payload is what record seq of the tests holds: 100 bytes that tell which it is.
func payload(seq uint64) []byte {
	b := bytes.Repeat([]byte{byte('a' + seq%26)}, 100)
	copy(b, fmt.Sprintf("record %d ", seq))
	return b
}

func openTestStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newTestStore(t *testing.T) *Store {
	t.Helper()
	return openTestStore(t, filepath.Join(t.TempDir(), "state"))
}

func createRun(t *testing.T, s *Store, id string, o Options) *Run {
	t.Helper()
	r, err := s.Create(Meta{Run: id, CWD: t.TempDir(), Began: time.Now()}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func openRun(t *testing.T, s *Store, id string, o Options) (*Run, Recovery) {
	t.Helper()
	r, rec, err := s.Open(id, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, rec
}

// add appends records from to last, all facts but each third.
func add(t *testing.T, r *Run, from, last uint64) {
	t.Helper()
	for seq := from; seq <= last; seq++ {
		got, err := r.Append(kindOf(seq), payload(seq))
		if err != nil {
			t.Fatal(err)
		}
		if got != seq {
			t.Fatalf("record %d got number %d", seq, got)
		}
	}
}

func kindOf(seq uint64) Kind {
	if seq%3 == 0 {
		return Narration
	}
	return Fact
}

func syncRun(t *testing.T, r *Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failAfter)
	defer cancel()
	if err := r.Sync(ctx); err != nil {
		t.Fatal(err)
	}
}

func closeRun(t *testing.T, r *Run) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// expectRecords checks that records come as 1, 2, 3 … with what add gave them.
type expectRecords struct {
	t    *testing.T
	next uint64
}

func (e *expectRecords) each(r Record) error {
	e.next++
	if r.Seq != e.next || r.Kind != kindOf(r.Seq) || !bytes.Equal(r.Payload, payload(r.Seq)) {
		e.t.Helper()
		e.t.Errorf("record %d came as %d, kind %d: %.40q", e.next, r.Seq, r.Kind, r.Payload)
		return fmt.Errorf("wrong record %d", r.Seq)
	}
	return nil
}

// checkRecords reads the run and expects exactly n good records.
func checkRecords(t *testing.T, read func(func(Record) error) error, n uint64) {
	t.Helper()
	e := expectRecords{t: t}
	if err := read(e.each); err != nil {
		t.Error(err)
	}
	if e.next != n {
		t.Errorf("%d records came back, want %d", e.next, n)
	}
}

func reader(s *Store, id string) func(func(Record) error) error {
	return func(each func(Record) error) error {
		_, err := s.Read(id, each)
		return err
	}
}
