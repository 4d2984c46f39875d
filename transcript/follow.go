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
	OnLine func(jsonl.Line)
	// OnAgain, if set, is called before the lines of a file that is now shorter than what was read of it, or that has
	// taken the place of another: they may repeat earlier ones.
	OnAgain func()
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
	file    *os.File // nil if there is none yet
	info    os.FileInfo
	begun   bool // there was a file
	awaited bool // there was no file at first
	lines   jsonl.Splitter
	problem string // reported last
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
			if errors.Is(err, fs.ErrNotExist) && !l.begun {
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
			l.begin(0)
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
			l.OnLine(line)
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
	offset := int64(0)
	if l.AtEnd && !l.begun && !l.awaited {
		offset, err = lastLineEnd(file, info.Size())
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("find the place to begin: %w", err)
	}
	l.file, l.info = file, info
	l.reportProblem(nil)
	l.begin(offset)
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

// begin reads the open file from an offset on.
func (l *looker) begin(offset int64) {
	l.lines.Reset(offset)
	if l.begun && l.OnAgain != nil {
		l.OnAgain()
	}
	l.begun = true
}

func (l *looker) close() {
	if l.file != nil {
		l.file.Close() // it was only read
		l.file = nil
	}
}
