package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Followed is a line of a followed file.
type Followed struct {
	jsonl.Line
	// Generation counts the times the follower began with a file, see [Turn]. Lines
	// of a later one may repeat those of an earlier one.
	Generation int
}

// Cause says why a follower begins with a file.
type Cause string

// The causes.
const (
	Opened    Cause = "opened"    // it is the first, begun where it was wanted
	Truncated Cause = "truncated" // it became shorter than what was read of it
	Replaced  Cause = "replaced"  // another file stands in its place
)

// Turn reports that the lines that follow are of a new generation.
type Turn struct {
	Generation int // from 1
	Cause      Cause
	Offset     int64 // where it begins to read
	Lost       int64 // bytes of the last generation that never became a line
}

// Follower delivers the lines of a file that others write, now and as they come.
// The file need not exist yet, nor its directory; it may be truncated, replaced,
// removed and created again. A rewrite in place that is no shorter is not seen.
//
// Each look reads to the end and only then asks what stands at the path, so that
// what was written before a file was replaced is still delivered. A line is
// delivered when its \n is there. It holds no more than one line and, during
// a look, one buffer.
//
// Fields are set before Run, and not changed. Callbacks are called by Run's
// goroutine, one at a time. While they work the follower does not read.
type Follower struct {
	Path  string
	Waker Waker

	// AtEnd leaves out the lines that are there at the first look; one without an end
	// yet is not left out.
	AtEnd bool

	// MaxLine is the longest line delivered whole, in bytes; 0: [jsonl.MaxLine].
	MaxLine int

	// OnLine gets each line; its Data is valid until it returns.
	OnLine func(Followed)
	// OnTurn, if set, is called for each generation before its first line.
	OnTurn func(Turn)
	// OnIdle, if set, is called when a look has found the end.
	OnIdle func()
	// OnTrouble, if set, is called with the reason why the file cannot be read, once for each reason,
	// and nil when that is over. That it does not exist yet is no trouble; that it is
	// gone is (fs.ErrNotExist).
	OnTrouble func(error)
}

// Run follows the file until ctx ends, whose error it returns. It looks at once,
// and then whenever the waker says so: what fails is tried again with the next wake.
func (f *Follower) Run(ctx context.Context) error {
	l := &looker{Follower: f, lines: jsonl.Splitter{Max: f.MaxLine}}
	defer l.close()
	wake := f.Waker.Wake()
	for {
		l.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

// looker is the state of a running follower.
type looker struct {
	*Follower
	file       *os.File // nil: there is none yet
	info       os.FileInfo
	generation int
	awaited    bool // there was no file at first
	lines      jsonl.Splitter
	trouble    string // what was reported last
}

func (l *looker) look(ctx context.Context) {
	err := l.catchUp(ctx)
	if ctx.Err() != nil {
		return
	}
	l.tell(err)
	if l.OnIdle != nil && err == nil {
		l.OnIdle()
	}
}

// tell reports new trouble, and its end.
func (l *looker) tell(trouble error) {
	reason := ""
	if trouble != nil {
		reason = trouble.Error()
	}
	if reason != l.trouble && l.OnTrouble != nil {
		l.OnTrouble(trouble)
	}
	l.trouble = reason
}

// catchUp reads what there is, across as many files as have stood at the path.
func (l *looker) catchUp(ctx context.Context) error {
	for ctx.Err() == nil {
		if l.file == nil {
			err := l.open()
			if errors.Is(err, fs.ErrNotExist) && l.generation == 0 {
				l.awaited = true
				return nil
			}
			if err != nil {
				return l.failed(err)
			}
		}
		trouble := l.read(ctx)
		info, err := os.Lstat(l.Path)
		switch {
		case err != nil:
			// The file stays open: it may come back, and its inode is not used for another
			// one meanwhile.
			return l.failed(err)
		case !os.SameFile(l.info, info):
			// What came between the last read and the replacement. It may be unreadable for
			// good: a network file system takes away what another machine replaced.
			if err := l.read(ctx); err != nil {
				l.tell(err)
			}
			l.close()
		case trouble != nil:
			return trouble
		case info.Size() < l.lines.Fed():
			l.begin(Truncated, 0)
		default:
			return nil
		}
	}
	return nil
}

// read delivers the file's lines to its present end.
func (l *looker) read(ctx context.Context) error {
	buf := buffers.Get().(*[followBuffer]byte)
	defer buffers.Put(buf)
	for ctx.Err() == nil {
		n, err := l.file.ReadAt(buf[:], l.lines.Fed())
		l.lines.Feed(buf[:n])
		for line, ok := l.lines.Next(); ok; line, ok = l.lines.Next() {
			if line.Start == 0 {
				line.Data = bytes.TrimPrefix(line.Data, byteOrderMark)
			}
			l.OnLine(Followed{Line: line, Generation: l.generation})
			if ctx.Err() != nil {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return l.failed(err)
		}
	}
	return nil
}

// failed says what was attempted, and of a file that is gone always the same.
func (l *looker) failed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("follow %s: %w", l.Path, err)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// followBuffer is how much is read at once. Buffers are shared: of many followers
// few read at a time.
const followBuffer = 128 << 10

var buffers = sync.Pool{New: func() any { return new([followBuffer]byte) }}

// open begins with the file that stands at the path.
func (l *looker) open() error {
	file, err := open(l.Path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("open transcript: %w", err)
	}
	cause, offset := Replaced, int64(0)
	if l.generation == 0 {
		cause = Opened
		if l.AtEnd && !l.awaited {
			offset, err = lastLineEnd(file, info.Size())
		}
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("find the place to begin: %w", err)
	}
	l.file, l.info = file, info
	l.tell(nil)
	l.begin(cause, offset)
	return nil
}

// backBuffer is how much is read at once when looking backwards for a line's end.
const backBuffer = 64 << 10

// lastLineEnd is the offset behind the last \n before size. A line that is too
// long to be delivered is not searched for its beginning.
func lastLineEnd(file io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, backBuffer)
	for end := size; end > 0 && size-end <= jsonl.MaxLine; {
		begin := max(0, end-int64(len(buf)))
		n, err := file.ReadAt(buf[:end-begin], begin)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return begin + int64(i) + 1, nil
		}
		end = begin
		if end == 0 {
			return 0, nil
		}
	}
	return size, nil
}

// begin starts a generation at an offset of the open file.
func (l *looker) begin(cause Cause, offset int64) {
	lost := l.lines.Fed() - l.lines.Offset()
	l.lines.Reset(offset)
	l.generation++
	if l.OnTurn != nil {
		l.OnTurn(Turn{Generation: l.generation, Cause: cause, Offset: offset, Lost: lost})
	}
}

func (l *looker) close() {
	if l.file != nil {
		l.file.Close() // it was only read
		l.file = nil
	}
}
