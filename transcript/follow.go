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
	// Generation counts how often the follower began with a file, see [Turn]. Lines of a later generation may
	// repeat those of an earlier one.
	Generation int
}

// Cause says why a follower begins with a file.
type Cause string

// The causes.
const (
	Opened    Cause = "opened"    // the first file
	Truncated Cause = "truncated" // the file is now shorter than what was read of it
	Replaced  Cause = "replaced"  // another file has its place
)

// Turn reports that the following lines are of a new generation.
type Turn struct {
	Generation int // from 1
	Cause      Cause
	Offset     int64 // where reading begins
	Lost       int64 // bytes of the last generation that did not form a line
}

// Follower delivers the lines of a file that others write: the existing ones, and new ones as they come. The
// file and its directory need not exist yet; the file may be truncated, replaced, removed and created again. A
// rewrite in place that does not shorten the file is not detected.
//
// Each look reads to the end and checks only then which file is at the path, so that what was written before a
// replacement is still delivered. A line is delivered when its \n has come. A Follower holds at most one line
// and, during a look, one buffer.
//
// Set the fields before Run, and do not change them. Run's goroutine calls the callbacks, one at a time. The
// follower does not read while they run.
type Follower struct {
	Path string
	Bell Bell

	// AtEnd leaves out the lines that are complete at the first look.
	AtEnd bool

	// MaxLine is the longest line delivered whole, in bytes; 0: [jsonl.MaxLine].
	MaxLine int

	// OnLine gets each line, whose Data is valid until OnLine returns.
	OnLine func(Followed)
	// OnTurn, if set, is called for each generation before its first line.
	OnTurn func(Turn)
	// OnIdle, if set, is called when a look has reached the end.
	OnIdle func()
	// OnProblem, if set, is called once with each reason why the file cannot be read, and with nil when that is
	// over. It is not a problem if the file does not exist yet; it is one if the file is gone (fs.ErrNotExist).
	OnProblem func(error)
}

// Run follows the file until ctx is cancelled, and returns ctx's error. It looks at once, and then whenever the
// bell rings; what fails is retried with the next ring.
func (f *Follower) Run(ctx context.Context) error {
	l := &looker{Follower: f, lines: jsonl.Splitter{Max: f.MaxLine}}
	defer l.close()
	for {
		l.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.Bell:
		}
	}
}

// looker is the state of a running follower.
type looker struct {
	*Follower
	file       *os.File // nil if there is none yet
	info       os.FileInfo
	generation int
	awaited    bool // there was no file at first
	lines      jsonl.Splitter
	problem    string // reported last
}

func (l *looker) look(ctx context.Context) {
	err := l.catchUp(ctx)
	if ctx.Err() != nil {
		return
	}
	l.reportProblem(err)
	if l.OnIdle != nil && err == nil {
		l.OnIdle()
	}
}

// reportProblem reports a new problem, and its end.
func (l *looker) reportProblem(problem error) {
	reason := ""
	if problem != nil {
		reason = problem.Error()
	}
	if reason != l.problem && l.OnProblem != nil {
		l.OnProblem(problem)
	}
	l.problem = reason
}

// catchUp reads all available lines, of all the files that have been at the path.
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
		problem := l.read(ctx)
		info, err := os.Lstat(l.Path)
		switch {
		case err != nil:
			// The file stays open: it may come back, and its inode cannot be reused for another file meanwhile.
			return l.failed(err)
		case !os.SameFile(l.info, info):
			// Read what came between the last read and the replacement. This may never succeed: a network file
			// system removes a file that another machine has replaced.
			if err := l.read(ctx); err != nil {
				l.reportProblem(err)
			}
			l.close()
		case problem != nil:
			return problem
		case info.Size() < l.lines.Fed():
			l.begin(Truncated, 0)
		default:
			return nil
		}
	}
	return nil
}

// read delivers the file's lines up to its present end.
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

// failed says what was attempted. For a file that is gone, the error is always the same.
func (l *looker) failed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("follow %s: %w", l.Path, err)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// followBuffer is how much is read at once. Buffers are shared, since few of many followers read at the same
// time.
const followBuffer = 128 << 10

var buffers = sync.Pool{New: func() any { return new([followBuffer]byte) }}

// open begins with the file that is at the path.
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
	l.reportProblem(nil)
	l.begin(cause, offset)
	return nil
}

// backBuffer is how much is read at once when searching backwards for the end of a line.
const backBuffer = 64 << 10

// lastLineEnd returns the offset after the last \n before size. If the last line is too long to be delivered,
// it does not search for its beginning, and returns size.
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
