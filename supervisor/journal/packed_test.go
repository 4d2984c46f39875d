package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// packedRun is a run with a log of which more than half is packed. reader was opened before.
func packedRun(t *testing.T, m *memFS) (s *Store, r *Run, reader *EventLog) {
	t.Helper()
	s = freshStore(t, m)
	tl := &teller{m: m}
	r = testkit.Must(s.Create(Meta{Run: testRun}, tl.options()))(t)
	tl.begin(r)
	reader = testkit.Must(s.EventLog(testRun))(t)
	addBatches(t, r, 40, 2)
	time.Sleep(20 * eventSync) // a few blocks each time
	for range 20 {
		addBatches(t, r, r.Durable()+1, 1)
		time.Sleep(2 * eventSync)
	}
	synctest.Wait()
	return s, r, reader
}

func (m *memFS) fileOf(name string) *memNode {
	runs := m.nodes[m.nodes[0].entries[runsName]]
	return m.nodes[m.nodes[runs.entries[testRun]].entries[name]]
}

// TestPackedLog: a log whose beginning is packed reads as one that is not: forward, backward, in pieces, by a reader
// that was opened before, as a copy, and by the process that continues the run.
func TestPackedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s, r, log := packedRun(t, m)
		raw := m.fileOf(LogName).data
		if zeros := bytes.Count(raw, []byte{0}); zeros < len(raw)/2 || raw[len(raw)-1] != '\n' {
			t.Fatalf("%d of %d bytes are packed", zeros, len(raw))
		}
		checkTold(t, s, 60)
		whole := make([]byte, len(raw))
		testkit.Must(log.ReadAt(whole, 0))(t)
		var again []byte
		for at := 0; at < len(raw); at += 23 {
			piece := make([]byte, min(23, len(raw)-at))
			testkit.Must(log.ReadAt(piece, int64(at)))(t)
			again = append(again, piece...)
		}
		if !bytes.Equal(again, whole) || bytes.IndexByte(whole, 0) >= 0 {
			t.Error("in pieces, the log has other content")
		}
		n := 0
		testkit.OK(t, log.Backward(context.Background(), LogPosition{}, func(LogEntry) bool { n++; return true }))
		testkit.Same(t, "backward it has of lines", bytes.Count(whole, []byte("\n")), n)
		testkit.OK(t, log.Close())
		closeRun(t, r)
		kept := testkit.Must(s.Keep(testRun))(t)
		content, size, err := kept.Open(LogName)
		testkit.OK(t, err)
		if b := testkit.Must(io.ReadAll(content))(t); int64(len(b)) != size || !bytes.Equal(b, whole) {
			t.Error("the copy has other content")
		}
		testkit.OK(t, content.Close())
		testkit.OK(t, kept.Close())
		r, rec := openRun(t, s, testRun, Options{})
		if rec.Harmed() {
			t.Errorf("resumed with %+v", rec)
		}
		closeRun(t, r)
		checkTold(t, s, 60)
	})
}

// TestPackingFails: the log stays as it is, whatever fails, and is packed when the run is opened again.
func TestPackingFails(t *testing.T) {
	for _, c := range []struct {
		call, name string
		err        error
	}{
		{"free", LogName, errors.ErrUnsupported},
		{"open", PackedName, syscall.EMFILE},
		{"write", PackedName, syscall.ENOSPC},
		{"write", PackedName, &errPartial{n: 11, err: syscall.EIO}},
		{"sync", PackedName, syscall.EIO},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemFS()
			failing := true
			m.setFault(func(call, name string) error {
				if failing && call == c.call && name == c.name {
					return c.err
				}
				return nil
			})
			s, r, log := packedRun(t, m)
			testkit.OK(t, log.Close())
			if bytes.IndexByte(m.fileOf(LogName).data, 0) >= 0 {
				t.Errorf("%s of %s: %v: a part of the log was given up", c.call, c.name, c.err)
			}
			checkTold(t, s, 60)
			closeRun(t, r)
			failing = false
			r, _ = openRun(t, s, testRun, Options{})
			addBatches(t, r, 62, 1)
			testkit.OK(t, r.AppendEvents(append(linesOf(61), linesOf(62)...)...))
			time.Sleep(2 * eventSync)
			closeRun(t, r)
			if bytes.IndexByte(m.fileOf(LogName).data, 0) < 0 {
				t.Errorf("%s of %s: %v: it is never packed", c.call, c.name, c.err)
			}
			checkTold(t, s, 62)
		})
	}
}

