package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

const extension = ".jsonl"

// Locate finds the transcript of a session in any project: the CLI chooses the names of the projects'
// directories, and a session that is resumed elsewhere stays where it began. The result need not be a regular
// file; reading it shows that. Of several files Locate returns the last written one, since a copy is older. It
// does not look for an id that is not a UUID.
func Locate(configDir, session string) (path string, ok bool) {
	const idLength = 36 // of the form that the CLI uses: nothing else may become part of a path
	if configDir == "" || len(session) != idLength || uuid.Validate(session) != nil {
		return "", false
	}
	projects := filepath.Join(configDir, "projects")
	dirs, err := os.ReadDir(projects) // no glob: the directory's own name may contain brackets
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

// Beside returns the directory for what is too large for a session's transcript, and for its subagents'
// transcripts.
func Beside(path string) string { return strings.TrimSuffix(path, extension) }

// subagentDir returns the directory of a session's subagents' transcripts. The CLI creates it for the first of
// them.
func subagentDir(path string) string { return filepath.Join(Beside(path), "subagents") }

// Size returns the total size of the transcripts of a session and its subagents. Files that cannot be read
// count as 0.
func Size(path string) int64 {
	total := Length(path)
	subagents := subagentDir(path)
	entries, err := os.ReadDir(subagents)
	if err != nil {
		return total
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), extension) {
			total += Length(filepath.Join(subagents, e.Name()))
		}
	}
	return total
}

// Length returns the length of a session's own transcript in bytes, 0 if it cannot be read.
func Length(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// maxFile is the size of the largest transcript that is read. The CLI reads a whole session when it resumes it,
// and its files are far below this size.
const maxFile = 2 << 30

// Reasons why a file is not read.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = fmt.Errorf("larger than %d bytes", maxFile)
)

// open opens a transcript for reading. It refuses a FIFO, a device, a directory or a symbolic link in its
// place, and never blocks on one.
func open(path string) (*os.File, error) {
	// Opening a FIFO without a writer must not block, and the last element of the path must not be a link.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("open transcript %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	case info.Size() > maxFile:
		err = ErrTooLarge
	default:
		return f, nil
	}
	f.Close()
	return nil, fmt.Errorf("open transcript %s: %w", path, err)
}
