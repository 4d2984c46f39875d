package trust

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// recordVersion is the version of the files. A file of a later version is not understood, and its workspace is
// not trusted.
const recordVersion = 1

// maxRecord bounds a file, in bytes.
const maxRecord = 64 << 20

// Store is the records of trust in a state directory: a file for each workspace, 0600, in a directory of the user,
// 0700. [Store.On] adds a file for each host where agents of a workspace load other files.
type Store struct{ state, host string }

const trustDir = "trust"

// Open creates the directory trust/ in a state directory, or opens it.
func Open(state string) (Store, error) {
	d, err := statedir.Open(filepath.Join(state, trustDir))
	if err != nil {
		return Store{}, fmt.Errorf("open the records of trust: %w", err)
	}
	return Store{state: state}, d.Close()
}

// On returns the store of what is trusted on another host, in the directories of a workspace's agents.
// Workspaces are named by their directories here, listings by those there.
func (s Store) On(host string) Store { return Store{s.state, host} }

// Record is what was trusted, by whom and when.
type Record struct {
	Version int       `json:"version"`
	Host    string    `json:"host,omitempty"` // another host; For is the workspace here that its agents work for
	For     string    `json:"for,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Listing Listing   `json:"listing"`
}

// open opens the directory with the records of a workspace, and returns the name of the store's.
func (s Store) open(cwd string) (own *statedir.Workspace, file string, err error) {
	if own, err = statedir.OpenWorkspace(s.state, trustDir, cwd); err != nil {
		return nil, "", fmt.Errorf("open the records of trust: %w", err)
	}
	if file = own.Name; s.host != "" {
		file = fmt.Sprintf("%x", sha256.Sum256([]byte(s.host+"\x00"+own.CWD)))
	}
	return own, file + ".json", nil
}

// of reports whether a record is about a workspace, on the host of the store.
func (r Record) of(s Store, abs string) bool {
	return r.Host == s.host && (s.host == "" && r.Listing.CWD == abs && r.For == "" || s.host != "" && r.For == abs)
}

// Trusted returns what was trusted in a workspace, and whether anything was. A record that does not belong to
// the user, was changed by hand or is of another version is an error, and nothing is trusted.
func (s Store) Trusted(cwd string) (Listing, bool, error) {
	r, ok, err := s.Record(cwd)
	return r.Listing, ok, err
}

// Record is like Trusted, and also returns who gave the trust and when.
func (s Store) Record(cwd string) (Record, bool, error) {
	own, file, err := s.open(cwd)
	if err != nil {
		return Record{}, false, err
	}
	defer own.Close()
	raw, err := own.Read(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	switch {
	case err != nil:
	case r.Version != recordVersion:
		err = fmt.Errorf("it has version %d; this arbiter reads version %d", r.Version, recordVersion)
	case !r.of(s, own.CWD):
		err = errors.New("it is another workspace's")
	case r.Listing.Hash != hashOf(r.Listing.Items):
		err = errors.New("it was changed by hand")
	default:
		return r, true, nil
	}
	return Record{}, false, fmt.Errorf("the record of trust %s is not used: %w", own.Dir.Path(file), err)
}

// Trust records a listing, in place of an older one. by says how the trust was given.
func (s Store) Trust(cwd string, l Listing, by string, at time.Time) error {
	own, file, err := s.open(cwd)
	if err != nil {
		return err
	}
	defer own.Close()
	r := Record{Version: recordVersion, Host: s.host, By: by, At: at.UTC(), Listing: l}
	if s.host != "" {
		r.For = own.CWD
	}
	if !r.of(s, own.CWD) || l.Hash != hashOf(l.Items) {
		return errors.New("record trust: the listing is not that of the workspace")
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = own.Replace(file, append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	return nil
}

// Revoke removes the trust in a workspace, on other hosts, too, and reports whether anything was trusted here.
// It also removes a record that cannot be read. When it returns, the removal is on disk.
func (s Store) Revoke(cwd string) (existed bool, err error) {
	own, file, err := s.open(cwd)
	if err != nil {
		return false, err
	}
	defer own.Close()
	entries, err := fs.ReadDir(own.FS(), ".")
	for _, e := range entries {
		var r Record
		raw, unread := own.Read(e.Name(), maxRecord)
		if e.Name() == file || unread == nil && json.Unmarshal(raw, &r) == nil && r.Host != "" && r.For == own.CWD {
			existed = existed || e.Name() == file
			if failed := own.RemoveSynced(e.Name()); !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
	}
	if err != nil {
		return false, fmt.Errorf("revoke trust: %w", err)
	}
	return existed, nil
}
