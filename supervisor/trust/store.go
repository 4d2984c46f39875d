package trust

import (
	"crypto/sha256"
	"encoding/hex"
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

// Store is the directory with the records of trust: a file for each workspace, 0600, in a directory of the
// user, 0700. [Store.On] adds a file for each host where agents of a workspace load other files.
type Store struct{ dir, host string }

// Open creates the directory trust/ in a state directory, or opens it.
func Open(state string) (Store, error) {
	s := Store{dir: filepath.Join(state, "trust")}
	d, err := statedir.Open(s.dir)
	if err != nil {
		return s, fmt.Errorf("open the records of trust: %w", err)
	}
	return s, d.Close()
}

// On returns the store of what is trusted on another host, in the directories of a workspace's agents.
// Workspaces are named by their directories here, listings by those there.
func (s Store) On(host string) Store { return Store{s.dir, host} }

// Record is what was trusted, by whom and when.
type Record struct {
	Version int       `json:"version"`
	Host    string    `json:"host,omitempty"` // another host; For is the workspace here that its agents work for
	For     string    `json:"for,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Listing Listing   `json:"listing"`
}

// path returns the path of a workspace's file, and its directory without links.
func (s Store) path(cwd string) (string, string, error) {
	abs, err := filepath.Abs(cwd)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", "", fmt.Errorf("look for the record of trust: %w", err)
	}
	key := abs
	if s.host != "" {
		key = s.host + "\x00" + abs
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json"), abs, nil
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
	path, abs, err := s.path(cwd)
	if err != nil {
		return Record{}, false, err
	}
	var raw []byte
	err = s.open(func(d *statedir.Dir) (err error) {
		raw, err = d.Read(filepath.Base(path), maxRecord)
		return err
	})
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
	case !r.of(s, abs):
		err = errors.New("it is another workspace's")
	case r.Listing.Hash != hashOf(r.Listing.Items):
		err = errors.New("it was changed by hand")
	default:
		return r, true, nil
	}
	return Record{}, false, fmt.Errorf("the record of trust %s is not used: %w", path, err)
}

// open calls f with the directory of the records.
func (s Store) open(f func(*statedir.Dir) error) error {
	d, err := statedir.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d)
}

// Trust records a listing, in place of an older one. by says how the trust was given.
func (s Store) Trust(cwd string, l Listing, by string, at time.Time) error {
	path, abs, err := s.path(cwd)
	if err != nil {
		return err
	}
	r := Record{Version: recordVersion, Host: s.host, By: by, At: at.UTC(), Listing: l}
	if s.host != "" {
		r.For = abs
	}
	if !r.of(s, abs) || l.Hash != hashOf(l.Items) {
		return errors.New("record trust: the listing is not that of the workspace")
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = s.open(func(d *statedir.Dir) error { return d.Replace(filepath.Base(path), append(raw, '\n')) })
	}
	if err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	return nil
}

// Revoke removes the trust in a workspace, on other hosts, too, and reports whether anything was trusted here.
// It also removes a record that cannot be read. When it returns, the removal is on disk.
func (s Store) Revoke(cwd string) (bool, error) {
	path, abs, err := s.path(cwd)
	if err != nil {
		return false, err
	}
	existed := false
	err = s.open(func(d *statedir.Dir) error {
		if err := s.revokeElsewhere(d, abs); err != nil {
			return err
		}
		err := d.RemoveSynced(filepath.Base(path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		existed = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoke trust: %w", err)
	}
	return existed, nil
}

// revokeElsewhere removes the trust in a workspace on other hosts.
func (s Store) revokeElsewhere(d *statedir.Dir, abs string) error {
	entries, err := fs.ReadDir(d.FS(), ".")
	for _, e := range entries {
		raw, unread := d.Read(e.Name(), maxRecord)
		var r Record
		if unread == nil && json.Unmarshal(raw, &r) == nil && r.Host != "" && r.For == abs {
			err = errors.Join(err, d.RemoveSynced(e.Name()))
		}
	}
	return err
}
