package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	metaName    = "meta.json"
	metaVersion = 1
)

// Meta describes a run. It is for finding and listing runs; what happened in one
// is in its records.
type Meta struct {
	Run       string    `json:"run"`           // its id
	CWD       string    `json:"cwd,omitempty"` // the working directory, links resolved
	Began     time.Time `json:"began,omitzero"`
	Workspace string    `json:"workspace,omitempty"` // where agents work, if that is another directory
	Version   string    `json:"version,omitempty"`   // of the program that began it
	Title     string    `json:"title,omitempty"`
	Rehearsal bool      `json:"rehearsal,omitempty"`
	Finished  bool      `json:"finished,omitempty"`
	Status    string    `json:"status,omitempty"` // how it finished
	// Imported: it came from elsewhere. CWD is where it continues, even if its records name another directory.
	Imported bool `json:"imported,omitempty"`

	// Place identifies CWD where its name is no valid text. Create fills it in.
	Place string `json:"place,omitempty"`
	// Closed is the last record of when the run was last closed in order. The
	// journal keeps it.
	Closed uint64 `json:"closed,omitempty"`
	// Reopened: it was opened since, and not closed in order yet. The journal keeps it.
	Reopened bool `json:"reopened,omitempty"`
}

// writeMeta replaces the description as a whole.
func writeMeta(dir directory, m Meta) error {
	b, err := encodeSmall(metaVersion, m)
	if err != nil {
		return err
	}
	const scratch = metaName + scratchSuffix
	if err := dir.Unlink(scratch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.Open(scratch, openCreate)
	if err != nil {
		return err
	}
	defer f.Close()
	crash("journal.meta.write.before")
	if _, err := f.WriteAt(b, 0); err != nil {
		return errors.Join(err, ignoreMissing(dir.Unlink(scratch)))
	}
	crash("journal.meta.sync.before")
	if err := f.Sync(); err != nil {
		return errors.Join(err, ignoreMissing(dir.Unlink(scratch)))
	}
	crash("journal.meta.rename.before")
	if err := dir.Rename(scratch, metaName); err != nil {
		return err
	}
	crash("journal.meta.syncdir.before")
	if err := dir.Sync(); err != nil {
		return err
	}
	crash("journal.meta.syncdir.after")
	return nil
}

// readMeta reads the description of a run. If it is lost, it is made up and lost
// says why. Only a whole one of another format is an error.
func readMeta(dir directory, run string) (m Meta, lost error, err error) {
	b, err := readSmall(dir, metaName)
	var unsafe *UnsafeError
	switch {
	case errors.As(err, &unsafe):
		return Meta{}, nil, err
	case err == nil:
		err = decodeSmall(b, metaName, metaVersion, &m)
		if err == nil && m.Run != run {
			err = fmt.Errorf("%s is of run %q", metaName, m.Run)
		}
	}
	var version *VersionError
	switch {
	case err == nil:
		return m, nil, nil
	case errors.As(err, &version):
		return Meta{}, nil, err
	}
	// The lock file names run and directory too, and outlives its owner.
	m = Meta{Run: run}
	if b, err := readSmall(dir, lockName); err == nil {
		var h holder
		if decodeSmall(b, lockName, lockVersion, &h) == nil && h.Run == run {
			m.CWD, m.Place, m.Began = h.CWD, h.Place, h.Since
		}
	}
	return m, err, nil
}
