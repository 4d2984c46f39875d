package runstore

// This part of the package reads and writes archives of runs: a run that ended in one place continues in
// another, with the same conversations.
//
// # Format
//
// An archive is a tar file, compressed with gzip. Its entries are regular files, in the order of the manifest:
//
//	manifest.json                                     what is in the archive: sizes and SHA-256
//	run/meta.json, run/journal-000007, run/events.ndjson
//	run/images/SHA256
//	projects/PROJECT/SESSION.jsonl                    transcripts, as Claude Code names them
//	projects/PROJECT/SESSION/{subagents,tool-results}/FILE
//	repository.bundle                                 the run's files, as a Git bundle
//
// A reader trusts nothing: an entry that is unknown, too large, no regular file, in the wrong place, or whose hash
// differs from the manifest's is an error ([ArchiveError]), and so is anything after the last entry. Hashes detect
// damage. They do not prove who made an archive: anyone who can write one can write any run.
//
// # Transcripts
//
// Claude Code finds a session in any project's directory (observed with CLI 2.1.319 and later). So transcripts keep
// the name of the project in which they began. [ArchivePlace] copies them into a Claude configuration directory: it
// replaces an existing transcript only if that is a prefix of the exported one.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/transcript"
)

// OtherError reports a session that has continued differently in a Claude configuration directory.
type OtherError struct{ Session, Path string }

func (e *OtherError) Error() string {
	return fmt.Sprintf("session %s is in %s already, and continued there: move that file away, or continue the run "+
		"there", e.Session, e.Path)
}

// ArchivePlace copies exported transcripts into a Claude configuration directory. from is their directory,
// [ProjectsDir] of an archive. An existing transcript is replaced if it is a prefix of the exported one; otherwise
// Place returns an [OtherError] before it writes anything. Place can be repeated after it was killed.
func ArchivePlace(from, config string) error {
	found, err := CheckArchive(from, config)
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := s.place(filepath.Join(config, ProjectsDir)); err != nil {
			return err
		}
	}
	return nil
}

// exported is a transcript in an imported directory.
type exported struct {
	file string // path of the file
	name string // path below the projects directory
	to   string // path of the transcript to replace; empty: none
	same bool   // both are identical
}

// CheckArchive returns the error that [ArchivePlace] would return before it writes, and otherwise the transcripts to
// copy.
func CheckArchive(from, config string) ([]exported, error) {
	files, err := filepath.Glob(filepath.Join(escape(from), "*", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []exported
	for _, file := range files {
		x := exported{file: file, name: filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))}
		session := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		there, ok := transcript.Locate(config, session)
		if ok {
			begins, same, err := beginning(there, file)
			if err != nil {
				return nil, err
			}
			if !begins {
				return nil, &OtherError{session, there}
			}
			x.to, x.same = there, same
		}
		all = append(all, x)
	}
	return all, nil
}

// escape quotes a path as a glob pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// beginning reports whether file a is a prefix of file b, and whether both are equal.
func beginning(a, b string) (begins, same bool, err error) {
	short, n, err := openRegular(a)
	if err != nil {
		return false, false, err
	}
	defer short.Close()
	long, m, err := openRegular(b)
	if err != nil {
		return false, false, err
	}
	defer long.Close()
	if n > m {
		return false, false, nil
	}
	x, y := bufio.NewReaderSize(short, 1<<16), bufio.NewReaderSize(io.LimitReader(long, n), 1<<16)
	for left := n; left > 0; {
		size := int(min(left, 1<<16))
		p, err := x.Peek(size)
		if err != nil {
			return false, false, err
		}
		q, err := y.Peek(size)
		if err != nil {
			return false, false, err
		}
		if !bytes.Equal(p, q) {
			return false, false, nil
		}
		_, _ = x.Discard(size) // it was peeked before
		_, _ = y.Discard(size)
		left -= int64(size)
	}
	return true, n == m, nil
}

// place copies a transcript, after the files in the directories beside it.
func (x exported) place(projects string) error {
	to := x.to
	if to == "" {
		to = filepath.Join(projects, x.name)
	}
	for _, dir := range besideDirs {
		in := filepath.Join(transcript.Beside(x.file), dir)
		entries, err := os.ReadDir(in)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			err := copyMissing(filepath.Join(in, e.Name()), filepath.Join(transcript.Beside(to), dir, e.Name()))
			if err != nil {
				return err
			}
		}
	}
	if x.same {
		return nil
	}
	return copyFile(x.file, to)
}

// copyMissing copies a file if the target does not exist or has only its beginning.
func copyMissing(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		begins, same, err := beginning(to, from)
		if err != nil || same || !begins {
			return err
		}
	}
	return copyFile(from, to)
}

// copyFile copies a file atomically, readable only by the user. Until the copy is on disk, its name is one that
// Claude Code does not use.
func copyFile(from, to string) error {
	in, _, err := openRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return statedir.WriteWhole(to, 0o600, func(f *os.File) error {
		_, err := io.Copy(f, in)
		return err
	})
}