// TestPackedDamage: a damaged block is reported as damage of its lines; all others are read. If the file is gone, the
// lines that are not packed are read.
func TestPackedDamage(t *testing.T) {
	for name, damage := range map[string]func(m *memFS){
		"a bit":  func(m *memFS) { b := m.fileOf(PackedName).data; b[len(b)/2] ^= 1 },
		"a head": func(m *memFS) { clear(m.fileOf(PackedName).data[:packedHead]) },
		"short":  func(m *memFS) { n := m.fileOf(PackedName); n.data = n.data[:len(n.data)/2] },
		"gone": func(m *memFS) {
			runs := m.nodes[m.nodes[0].entries[runsName]]
			delete(m.nodes[runs.entries[testRun]].entries, PackedName)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemFS()
			s, r, log := packedRun(t, m)
			testkit.OK(t, log.Close())
			closeRun(t, r)
			damage(m)
			log = testkit.Must(s.EventLog(testRun))(t)
			lines, last := 0, uint64(0)
			h, err := log.Each(t.Context(), LogPosition{}, func(e LogEntry) error {
				lines, last = lines+1, e.Input
				return nil
			})
			if err != nil || len(h.Damage) == 0 || lines == 0 || last != 60 {
				t.Errorf("%s: %d lines up to %d, %v, %+v", name, lines, last, err, h)
			}
			testkit.OK(t, log.Close())
			r, _ = openRun(t, s, testRun, Options{})
			closeRun(t, r)
		})
	}
}

// TestCutBelowThePacked: another process has cut off the log where it was packed. What is written there afterwards
// counts, not what was packed.
func TestCutBelowThePacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s, r, log := packedRun(t, m)
		node := m.fileOf(LogName)
		whole := make([]byte, len(node.data))
		testkit.Must(log.ReadAt(whole, 0))(t)
		at := bytes.LastIndexByte(whole[:len(whole)/3], '\n') + 1
		node.data = node.data[:at:at]
		addBatches(t, r, 70, 1)
		time.Sleep(2 * eventSync)
		closeRun(t, r)
		lines := 0
		h, err := log.Each(t.Context(), LogPosition{}, func(e LogEntry) error {
			if e.Input > 60 {
				lines++
			}
			return nil
		})
		// Of odd inputs there are two lines. The first line cannot be verified: the one before it is lost.
		if want := 10 + 5 - 1; err != nil || lines != want || len(h.Damage) != 1 {
			t.Errorf("%d lines of %d, %v, %+v", lines, want, err, h)
		}
		testkit.OK(t, log.Close())
		r, _ = openRun(t, s, testRun, Options{})
		closeRun(t, r)
	})
}

// bigRun writes a journal of 100 MB, nearly all narration of 1 to 8 KB.
func bigRun(tb testing.TB, dir string) *Store {
	s := testkit.Must(OpenStore(dir))(tb)
	r := testkit.Must(s.Create(Meta{Run: "big"}, Options{MaxPending: 256 << 20}))(tb)
	text := randomBytes(8 << 10)
	for i, size := 0, 0; size < 100<<20; i++ {
		kind, n := Narration, 1<<10+i*37%(7<<10)
		if i%20 == 0 {
			kind, n = Input, 300
		}
		testkit.Must(r.Append(kind, text[:n]))(tb)
		if size += n + frameHead; i%500 == 0 {
			testkit.OK(tb, r.Sync(tb.Context()))
		}
	}
	testkit.OK(tb, r.Close())
	return s
}

// TestRead100MB: reading a journal does not allocate its size in memory again and again.
func TestRead100MB(t *testing.T) {
	testkit.WithoutRace(t)
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	s := bigRun(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inputs := 0
	rec, err := s.Read("big", func(r Record) error {
		if r.Kind == Input {
			inputs++
		}
		return nil
	})
	if err != nil || rec.Damage != nil || inputs == 0 {
		t.Fatalf("%v, %+v, %d inputs", err, rec, inputs)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("a resume of 100 MB allocates %d MB", n>>20)
	}
}

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
	testkit.OK(t, errors.Join(g.Commit(func(*Meta) {}, func() error { return nil }), g.Close()))
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
