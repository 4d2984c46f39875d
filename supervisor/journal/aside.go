package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

const (
	maxAside      = 16 << 20 // bytes copied of one damaged part
	maxAsideFiles = 32
)

// setAside copies damaged parts to files of their own, for people to look at, and records the names. Torn parts
// are not a loss and are left out. The copies are optional: if copying fails, opening the run continues.
func setAside(dir directory, damage []Damage) {
	for i := range damage {
		if d := &damage[i]; !d.Torn && !d.Mended && d.Bytes > 0 {
			if name, err := copyAside(dir, d); err == nil {
				d.SetAside = name
			}
		}
	}
}

func copyAside(dir directory, d *Damage) (string, error) {
	from, err := dir.Open(d.Segment, openRead)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, name, err := freshAside(dir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	crash("journal.damage.write.before")
	if err := copyRange(to, from, d.Offset, min(d.Bytes, maxAside)); err != nil {
		return "", errors.Join(err, dir.Unlink(name))
	}
	crash("journal.damage.sync.before")
	if err := to.Sync(); err != nil {
		return "", err
	}
	crash("journal.damage.syncdir.before")
	return name, dir.Sync()
}

// freshAside creates a file under the first free name; it never replaces one.
func freshAside(dir directory) (file, string, error) {
	for n := 1; n <= maxAsideFiles; n++ {
		name := fmt.Sprintf("damaged-%d", n)
		f, err := dir.Open(name, openCreate)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", fmt.Errorf("set aside damage: there are %d files already", maxAsideFiles)
}

func copyRange(to, from file, off, n int64) error {
	buf := make([]byte, min(n, 64<<10))
	for at := int64(0); at < n; {
		got, err := from.ReadAt(buf[:min(int64(len(buf)), n-at)], off+at)
		if _, err := to.WriteAt(buf[:got], at); err != nil {
			return err
		}
		at += int64(got)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
