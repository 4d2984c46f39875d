package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Newest is the newest reading of a session's context in its transcript.
type Newest struct {
	Found  bool
	Sample Sample // if Found
	// Compacted: the context was compacted, and there is no reading after that. Then there is no sample.
	Compacted bool
}

const (
	firstLook = 32 << 10 // bytes; most newest readings are in the last ones
	maxLook   = 64 << 20 // how far back a reading is looked for
)

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
	return newestOf(f, info.Size(), strings.TrimSuffix(filepath.Base(path), extension))
}

// newestOf looks at the end of a file, and at more of it as long as there is no reading.
func newestOf(r io.ReaderAt, size int64, session string) (Newest, error) {
	for look := min(firstLook, size); ; look = min(4*look, size, maxLook) {
		tail := make([]byte, look)
		if n, err := r.ReadAt(tail, size-look); n < len(tail) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the file was truncated meanwhile
			}
			return Newest{}, fmt.Errorf("read transcript backwards: %w", err)
		}
		if look < size { // it begins within a line
			tail = tail[bytes.IndexByte(tail, '\n')+1:]
		}
		if found := newestIn(tail, session); found != (Newest{}) || look == size || look == maxLook {
			return found, nil
		}
	}
}

// newestIn examines lines from the last to the first.
func newestIn(lines []byte, session string) Newest {
	for end := bytes.LastIndexByte(lines, '\n'); end >= 0; end = bytes.LastIndexByte(lines, '\n') {
		lines = lines[:end]
		line := lines[bytes.LastIndexByte(lines, '\n')+1:]
		if !bytes.Contains(line, usageMark) && !bytes.Contains(line, boundaryMark) {
			continue
		}
		records, _ := Decode(line)
		for _, r := range slices.Backward(records) {
			switch sample := r.Sample(); {
			case r.Sidechain, !r.of(session):
			case r.Compacts():
				return Newest{Compacted: true}
			case sample.Counts():
				return Newest{Found: true, Sample: sample}
			}
		}
	}
	return Newest{}
}

// Lines without one of these are skipped.
var usageMark, boundaryMark = []byte(`"usage"`), []byte(`"compact_boundary"`)
