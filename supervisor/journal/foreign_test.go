package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// forgedFrame is a record that continues a run, forged with a correct
// checksum.
func forgedFrame(seq uint64, prev uint32) []byte {
	b := appendFrame(nil, seq, Input, []byte("FORGED"))
	chainBatch(b, seedOf(testRun), prev)
	return b
}

func addTo(t *testing.T, path string, b []byte) {
	t.Helper()
	f := testkit.Must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
	testkit.Must(f.Write(b))(t)
	testkit.OK(t, f.Close())
}

// TestForgedWhileRunning: another process adds to the journal of a live run. The run notices at the next write,
// or at its end; the addition never counts.
func TestForgedWhileRunning(t *testing.T) {
	for name, atEnd := range map[string]bool{"noticed by the next write": false, "noticed at the end": true} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			var told []error
			r := createRun(t, s, testRun, Options{Trouble: func(err error) { told = append(told, err) }})
			addBatches(t, r, 6, 2)
			whole, _ := journalOf(2, 2, 2)
			addTo(t, filepath.Join(r.Dir(), segmentName(1)), forgedFrame(7, crcAfter(whole, 6)))
			want := uint64(6)
			if !atEnd {
				want = 9
				addBatches(t, r, want, 3)
			}
			closeRun(t, r)
			if len(told) == 0 || !errors.Is(told[0], ErrForeignWrite) {
				t.Errorf("told: %v", told)
			}
			checkRecords(t, reader(s, testRun), want)
			r, rec := openRun(t, s, testRun, Options{})
			if rec.Harmed() || rec.Records != want {
				t.Errorf("%+v", rec)
			}
			closeRun(t, r)
		})
	}
}

// TestCutOffWhileRunning: durable records of a live run were removed. The run reports it, and reports nothing
// as durable from then on.
func TestCutOffWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s := freshStore(t, m)
		var told []error
		r := testkit.Must(s.Create(Meta{Run: testRun}, Options{Trouble: func(err error) { told = append(told, err) }}))(t)
		addBatches(t, r, 6, 2)
		n := segmentNode(m, 1)
		n.data = n.data[:len(n.data)-30]
		add(t, r, 7, 8)
		synctest.Wait()
		if len(told) == 0 || !errors.Is(told[0], ErrForeignWrite) || r.Durable() != 6 {
			t.Errorf("told: %v, %d are durable", told, r.Durable())
		}
		if err := r.Close(); !errors.Is(err, ErrForeignWrite) {
			t.Errorf("close: %v", err)
		}
		if rec, err := s.Read(testRun, nil); err != nil || rec.Records != 5 {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

// TestForeignLines: another process adds to the event log of a live run, or cuts lines off. The journal reports
// it, removes the addition, and writes again what is not durable yet.
func TestForeignLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s := freshStore(t, m)
		var told []error
		tl := &teller{m: m}
		o := tl.options()
		o.Trouble = func(err error) { told = append(told, err) }
		r := testkit.Must(s.Create(Meta{Run: testRun}, o))(t)
		tl.begin(r)
		log := func() *memNode {
			runs := m.nodes[m.nodes[0].entries[runsName]]
			return m.nodes[m.nodes[runs.entries[testRun]].entries[LogName]]
		}
		addBatches(t, r, 4, 2)
		time.Sleep(2 * eventSync) // everything is durable
		synctest.Wait()
		log().data = append(bytes.Clone(log().data), "{\"forged\":true}\n"...)
		addBatches(t, r, 8, 2)
		time.Sleep(2 * eventSync)
		synctest.Wait()
		if len(told) != 2 || !errors.Is(told[0], ErrForeignWrite) || told[1] != nil {
			t.Errorf("lines were added, and told is %v", told)
		}
		checkTold(t, s, 8)
		addBatches(t, r, 10, 2)
		time.Sleep(SoonDelay)
		synctest.Wait()
		log().data = log().data[:len(log().data)-5] // of lines that are not durable
		addBatches(t, r, 12, 2)
		time.Sleep(2 * eventSync)
		synctest.Wait()
		if len(told) != 4 || !errors.Is(told[2], ErrForeignWrite) || told[3] != nil {
			t.Errorf("lines were cut off, and told is %v", told)
		}
		closeRun(t, r)
		checkTold(t, s, 12)
	})
}

// TestEventsAreMadeAgain: if a run is killed, its lines are made again from its inputs.
func TestEventsAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		r := createOn(t, m, freshStore(t, m))
		addBatches(t, r, 10, 2)
		last[m].snapshot(t)
		m.setFault(func(call, name string) error {
			if call == "write" && name == LogName {
				return errDead
			}
			return nil
		})
		addBatches(t, r, 14, 4)
		synctest.Wait()
		m.reboot()
		m.setFault(nil)
		r.Close()
		s := freshStore(t, m)
		r = openOn(t, m, s)
		checkTold(t, s, 14)
		closeRun(t, r)
	})
}

// TestOwnFaultsAreNotForeign: what a failed write or fsync of this process leaves in the event log is not blamed on
// another process: the error of the disk is returned.
func TestOwnFaultsAreNotForeign(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string
		err   error
	}{
		"fsync":                                  {[]string{"sync"}, syscall.EIO},
		"fsync, and it cannot be cut back":       {[]string{"sync", "truncate"}, syscall.EIO},
		"short write":                            {[]string{"write"}, &errPartial{7, syscall.ENOSPC}},
		"short write, and it cannot be cut back": {[]string{"write", "truncate"}, &errPartial{7, syscall.ENOSPC}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemFS()
				s := freshStore(t, m)
				var tr troubles
				tl := &teller{m: m}
				o := tl.options()
				o.Trouble = tr.options().Trouble
				r := testkit.Must(s.Create(Meta{Run: testRun}, o))(t)
				tl.begin(r)
				addBatches(t, r, 4, 2)
				time.Sleep(2 * eventSync)
				var fail failing
				fail.set(c.err)
				m.setFault(func(call, name string) error {
					if name != LogName {
						return nil
					}
					return fail.on(c.calls...)(call, name)
				})
				addBatches(t, r, 8, 2)
				time.Sleep(10 * eventSync)
				if _, err := tr.last(); !errors.Is(err, c.err) {
					t.Errorf("told is %v", tr.told)
				}
				fail.set(nil)
				addBatches(t, r, 10, 2)
				time.Sleep(10 * eventSync)
				synctest.Wait()
				if _, err := tr.last(); err != nil {
					t.Errorf("it did not end: %v", err)
				}
				if slices.ContainsFunc(tr.told, func(err error) bool { return errors.Is(err, ErrForeignWrite) }) {
					t.Errorf("told is %v", tr.told)
				}
				closeRun(t, r)
				checkTold(t, s, 10)
			})
		})
	}
}
