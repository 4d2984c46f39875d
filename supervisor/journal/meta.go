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

// Meta describes a run. It is used for finding and listing runs; the records contain what happened.
type Meta struct {
	Run       string    `json:"run"`           // its id
	CWD       string    `json:"cwd,omitempty"` // the working directory, links resolved
	Began     time.Time `json:"began,omitzero"`
	Workspace string    `json:"workspace,omitempty"` // where agents work, if that is another directory
	Version   string    `json:"version,omitempty"`   // of the program that created it
	Title     string    `json:"title,omitempty"`
	Rehearsal bool      `json:"rehearsal,omitempty"`
	Finished  bool      `json:"finished,omitempty"`
	Status    string    `json:"status,omitempty"`   // how it finished
	CostUSD   float64   `json:"cost_usd,omitempty"` // when it ended
	// Imported: the run came from elsewhere. CWD is where it continues, even if its records name another
	// directory.
	Imported bool `json:"imported,omitempty"`
	// ForkedFrom is the run that this one branched off from.
	ForkedFrom *Fork `json:"forked_from,omitempty"`

	// Place identifies CWD if its name is not valid text. Create fills it in.
	Place string `json:"place,omitempty"`
	// Closed is the last record at the time when the run was last closed normally. The journal maintains it.
	Closed uint64 `json:"closed,omitempty"`
	// Reopened: the run was opened since, and not closed normally yet. The journal maintains it.
	Reopened bool `json:"reopened,omitempty"`
	// Bytes is the size of all files of the run's directory then. The journal maintains it.
	Bytes int64 `json:"bytes,omitempty"`
}

// Fork is where a run branched off from another one.
type Fork struct {
	Run string `json:"run"`
	At  int    `json:"at"` // the number of the decision before which it did
	// CostUSD is what that run had cost by then. The costs of this run begin with it.
	CostUSD float64 `json:"cost_usd"`
	// Isolated: no agent of it works in CWD, where another run may work.
	Isolated bool `json:"isolated,omitempty"`
}

// writeMeta replaces the whole description.
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

// readMeta reads the description of a run. If it is lost, readMeta reconstructs it, and lost says why. Only an
// undamaged description of another format is an error.
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
	// The lock file also names the run and its directory, and outlives its owner.
	m = Meta{Run: run}
	if b, err := readSmall(dir, lockName); err == nil {
		var h holder
		if decodeSmall(b, lockName, lockVersion, &h) == nil && h.Run == run {
			m.CWD, m.Place, m.Began = h.CWD, h.Place, h.Since
		}
	}
	return m, err, nil
}
