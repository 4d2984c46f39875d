package journal

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// LogName is the name of the file in the directory of a run.
const LogName = "events.ndjson"

// LogSource is a log's file, for example an *os.File through [OpenLog]; it may grow while it is read.
type LogSource interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// EventLog reads a log, even while it is being written. It takes no lock and starts no goroutine; any number of
// goroutines may use one.
type EventLog struct{ source LogSource }

// NewLog reads a source, which Close closes.
func NewLog(s LogSource) *EventLog { return &EventLog{s} }

// OpenLog opens the log at a path. The caller must ensure that no other user created it.
func OpenLog(path string) (*EventLog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return NewLog(sized{f}), nil
}

type sized struct{ *os.File }

func (s sized) Size() (int64, error) {
	info, err := s.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadAt reads raw bytes of the file, for callers that search many lines; [ParseLine] verifies what they find.
func (l *EventLog) ReadAt(p []byte, off int64) (int, error) { return l.source.ReadAt(p, off) }

// Size is the present size of the file.
func (l *EventLog) Size() (int64, error) { return l.source.Size() }

// Close closes the file.
func (l *EventLog) Close() error { return l.source.Close() }

// LogPosition is where a line begins, with what is needed to verify it. The zero Position is the beginning of the
// log.
type LogPosition struct {
	Offset int64
	Prev   LogChain // of the line before it
}

// LogHealth is what reading a log has found.
type LogHealth struct {
	Next   LogPosition // after the last good line: where to continue, and where the next line is written
	Damage []LogDamage // what cannot be read, and has good lines after it
	Torn   int64       // bytes after Next: a torn end, or a line that is being written
}

// LogDamage is a place in a log where something is wrong.
type LogDamage struct {
	Offset int64
	Reason string
}

func (d LogDamage) String() string { return fmt.Sprintf("%s at %d: %s", LogName, d.Offset, d.Reason) }

// MaxDamage bounds the list of damage.
const MaxDamage = 100

// At reads the entry at a position. The caller owns its content.
func (l *EventLog) At(p LogPosition) (LogEntry, error) {
	for n := 4 << 10; ; n *= 4 {
		b := make([]byte, min(n, MaxLine+1))
		got, err := l.source.ReadAt(b, p.Offset)
		if end := bytes.IndexByte(b[:got], '\n'); end >= 0 {
			e, err := ParseLine(b[:end:end], p.Prev.Sum)
			if err != nil {
				return e, failed(p.Offset, err)
			}
			e.Position = p
			return e, nil
		}
		if err == nil && len(b) > MaxLine {
			err = errLong
		}
		if err != nil {
			return LogEntry{}, failed(p.Offset, err)
		}
	}
}

func failed(offset int64, err error) error {
	return fmt.Errorf("read %s at %d: %w", LogName, offset, err)
}
