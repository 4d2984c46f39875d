package main

import (
	"log/slog"
	"os"
	"sync"
	"syscall"
)

const (
	logName = "log" // in a run's directory
	// maxLog is the size at which a log is put aside; one earlier part is kept.
	maxLog = 16 << 20
)

// logFile is a run's log, readable by the user alone and bounded.
type logFile struct {
	path string
	mask func(string) string // of secrets, in lines; set before the first one; nil: none

	mu   sync.Mutex
	f    *os.File
	size int64
}

// openLog opens the log of a run, to be added to.
func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() error {
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

// Write implements io.Writer. What cannot be put aside goes on growing: a log is
// worth more than its bound.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > maxLog && os.Rename(l.path, l.path+".1") == nil {
		old := l.f
		if err := l.open(); err == nil {
			old.Close()
		}
	}
	line := p
	if l.mask != nil { // a call is a line
		line = []byte(l.mask(string(p)))
	}
	n, err := l.f.Write(line)
	l.size += int64(n)
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// Close ends it.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

func newLogger(f *logFile, debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level}))
}
