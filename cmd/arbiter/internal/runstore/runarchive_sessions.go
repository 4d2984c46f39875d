package runstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/transcript"
)

// besideDirs are the directories next to a transcript that a resumed session reads.
var besideDirs = []string{"subagents", "tool-results"}

// Transcripts finds the transcript of a session in a Claude configuration directory, with those of its subagents
// and the results that are too large for it. A session without any message has no transcript. Files with names that
// Claude Code does not use are left out.
func Transcripts(config, session string) ([]ArchiveSource, error) {
	at, ok := transcript.Locate(config, session)
	if !ok {
		return nil, nil
	}
	in := filepath.Base(filepath.Dir(at))
	if !projectName().MatchString(in) {
		return nil, wrong("the directory of a transcript has an unknown name: %s", filepath.Dir(at))
	}
	base := path.Join(ProjectsDir, in, session)
	files := []ArchiveSource{ArchiveLocal(base+".jsonl", at)}
	for _, dir := range besideDirs {
		entries, err := os.ReadDir(filepath.Join(transcript.Beside(at), dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && plainName().MatchString(e.Name()) {
				files = append(files,
					ArchiveLocal(path.Join(base, dir, e.Name()), filepath.Join(transcript.Beside(at), dir, e.Name())))
			}
		}
	}
	return files, nil
}

// ArchiveLocal returns a source for a file of this machine.
func ArchiveLocal(name, file string) ArchiveSource {
	return ArchiveSource{name, func() (io.ReadCloser, int64, error) {
		f, n, err := openRegular(file)
		return f, n, err
	}}
}

// openRegular opens a regular file. It refuses links, and files on which an open or read could block.
func openRegular(file string) (*os.File, int64, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "open", Path: file, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = &fs.PathError{Op: "open", Path: file, Err: errors.New("another file took its place")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, now.Size(), nil
}
