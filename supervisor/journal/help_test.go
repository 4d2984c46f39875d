package journal

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	testRun   = "0b8f3c1e-5d0a-4c55-9c11-6d2f0b8a7e21"
	failAfter = 2 * time.Minute
)

// payload is the payload of record seq in the tests: 100 bytes that identify it.
func payload(seq uint64) []byte {
	b := bytes.Repeat([]byte{byte('a' + seq%26)}, 100)
	copy(b, fmt.Sprintf("record %d ", seq))
	return b
}

func openTestStore(t *testing.T, dir string) *Store {
	t.Helper()
	s := testkit.Must(OpenStore(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func newTestStore(t *testing.T) *Store {
	t.Helper()
	return openTestStore(t, filepath.Join(t.TempDir(), "state"))
}

func createRun(t *testing.T, s *Store, id string, o Options) *Run {
	t.Helper()
	r := testkit.Must(s.Create(Meta{Run: id, CWD: t.TempDir(), Began: time.Now()}, o))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func openRun(t *testing.T, s *Store, id string, o Options) (*Run, Recovery) {
	t.Helper()
	r, rec, err := s.Open(id, 0, o, resumeTest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, rec
}

// add appends records from to last, every third of them narration, the others inputs.
func add(t *testing.T, r *Run, from, last uint64) {
	t.Helper()
	for seq := from; seq <= last; seq++ {
		got := testkit.Must(r.Append(kindOf(seq), payload(seq)))(t)
		if got != seq {
			t.Fatalf("record %d got number %d", seq, got)
		}
	}
}

func kindOf(seq uint64) Kind {
	if seq%3 == 0 {
		return Narration
	}
	return Input
}

func syncRun(t *testing.T, r *Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failAfter)
	defer cancel()
	testkit.OK(t, r.Sync(ctx))
}

func closeRun(t *testing.T, r *Run) {
	t.Helper()
	testkit.OK(t, r.Close())
}

// expectRecords checks that records come as 1, 2, 3 … with the payloads that add gave them.
type expectRecords struct {
	t    *testing.T
	next uint64
}

func (e *expectRecords) each(r Record) error {
	if r.Kind == Snapshot {
		upTo, _, err := parseSnapshot(r.Payload)
		if err != nil || upTo != r.Seq || e.next != 0 {
			e.t.Errorf("behind record %d came the snapshot %q of record %d: %v", e.next, r.Payload, r.Seq, err)
		}
		e.next = r.Seq
		return nil
	}
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

// The state in these tests is how many records there were, and up to which of them their lines were added to
// the event log.
func snapshotAt(upTo, told uint64) []byte { return fmt.Appendf(nil, "%d %d", upTo, told) }

func parseSnapshot(b []byte) (upTo, told uint64, err error) {
	_, err = fmt.Sscanf(string(b), "%d %d", &upTo, &told)
	return upTo, told, err
}

// linesOf are the lines of a record in the tests' event log.
func linesOf(seq uint64) (list []LogContent) {
	for i := range 1 + seq%2 {
		list = append(list,
			LogContent{Input: seq, At: time.Unix(1, 0), Record: fmt.Appendf(nil, `{"seq":%d,"part":%d}`, seq, i)})
	}
	return list
}

// resumeTest resumes a run of the tests: it verifies the records, and adds the lines that are missing in the
// event log.
func resumeTest(r *Recovered) ([]byte, error) {
	var upTo, told uint64
	err := r.Records(func(x Record) (err error) {
		if x.Kind == Snapshot {
			upTo, told, err = parseSnapshot(x.Payload)
			return err
		}
		if upTo++; x.Seq != upTo {
			return fmt.Errorf("record %d came as %d", upTo, x.Seq)
		}
		return nil
	})
	if err == nil && upTo != r.Recovery.Records {
		err = fmt.Errorf("%d records of %d came", upTo, r.Recovery.Records)
	}
	if err != nil {
		return nil, err
	}
	for seq := told + 1; seq <= upTo; seq++ {
		lines := linesOf(seq)
		switch {
		case seq < r.LastLogged.Input:
			continue
		case seq == r.LastLogged.Input:
			lines = lines[min(r.Lines, len(lines)):]
		}
		if err := r.AppendEvents(lines...); err != nil {
			return nil, err
		}
	}
	return snapshotAt(upTo, upTo), nil
}

// checkTold expects that the event log contains all lines of the first n records, once each.
func checkTold(t *testing.T, s *Store, n uint64) {
	t.Helper()
	dir := testkit.Must(s.runs.Dir(testRun))(t)
	defer dir.Close()
	f := testkit.Must(dir.Open(LogName, openRead))(t)
	log := NewLog(&logFile{file: f, dir: dir})
	defer log.Close()
	var want []LogContent
	for seq := uint64(1); seq <= n; seq++ {
		want = append(want, linesOf(seq)...)
	}
	h, err := log.Each(t.Context(), LogPosition{}, func(e LogEntry) error {
		if len(want) == 0 || e.Input != want[0].Input || !bytes.Equal(e.Record, want[0].Record) {
			return fmt.Errorf("line %d is of record %d: %s", e.N, e.Input, e.Record)
		}
		want = want[1:]
		return nil
	})
	if err != nil || len(want) > 0 || h.Damage != nil || h.Torn > 0 {
		t.Errorf("the event log lacks %d lines of %d records: %v, %+v", len(want), n, err, h)
	}
}

func reader(s *Store, id string) func(func(Record) error) error {
	return func(each func(Record) error) error {
		_, err := s.Read(id, each)
		return err
	}
}
