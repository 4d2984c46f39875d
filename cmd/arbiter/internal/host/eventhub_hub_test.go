package host

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// hubStory is a hub with the log that is written alongside it.
type hubStory struct {
	hub   *Hub
	path  string
	chain journal.LogChain
	seq   uint64
}

func newStory(t *testing.T, keep int) *hubStory {
	return &hubStory{hub: NewHub(keep), path: filepath.Join(t.TempDir(), journal.LogName)}
}

// tell publishes an event. If logged is false, only the hub gets it.
func (s *hubStory) tell(t *testing.T, body contract.Body, logged bool) {
	t.Helper()
	at := time.UnixMilli(1_772_366_400_000).UTC()
	e := contract.Event{ID: contract.Supervisor, Body: body}
	if _, session := body.(contract.Session); session {
		s.seq = 0
	}
	s.seq++
	s.hub.publish(at, e)
	if !logged {
		return
	}
	line := testkit.Must(contract.EncodeLine(nil, s.seq, at, e))(t)
	testkit.Append(t, s.path, testkit.Must(s.chain.Append(nil, journal.LogContent{At: at, Line: line}))(t))
}

// pieces are the pieces of unfinished text that read has read.
var pieces []string

// read reads everything available, at most most lines at a time.
func read(t *testing.T, c *Cursor, most int) (seqs []uint64, texts []string, skipped uint64) {
	t.Helper()
	for {
		lines, lost, more, err := c.Next(t.Context(), most)
		testkit.OK(t, err)
		skipped += lost
		if !more {
			return seqs, texts, skipped
		}
		for _, raw := range lines {
			line := testkit.Must(contract.DecodeLine([]byte(raw)))(t)
			if d, ok := line.Body.(contract.Delta); ok {
				pieces = append(pieces, fmt.Sprint(line.Seq, d.Text))
				continue
			}
			seqs = append(seqs, line.Seq)
			if n, ok := line.Body.(contract.Notice); ok {
				texts = append(texts, n.Text)
			}
		}
	}
}

// TestCursor shows that a client gets every event once and in order, whether the hub still keeps it or only the log
// does.
func TestCursor(t *testing.T) {
	s := newStory(t, 8)
	s.tell(t, contract.Session{}, true) // of an earlier process
	for range 5 {
		s.tell(t, contract.Notice{Text: "earlier"}, true)
	}
	log := testkit.Must(journal.OpenLog(s.path))(t)
	health := testkit.Must(log.Each(t.Context(), journal.LogPosition{}, func(journal.LogEntry) error { return nil }))(t)
	_ = log.Close()
	open := func() (*journal.EventLog, error) { return journal.OpenLog(s.path) }
	s.tell(t, contract.Session{}, true)
	all, from10 := s.hub.Cursor(0, true, health.Next, open), s.hub.Cursor(10, false, health.Next, open)
	for i := 2; i <= 40; i++ {
		s.tell(t, contract.Notice{Text: fmt.Sprint(i)}, true)
		if i == 5 {
			seqs, _, skipped := read(t, all, 3)
			testkit.Need(t, len(seqs) == 5 && skipped == 0, "at first: %v, skipped %d", seqs, skipped)
		}
	}
	seqs, texts, skipped := read(t, all, 3)
	testkit.Check(t, skipped == 0 && len(seqs) == 35 && seqs[0] == 6 && seqs[34] == 40 && texts[0] == "6" &&
		texts[34] == "40", "then: %v, %v, skipped %d", seqs, texts, skipped)
	for i, n := range seqs {
		if n != uint64(6+i) {
			t.Errorf("out of order: %v", seqs)
			break
		}
	}
	seqs, _, _ = read(t, from10, 100)
	testkit.Check(t, len(seqs) == 30 && seqs[0] == 11, "since 10: %v", seqs)
	seqs, _, _ = read(t, s.hub.Cursor(s.hub.Last(), false, health.Next, open), 100)
	testkit.Check(t, len(seqs) == 0, "since now: %v", seqs)
}

// TestPieces shows that pieces of text have no number of their own, that clients that want them get them in order,
// and that a client that is behind does not get them.
func TestPieces(t *testing.T) {
	s := newStory(t, 8)
	open := func() (*journal.EventLog, error) { return journal.OpenLog(s.path) }
	s.tell(t, contract.Session{}, true)
	with, without := s.hub.Cursor(0, true, journal.LogPosition{}, open), s.hub.Cursor(0, false, journal.LogPosition{},
		open)
	for i := range 3 {
		s.hub.publish(time.Now(), contract.Event{ID: "arbiter", Body: contract.Delta{Text: fmt.Sprint("piece ", i)}})
	}
	s.tell(t, contract.Notice{Text: "2"}, true)
	pieces = nil
	seqs, _, skipped := read(t, with, 2)
	testkit.Check(t, fmt.Sprint(seqs) == "[1 2]" && skipped == 0 &&
		fmt.Sprint(pieces) == "[1piece 0 1piece 1 1piece 2]", "with them: %v, %v, skipped %d", seqs, pieces, skipped)
	pieces = nil
	seqs, _, _ = read(t, without, 2)
	testkit.Check(t, fmt.Sprint(seqs) == "[1 2]" && len(pieces) == 0, "without them: %v, %v", seqs, pieces)
	for range 5 {
		s.hub.publish(time.Now(), contract.Event{ID: "arbiter", Body: contract.Delta{Text: "more"}})
	}
	for i := 3; i <= 12; i++ {
		s.tell(t, contract.Notice{Text: fmt.Sprint(i)}, true)
	}
	if seqs, _, skipped := read(t, with, 3); len(seqs) != 10 || skipped != 0 || seqs[0] != 3 || len(pieces) > 0 {
		t.Errorf("behind: %v, %v, skipped %d", seqs, pieces, skipped)
	}
	late := s.hub.Cursor(11, true, journal.LogPosition{}, open)
	seqs, _, skipped = read(t, late, 3)
	testkit.Check(t, fmt.Sprint(seqs) == "[12]" && skipped == 0, "late: %v, skipped %d", seqs, skipped)
}

// TestSkipped shows that events that neither the hub nor the log has are counted.
func TestSkipped(t *testing.T) {
	s := newStory(t, 4)
	s.tell(t, contract.Session{}, true)
	for i := 2; i <= 20; i++ {
		s.tell(t, contract.Notice{Text: fmt.Sprint(i)}, i <= 10)
	}
	c := s.hub.Cursor(0, false, journal.LogPosition{},
		func() (*journal.EventLog, error) { return journal.OpenLog(s.path) })
	seqs, _, skipped := read(t, c, 6)
	testkit.Check(t, skipped == 6 && len(seqs) == 14 && seqs[9] == 10 && seqs[10] == 17, "%v, skipped %d", seqs,
		skipped)
}

// TestWatch shows that a watcher is woken, and that a watcher that does not receive delays no publisher.
func TestWatch(t *testing.T) {
	h := NewHub(4)
	changed, end := h.Watch()
	defer end()
	for range 10 {
		h.publish(time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Notice{Text: "x"}})
	}
	select {
	case <-changed:
	default:
		t.Error("an event wakes nobody")
	}
	select {
	case <-changed:
		t.Error("woken twice without a reason")
	default:
	}
	h.Hint()
	select {
	case <-changed:
	default:
		t.Error("a hint wakes nobody")
	}
}
