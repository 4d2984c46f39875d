package transcript

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

const extension = ".jsonl"

// sessionID is the form of a session's id. Nothing else may become part of a
// path or of a pattern.
var sessionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
})

// Locate finds the transcript of a session, in whichever project it lies: the
// name of a project's directory is the CLI's business, and a session resumed
// elsewhere stays where it began. What it finds need not be a regular file, which
// shows when it is read. Of several it takes the one written to last, as
// a copy is the older. An id that is no UUID is not looked for.
func Locate(configDir, session string) (path string, ok bool) {
	if configDir == "" || !sessionID().MatchString(session) {
		return "", false
	}
	projects := filepath.Join(configDir, "projects")
	dirs, err := os.ReadDir(projects) // no pattern: the directory's own name may hold brackets
	if err != nil {
		return "", false
	}
	var newest fs.FileInfo
	for _, dir := range dirs {
		candidate := filepath.Join(projects, dir.Name(), session+extension)
		info, err := os.Lstat(candidate)
		if err == nil && (newest == nil || info.ModTime().After(newest.ModTime())) {
			path, newest = candidate, info
		}
	}
	return path, newest != nil
}

// Beside returns the directory in which a session keeps what is too large for
// its transcript, and its subagents' transcripts.
func Beside(path string) string { return strings.TrimSuffix(path, extension) }

// subagentDir is where a session's subagents keep their transcripts. The CLI creates
// it with the first of them.
func subagentDir(path string) string { return filepath.Join(Beside(path), "subagents") }

// Size is how large a session's transcript is, with those of its subagents. What
// cannot be seen counts nothing.
func Size(path string) int64 {
	total := regularSize(path)
	subagents := subagentDir(path)
	entries, err := os.ReadDir(subagents)
	if err != nil {
		return total
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), extension) {
			total += regularSize(filepath.Join(subagents, e.Name()))
		}
	}
	return total
}

func regularSize(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
