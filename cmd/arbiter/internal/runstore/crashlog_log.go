package runstore

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

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
