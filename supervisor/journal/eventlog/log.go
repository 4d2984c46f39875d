package eventlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Name is the name of the file in the directory of a run.
const Name = "events.ndjson"

// Source is a log's file, for example an *os.File through [Open]; it may grow while it is read.
type Source interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// Log reads a log, even while it is being written. It takes no lock and starts no goroutine; any number of
// goroutines may use one.
type Log struct{ source Source }

// New reads a source, which Close closes.
func New(s Source) *Log { return &Log{s} }

// Open opens the log at a path. The caller must ensure that no other user created it.
func Open(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return New(sized{f}), nil
}

type sized struct{ *os.File }

func (s sized) Size() (int64, error) {
	info, err := s.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadAt reads raw bytes of the file, for callers that search many lines; [Parse] verifies what they find.
func (l *Log) ReadAt(p []byte, off int64) (int, error) { return l.source.ReadAt(p, off) }

// Size is the present size of the file.
func (l *Log) Size() (int64, error) { return l.source.Size() }

// Close closes the file.
func (l *Log) Close() error { return l.source.Close() }

// Position is where a line begins, with what is needed to verify it. The zero Position is the beginning of the
// log.
type Position struct {
	Offset int64
	Prev   Chain // of the line before it
}

// Health is what reading a log has found.
type Health struct {
	Next   Position // after the last good line: where to continue, and where the next line is written
	Damage []Damage // what cannot be read, and has good lines after it
	Torn   int64    // bytes after Next: a torn end, or a line that is being written
}

// Damage is a place in a log where something is wrong.
type Damage struct {
	Offset int64
	Reason string
}

func (d Damage) String() string { return fmt.Sprintf("%s at %d: %s", Name, d.Offset, d.Reason) }

// MaxDamage bounds the list of damage.
const MaxDamage = 100

// At reads the entry at a position. The caller owns its content.
func (l *Log) At(p Position) (Entry, error) {
	for n := 4 << 10; ; n *= 4 {
		b := make([]byte, min(n, MaxLine+1))
		got, err := l.source.ReadAt(b, p.Offset)
		if end := bytes.IndexByte(b[:got], '\n'); end >= 0 {
			e, err := Parse(b[:end:end], p.Prev.Sum)
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
			return Entry{}, failed(p.Offset, err)
		}
	}
}

func failed(offset int64, err error) error {
	return fmt.Errorf("read %s at %d: %w", Name, offset, err)
}
