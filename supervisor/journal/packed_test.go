package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
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
		if lines := bytes.Count(whole, []byte("\n")); n != lines {
			t.Errorf("backward it has %d of %d lines", n, lines)
		}
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
