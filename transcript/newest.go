package transcript

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
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
	// firstLook is how much of a transcript's end is read at first: most newest readings are in it. Each further look
	// reads several times as much.
	firstLook = 32 << 10
	nextLook  = 16
	// maxLook is how far back ReadNewest looks, in bytes. Each answer of a model is a reading.
	maxLook = 128 << 20
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
	session := strings.TrimSuffix(filepath.Base(path), extension)
	for look := int64(firstLook); ; look *= nextLook {
		from := max(0, info.Size()-min(look, maxLook))
		tail, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
		if err != nil {
			return Newest{}, fmt.Errorf("read transcript: %w", err)
		}
		if from > 0 { // what is before the first line end is the rest of a line
			_, tail, _ = bytes.Cut(tail, []byte("\n"))
		}
		n := newestIn(tail, session)
		if n.Found || n.Compacted || from == 0 || look >= maxLook {
			return n, nil
		}
	}
}

// Lines without one of these are skipped.
var usageMark, boundaryMark = []byte(`"usage"`), []byte(`"compact_boundary"`)

// newestIn examines whole lines from the last to the first.
func newestIn(lines []byte, session string) Newest {
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	for len(lines) > 0 {
		lines = lines[:len(lines)-1]
		begin := bytes.LastIndexByte(lines, '\n') + 1
		line := lines[begin:]
		lines = lines[:begin]
		if !bytes.Contains(line, usageMark) && !bytes.Contains(line, boundaryMark) {
			continue
		}
		records, _ := decode(line)
		for i := len(records) - 1; i >= 0; i-- {
			r := records[i]
			switch sample := r.sample(); {
			case r.Sidechain || !r.of(session):
			case r.Type == assistantRecord && !r.APIError && sample.Counts():
				return Newest{Found: true, Sample: sample}
			case r.Type == "system" && r.Subtype == "compact_boundary":
				return Newest{Compacted: true}
			}
		}
	}
	return Newest{}
}
