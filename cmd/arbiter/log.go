package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"sort"
)

// keptLogs is how many log files of earlier runs are kept.
const keptLogs = 50

// openLog makes the run's log file, readable by the user alone, and removes the
// oldest ones beyond keptLogs.
func openLog(state, run string) (*os.File, error) {
	dir := filepath.Join(state, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, run+".log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	pruneLogs(dir)
	return f, nil
}

// pruneLogs is housekeeping: what it cannot read or remove, it leaves.
func pruneLogs(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) <= keptLogs {
		return
	}
	age := map[string]int64{}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			age[f] = info.ModTime().UnixNano()
		}
	}
	sort.Slice(files, func(i, j int) bool { return age[files[i]] > age[files[j]] })
	for _, f := range files[keptLogs:] {
		_ = os.Remove(f)
	}
}

func newLogger(f *os.File, debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level}))
}
