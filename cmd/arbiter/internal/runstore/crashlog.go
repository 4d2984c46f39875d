package runstore

// This part of the package writes the diagnostic files of a run's process, with secrets masked: a log of
// bounded size, and a report of each crash with the last events before it.
//
// A [CrashReporter] owns the goroutines that write, and its Close waits for them. A [CrashLog] has no goroutine.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

const (
	keptEvents = 100 // in a crash report
	maxReports = 20  // of one process of a run
)

// CrashReporter writes a file for each crash of arbiter or of an agent: its description and the last events, with
// secrets masked. It records the events itself, and writes each report on a goroutine of its own. Its owner sets the
// exported fields before anything else, and closes it.
type CrashReporter struct {
	Dir     string // of a run
	Version string // of this program
	Mask    func(string) string
	Log     *slog.Logger

	work sync.WaitGroup // one for each report

	mu      sync.Mutex
	last    []timedEvent
	reports int
	paths   []string
}

type timedEvent struct {
	at time.Time
	e  contract.Event
}

// Note is a runloop.Sink: it records every event.
func (c *CrashReporter) Note(at time.Time, e contract.Event) {
	c.mu.Lock()
	c.last = append(c.last[max(0, len(c.last)+1-keptEvents):], timedEvent{at, e})
	c.mu.Unlock()
	if b, ok := e.Body.(contract.Done); ok && b.Reason == string(runconfig.RestartCrash) {
		c.write(at, e.ID, "session "+b.SessionID+" ended unasked\n")
	}
}

// Panicked reports a panic of Arbiter.
func (c *CrashReporter) Panicked(f *runloop.Fault) {
	c.write(time.Now(), "arbiter-program", "panic: "+f.Panic+"\n\n"+string(f.Stack))
}

// write starts to write a report, unless there are too many.
func (c *CrashReporter) write(at time.Time, who, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reports >= maxReports {
		return
	}
	c.reports++
	events := c.last // later ones do not change it
	c.work.Go(func() {
		path, err := c.save(at, who, text, events)
		if err != nil {
			c.Log.Warn("crash report", "error", err)
			return
		}
		c.Log.Warn("crash", "who", who, "report", path)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, path)
	})
}

// Close waits until the reports are written. Later ones are not.
func (c *CrashReporter) Close() {
	c.mu.Lock()
	c.reports = maxReports
	c.mu.Unlock()
	c.work.Wait()
}

// Written returns the paths of the reports of this process.
func (c *CrashReporter) Written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.paths...)
}

func (c *CrashReporter) save(at time.Time, who, text string, events []timedEvent) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "arbiter %s, %s, %s\n\n%s\nThe last events:\n", c.Version, who,
		at.UTC().Format(time.RFC3339Nano), text)
	for i, e := range events {
		line, err := contract.EncodeLine(nil, uint64(i+1), e.at, e.e)
		if err != nil {
			line = fmt.Appendf(nil, "(%v)\n", err)
		}
		b.Write(line)
	}
	f, err := os.CreateTemp(c.Dir, fmt.Sprintf("crash-%s-%s-*.txt", at.UTC().Format("20060102T150405"), who))
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(c.Mask(b.String()))
	return f.Name(), errors.Join(err, f.Close())
}

// followPause is the polling interval of a followed log.
const followPause = 100 * time.Millisecond

// FollowCrashes copies the log in a run's directory to w, with everything that is appended, until the run is over or
// ctx ends. When the log is rotated, it continues with the next file.
func FollowCrashes(ctx context.Context, dir string, w io.Writer, alive func() bool) error {
	var log *os.File // nil: there is none yet
	defer func() { log.Close() }()
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		over := !alive() // checked first: the copy after the run's end is complete
		next, err := os.Open(filepath.Join(dir, LogName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("log: %w", err)
		}
		if log, err = copyLog(w, log, next); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if over {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// copyLog copies what was appended to a log. If it was rotated, next is another one, to which it goes on: nothing is
// appended to the old one any more.
func copyLog(w io.Writer, log, next *os.File) (now *os.File, err error) {
	if log != nil {
		if _, err := io.Copy(w, log); err != nil || next == nil || sameFile(log, next) {
			next.Close()
			return log, err
		}
		log.Close()
	}
	if next != nil {
		_, err = io.Copy(w, next)
	}
	return next, err
}

func sameFile(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}

const (
	LogName = "log" // in a run's directory
	// maxLog is the size at which a log is rotated; one earlier file is kept.
	maxLog = 16 << 20
)

// CrashLog is a run's log: of bounded size, and readable only by the user.
type CrashLog struct {
	path string
	mask func(string) string // masks the secrets in a line

	mu   sync.Mutex
	f    *os.File
	size int64
}

// OpenLog opens the log in a run's directory for appending; mask masks secrets.
func OpenLog(dir string, mask func(string) string) (*CrashLog, error) {
	l := &CrashLog{path: filepath.Join(dir, LogName), mask: mask}
	return l, l.open()
}

// Path returns the path of the log.
func (l *CrashLog) Path() string { return l.path }

func (l *CrashLog) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write implements io.Writer. If the rotation fails, the log keeps growing: losing it would be worse than exceeding
// its limit.
func (l *CrashLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > maxLog && os.Rename(l.path, l.path+".1") == nil {
		old := l.f
		if err := l.open(); err == nil {
			old.Close()
		}
	}
	n, err := l.f.Write([]byte(l.mask(string(p)))) // each call has one line
	l.size += int64(n)
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// Close closes the log.
func (l *CrashLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

// Logger returns a logger that writes to the log.
func (l *CrashLog) Logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}
