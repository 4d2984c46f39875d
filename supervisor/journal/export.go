package journal

import (
	"errors"
	"io"
	"slices"
	"syscall"
)

// Kept is a run that cannot be opened or removed while its files are read. Close it.
type Kept struct {
	Meta Meta
	h    held
}

// Keep locks a run, so that its files can be copied. It returns *HeldError while the run is live, and
// ErrNotFound if it does not exist.
func (s *Store) Keep(id string) (k *Kept, err error) {
	defer attempted(&err, "keep", id)
	h, err := s.hold(id, openLock, 0)
	if errors.Is(err, syscall.EROFS) { // a disk that failed became read-only: the run must get away from there
		h, err = s.hold(id, openRead, 0)
	}
	if err != nil {
		return nil, err
	}
	m, lost, err := readMeta(h.dir, id)
	if err = errors.Join(err, lost); err != nil {
		h.close()
		return nil, err
	}
	return &Kept{m, h}, nil
}

// Files lists the files that make up the run: its description, its segments and its event log, without locks,
// logs and copies of damage.
func (k *Kept) Files() ([]string, error) {
	names, err := k.h.dir.Names()
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name != LogName && !ownName(name) })
	slices.Sort(names)
	return names, nil
}

// Open opens one of Files. The caller closes it.
func (k *Kept) Open(name string) (content io.ReadCloser, size int64, err error) {
	f, err := k.h.dir.Open(name, openRead)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if name == LogName {
		f = &logFile{file: f, dir: k.h.dir}
	}
	return sectionOf{io.NewSectionReader(f, 0, info.Size), f}, info.Size, nil
}

type sectionOf struct {
	*io.SectionReader
	io.Closer
}

// Close releases the run.
func (k *Kept) Close() error { return k.h.close() }
