package decider

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

const (
	entrySuffix = ".json"
	tempSuffix  = ".tmp"
	maxEntry    = 64 << 10  // bytes
	staleTemp   = time.Hour // older temporary files were left by a crash
)

// DirStore keeps decisions in a directory, one file each, for all runs. Several processes may share it. An
// entry is written completely or not at all, but not synced: an entry that is damaged, cut short, or does not
// match its checksum counts as missing. Beyond the maximal size, the least recently used entries are removed.
type DirStore struct {
	dir  *statedir.Dir
	max  int
	warn func(error)

	mu    sync.Mutex // guards count; the files are safe on their own
	count int        // entries when last counted, and those written since
}

// entry is the content of a file.
type entry struct {
	Key      string          `json:"key"`
	Sum      string          `json:"sha256"` // of Decision, byte for byte
	Decision json.RawMessage `json:"decision"`
}

// OpenDirStore opens the store in a directory, which it creates, for at most n decisions. It calls warn with write
// errors. Callers close the store.
func OpenDirStore(dir string, n int, warn func(error)) (*DirStore, error) {
	own, err := statedir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("decider: opening the directory of decisions: %w", err)
	}
	s := &DirStore{dir: own, max: n, warn: warn}
	if err := s.shrink(); err != nil {
		own.Close()
		return nil, fmt.Errorf("decider: reading the directory of decisions: %w", err)
	}
	return s, nil
}

// Close releases the directory. Nothing is found or kept afterwards.
func (s *DirStore) Close() error { return s.dir.Close() }

func (s *DirStore) Get(key string) (Decision, bool) {
	if !isKey(key) {
		return Decision{}, false
	}
	text, err := s.dir.Read(key+entrySuffix, maxEntry)
	if err != nil {
		return Decision{}, false
	}
	var e entry
	var d Decision
	if json.Unmarshal(text, &e) != nil || e.Key != key || e.Sum != sum(e.Decision) ||
		json.Unmarshal(e.Decision, &d) != nil {
		return Decision{}, false
	}
	now := time.Now()
	_ = s.dir.Chtimes(key+entrySuffix, now, now) // at worst it is removed too early
	return d, true
}

// Put implements [Store]. If a decision cannot be kept, the question is asked again next time.
func (s *DirStore) Put(key string, d Decision) {
	if !isKey(key) {
		s.warn(fmt.Errorf("decider: %q is not a key of a decision", key))
		return
	}
	if err := s.put(key, d); err != nil {
		s.warn(fmt.Errorf("decider: keeping a decision: %w", err))
	}
}

func (s *DirStore) put(key string, d Decision) error {
	decision, err := json.Marshal(d)
	if err != nil {
		return err
	}
	text, err := json.Marshal(entry{Key: key, Sum: sum(decision), Decision: decision})
	if err != nil {
		return err
	}
	if len(text) > maxEntry {
		return fmt.Errorf("it is longer than %d bytes", maxEntry)
	}
	if err := s.dir.ReplaceUnsynced(key+entrySuffix, text); err != nil {
		return err
	}
	s.mu.Lock()
	s.count++
	full := s.count > s.max
	s.mu.Unlock()
	if full {
		return s.shrink()
	}
	return nil
}

// shrink counts the entries. If there are more than the maximum, it removes the oldest ones down to nine tenths
// of it, so that a full store is not scanned at every decision.
func (s *DirStore) shrink() error {
	list, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return err
	}
	type aged struct {
		name string
		used time.Time
	}
	var entries []aged
	for _, f := range list {
		info, err := f.Info()
		if err != nil {
			continue // another process was faster
		}
		switch name := f.Name(); {
		case strings.HasSuffix(name, tempSuffix) && time.Since(info.ModTime()) > staleTemp:
			_ = s.dir.Remove(name)
		case isKey(strings.TrimSuffix(name, entrySuffix)) && strings.HasSuffix(name, entrySuffix):
			entries = append(entries, aged{name, info.ModTime()})
		}
	}
	keep := len(entries)
	if keep > s.max {
		keep = max(s.max*9/10, 1)
		slices.SortFunc(entries, func(a, b aged) int { return b.used.Compare(a.used) })
	}
	for _, e := range entries[keep:] {
		if err := s.dir.Remove(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.mu.Lock()
	s.count = keep
	s.mu.Unlock()
	return nil
}

// isKey reports whether a key has the form of [Cached]'s keys: no other text becomes a file name.
func isKey(key string) bool {
	return len(key) == 2*sha256.Size && strings.Trim(key, "0123456789abcdef") == ""
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
