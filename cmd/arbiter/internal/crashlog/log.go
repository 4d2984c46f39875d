package crashlog

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	LogName = "log" // in a run's directory
	// maxLog is the size at which a log is put aside; one earlier part is kept.
	maxLog = 16 << 20
)

// Log is a run's log, readable by the user alone and bounded.
type Log struct {
	path string
	mask func(string) string // of secrets, in lines

	mu   sync.Mutex
	f    *os.File
	size int64
}

// OpenLog opens the log in a run's directory, to be added to; mask masks secrets.
func OpenLog(dir string, mask func(string) string) (*Log, error) {
	l := &Log{path: filepath.Join(dir, LogName), mask: mask}
	return l, l.open()
}

// Path is where it is.
func (l *Log) Path() string { return l.path }

func (l *Log) open() error {
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

// Write implements io.Writer. What cannot be put aside keeps growing: a log is
// worth more than its bound.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > maxLog && os.Rename(l.path, l.path+".1") == nil {
		old := l.f
		if err := l.open(); err == nil {
			old.Close()
		}
	}
	n, err := l.f.Write([]byte(l.mask(string(p)))) // a call is a line
	l.size += int64(n)
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// Close ends it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

// Logger writes into it.
func (l *Log) Logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}
