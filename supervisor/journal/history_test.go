package journal

import (
	"bytes"
	"errors"
	"testing"
)

// TestHistory: a run keeps older segments up to a size, from which all inputs since can be read; a resume begins with
// the last snapshot all the same.
func TestHistory(t *testing.T) {
	const segments = 10
	for history, first := range map[int64]uint64{1 << 20: 0, 5000: 60, 0: 90} {
		s := newTestStore(t)
		r := createRun(t, s, testRun, Options{History: history})
		for n := uint64(10); n <= 10*segments; n += 10 {
			add(t, r, n-9, n)
			syncRun(t, r)
			closeRun(t, r)
			r, _ = openRun(t, s, testRun, Options{History: history})
		}
		closeRun(t, r)
		e := expectRecords{t: t}
		rec, err := s.ReadAll(testRun, e.each)
		if err != nil || rec.Snapshot != first || e.next != 10*segments || rec.Damage != nil {
			t.Errorf("history of %d bytes: %+v, %v, read to %d", history, rec, err, e.next)
		}
		e = expectRecords{t: t}
		if rec, err := s.Read(testRun, e.each); err != nil || rec.Snapshot != 10*segments {
			t.Errorf("history of %d bytes: a resume begins with %+v, %v", history, rec, err)
		}
		read := 0
		_, err = s.ReadAll(testRun, func(Record) error {
			read++
			return ErrEnough
		})
		if err != nil || read != 1 {
			t.Errorf("read %d records, %v", read, err)
		}
	}
}

// TestBegin: a run that begins with a state is opened like any other.
func TestBegin(t *testing.T) {
	s := newTestStore(t)
	g, err := s.Stage(testRun)
	if err != nil {
		t.Fatal(err)
	}
	var chain LogChain
	var log []byte
	for seq := uint64(1); seq <= 40; seq++ {
		for _, x := range linesOf(seq) {
			if log, err = chain.Append(log, x); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := LogPosition{Offset: int64(len(log)), Prev: chain}
	m := Meta{CWD: t.TempDir(), ForkedFrom: &Fork{Run: "other", At: 3}}
	err = errors.Join(g.Add(LogName, bytes.NewReader(log)), g.Begin(m, 40, snapshotAt(40, 40), end))
	if err != nil {
		t.Fatal(err)
	}
	hidden(t, s)
	if err := errors.Join(g.Commit(func(*Meta) {}, func() error { return nil }), g.Close()); err != nil {
		t.Fatal(err)
	}
	r, rec := openRun(t, s, testRun, Options{})
	if rec.Records != 40 || rec.Damage != nil || r.Meta().Imported || *r.Meta().ForkedFrom != *m.ForkedFrom {
		t.Errorf("%+v, %+v", rec, r.Meta())
	}
	add(t, r, 41, 45)
	closeRun(t, r)
	e := expectRecords{t: t}
	if rec, err := s.Read(testRun, e.each); err != nil || rec.Records != 45 || e.next != 45 {
		t.Errorf("%+v, %v, read to %d", rec, err, e.next)
	}
	checkTold(t, s, 40)
}
