package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Newest is the newest reading of a session's context, as its transcript has it.
type Newest struct {
	Found  bool
	Sample Sample // if Found
	Offset int64  // in the file, of the line it stands on, if Found
	// Compacted: the context was compacted, and nothing was read since. There is
	// no sample then.
	Compacted bool
	// Looked is how many bytes were read. GaveUp: in the last MaxLook bytes there
	// was neither a reading nor a compaction, and the file continues before them.
	Looked int64
	GaveUp bool
}

// MaxLook bounds how far back ReadNewest looks, in bytes.
const MaxLook = 256 << 20

// ReadNewest scans a transcript backwards, from its end to the newest line of
// the main thread that counts as a reading (Sample.Counts), or to a compaction.
// The file may be written meanwhile: a last line without an end is no line yet.
// Lines of other sessions than the file is named after are passed over.
//
// It knows no branches: of a session that two processes wrote, the last line counts,
// which need not be on the branch that a resume takes.
//
// What it costs depends on what was written since that line, not on the file's
// size. A file without a reading is an answer, not an error.
func ReadNewest(path string) (Newest, error) {
	f, err := open(path)
	if err != nil {
		return Newest{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Newest{}, fmt.Errorf("read transcript: %w", err)
	}
	s := newestScan{session: strings.TrimSuffix(filepath.Base(path), extension)}
	b := newBackward(f, info.Size())
	for !s.done {
		line, at, err := b.previous()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Newest{}, fmt.Errorf("read transcript backwards: %w", err)
		}
		s.line(line, at)
	}
	s.found.Looked, s.found.GaveUp = b.looked, b.gaveUp && !s.done
	return s.found, nil
}

// newestScan looks at lines from the last to the first.
type newestScan struct {
	session string
	found   Newest
	done    bool
}

func (s *newestScan) line(line []byte, at int64) {
	if !bytes.Contains(line, usageMark) && !bytes.Contains(line, boundaryMark) {
		return
	}
	records, _ := Decode(line)
	for i := len(records) - 1; i >= 0 && !s.done; i-- {
		head := records[i].Head()
		if head.Sidechain || !head.of(s.session) {
			continue
		}
		switch r := records[i].(type) {
		case *Assistant:
			if sample := r.Sample(); !r.APIError && sample.Counts() {
				s.found.Found, s.found.Sample, s.found.Offset, s.done = true, sample, at, true
			}
		case *System:
			if r.Compacts() {
				s.found.Compacted, s.done = true, true
			}
		}
	}
}

// A line without one of these has nothing to say here.
var usageMark, boundaryMark = []byte(`"usage"`), []byte(`"compact_boundary"`)
