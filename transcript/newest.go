package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Newest is the newest reading of a session's context in its transcript.
type Newest struct {
	Found  bool
	Sample Sample // if Found
	Offset int64  // of the line in the file, if Found
	// Compacted: the context was compacted, and there is no reading after that. Then there is no sample.
	Compacted bool
	// Looked is how many bytes were read. GaveUp: the last MaxLook bytes had neither a reading nor a
	// compaction, and the file has more before them.
	Looked int64
	GaveUp bool
}

// MaxLook is how far back ReadNewest looks, in bytes.
const MaxLook = 256 << 20

// ReadNewest scans a transcript backwards, from its end to the newest line of the main thread that counts as a
// reading (Sample.Counts), or to a compaction. The file may be written meanwhile: a last line without an end is
// ignored. Lines of sessions other than the one in the file's name are skipped.
//
// It does not consider branches: if two processes wrote the session, the last line counts, even if it is not on
// the branch that a resume takes.
//
// Its cost depends on what was written since that line, not on the file's size. It is not an error if the file has
// no reading.
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

// newestScan examines lines from the last to the first.
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

// Lines without one of these are skipped.
var usageMark, boundaryMark = []byte(`"usage"`), []byte(`"compact_boundary"`)
