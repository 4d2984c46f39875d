package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LookAt inspects a directory. If it does not exist, LookAt inspects the nearest existing directory above it.
func LookAt(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		p.refused(at, mayWrite(at))
	}
	return p
}

// Prove does the same as LookAt, and also writes a file, syncs it and removes it.
func Prove(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		var err error
		p.Synced, err = writeDoctor(at)
		p.refused(at, err)
	}
	return p
}

func look(path string) (p DoctorPlace, at string) {
	p = DoctorPlace{Path: path, Owner: -1, Free: -1}
	link, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p.Problem = err.Error()
		return p, ""
	default:
		p.Link = link.Mode()&fs.ModeSymlink != 0
		info, err := os.Stat(path)
		if err != nil {
			p.Problem = err.Error()
			return p, ""
		}
		if !info.IsDir() {
			p.Problem = path + " exists and is not a directory"
			return p, ""
		}
		p.Exists, p.Mode, p.Owner = true, uint32(info.Mode().Perm()), owner(info)
	}
	at = path
	for !isDir(at) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	p.Free, p.Network = fileSystem(at)
	return p, at
}

// refused stores why nothing can be written.
func (p *DoctorPlace) refused(at string, err error) {
	switch {
	case err == nil:
	case p.Exists:
		p.Written = fmt.Sprintf("%s cannot be written to: %v", at, cause(err))
	default:
		p.Written = fmt.Sprintf("%s cannot be created: %v", p.Path, cause(err))
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeDoctor writes and syncs a temporary file, and returns how long the sync took.
func writeDoctor(dir string) (took time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".arbiter-doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString("written to see whether that can be done\n"); err != nil {
		return 0, err
	}
	began := time.Now()
	err = f.Sync()
	return time.Since(began), err
}

// cause returns the error without the name of a temporary file.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
