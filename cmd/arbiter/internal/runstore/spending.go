package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// spendingName is the file in a run's directory that says what the run has cost, so that nobody has to read its events
// again. It is derived from them: without it they are read.
const (
	spendingName    = "spending.json"
	spendingVersion = 1
	maxSpending     = 16 << 20
)

// Spent is what a run has cost, as far as its event log was read.
type Spent struct {
	V    int                 `json:"v"`
	Zone string              `json:"zone"` // whose days the rows are of
	Next journal.LogPosition `json:"next"` // where to go on
	report.Spending
}

// Spent returns what a run has cost: what was noted at its end, and what its event log has had since. from is what an
// earlier call returned, or nil; it is changed. If the run is over, what was read is noted for the next caller. With
// an error, the result has what could be read; a run without an event log is fs.ErrNotExist.
func (r *Runs) Spent(ctx context.Context, info journal.Info, from *Spent) (*Spent, error) {
	log, err := r.EventLog(info.Run)
	if err != nil {
		return &Spent{}, err
	}
	defer log.Close()
	dir, err := statedir.Open(r.Dir(info.Run))
	if err != nil {
		return &Spent{}, err
	}
	defer dir.Close()
	s := from
	if s == nil {
		s = &Spent{}
		found, problem, err := dir.ReadJSON(spendingName, maxSpending, spendingVersion, s)
		if !found || problem != "" || err != nil || s.Zone != zone() {
			s = &Spent{}
		}
	}
	began := s.Next
	err = s.read(ctx, log)
	if errors.Is(err, errOtherLog) {
		*s, began = Spent{}, journal.LogPosition{}
		err = s.read(ctx, log)
	}
	if from != nil || info.Live || s.Next == began {
		return s, err
	}
	s.V, s.Zone = spendingVersion, zone()
	if b, encodeErr := json.Marshal(s); encodeErr == nil && len(b) <= maxSpending {
		_ = dir.ReplaceUnsynced(spendingName, b) // without it, the events are read again
	}
	return s, err
}

var errOtherLog = errors.New("the event log does not continue there")

// read reads what was added to the event log.
func (s *Spent) read(ctx context.Context, log *journal.EventLog) error {
	size, err := log.Size()
	switch {
	case err != nil:
		return err
	case size < s.Next.Offset:
		return errOtherLog
	}
	first := s.Next.Offset > 0
	_, err = log.Each(ctx, s.Next, func(entry journal.LogEntry) error {
		if first && entry.Position != s.Next {
			return errOtherLog // a crash took lines that had been read
		}
		first, s.Next = false, entry.Next()
		if entry.Line == nil {
			return nil
		}
		return s.Take(entry.At, entry.Line)
	})
	return err
}

// zone identifies the local time zone by its offsets in winter and in summer.
func zone() string {
	year := time.Now().Year()
	offset := func(m time.Month) string { return time.Date(year, m, 1, 0, 0, 0, 0, time.Local).Format("-0700") }
	return offset(time.January) + offset(time.July)
}
