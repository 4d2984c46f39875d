package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
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
		r := records[i]
		switch sample := r.Sample(); {
		case r.Sidechain, !r.of(s.session):
		case r.Compacts():
			s.found.Compacted, s.done = true, true
		case sample.Counts():
			s.found.Found, s.found.Sample, s.found.Offset, s.done = true, sample, at, true
		}
	}
}

// Lines without one of these are skipped.
var usageMark, boundaryMark = []byte(`"usage"`), []byte(`"compact_boundary"`)

const (
	// firstBlock is the size of the first read. Most newest readings are in it.
	firstBlock = 32 << 10
	// maxBlock is the maximum size of later reads.
	maxBlock = 1 << 20
)

// backward returns the lines of a file from the last to the first, reading blocks from its end. It skips lines of
// more than jsonl.MaxLine bytes, and a last line without an end. Its buffer grows by doubling while a line is longer,
// so that every byte is read once and copied at most a few times.
type backward struct {
	r      io.ReaderAt
	start  int64  // offset of the buffer in the file
	buf    []byte // what was read and not returned: it ends with the \n of the next line
	skip   bool   // it ends within a line that is skipped
	block  int
	looked int64
	gaveUp bool
}

func newBackward(r io.ReaderAt, size int64) *backward {
	return &backward{r: r, start: size, skip: true, block: firstBlock}
}

// previous returns the line before the one that it returned last, without its \n, and its offset. The line is
// valid until the next call. io.EOF means that there are no more lines, or that MaxLook bytes have been read
// (gaveUp).
func (b *backward) previous() (line []byte, at int64, err error) {
	for {
		if len(b.buf) > 0 {
			end := len(b.buf)
			if !b.skip {
				end--
			}
			if i := bytes.LastIndexByte(b.buf[:end], '\n'); i >= 0 || b.start == 0 {
				skipped := b.skip
				line, b.buf, b.skip = b.buf[i+1:end], b.buf[:i+1], false
				if !skipped {
					return line, b.start + int64(i) + 1, nil
				}
				continue
			}
		}
		if b.start == 0 || b.looked >= MaxLook {
			b.gaveUp = b.start > 0
			return nil, 0, io.EOF
		}
		if err := b.load(); err != nil {
			return nil, 0, err
		}
	}
}

// load reads the bytes before the buffer.
func (b *backward) load() error {
	const most = jsonl.MaxLine + len("\n\n") // a line with its end and the one before it
	b.skip = b.skip || len(b.buf) >= most
	if b.skip {
		b.buf = b.buf[:0]
		if cap(b.buf) > maxBlock {
			b.buf = nil
		}
	}
	kept := len(b.buf)
	more := int(min(int64(min(max(b.block, 2*kept), most)-kept), b.start))
	b.block = min(2*b.block, maxBlock)
	b.buf = slices.Grow(b.buf, more)[:more+kept]
	copy(b.buf[more:], b.buf[:kept]) // the two may overlap
	n, err := b.r.ReadAt(b.buf[:more], b.start-int64(more))
	if n < more {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file was truncated meanwhile
		}
		return err
	}
	b.start, b.looked = b.start-int64(more), b.looked+int64(more)
	return nil
}
