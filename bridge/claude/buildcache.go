package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// maxCached is how many builds a cache file holds.
const maxCached = 8

// buildCache remembers facts about builds of the CLI, in the process and, best effort, on disk, so that a
// warm start need not determine them again. A file that is missing, corrupt or about other builds is a
// miss.
type buildCache[E any] struct {
	file  string         // "" = none
	build func(E) string // the build that an entry describes
	place func(E) string // an entry replaces the one in the file with the same place
	whole func(E) bool   // whether an entry is usable

	mu    sync.Mutex
	known map[string]E // by build
}

// get finds the entry for the same build as about.
func (c *buildCache[E]) get(about E) (found E, ok bool) {
	c.mu.Lock()
	found, ok = c.known[c.build(about)]
	c.mu.Unlock()
	if ok {
		return found, true
	}
	for _, e := range c.load() {
		if c.build(e) == c.build(about) && c.whole(e) {
			c.remember(e)
			return e, true
		}
	}
	return found, false
}

func (c *buildCache[E]) remember(e E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]E{}
	}
	c.known[c.build(e)] = e
}

func (c *buildCache[E]) put(e E) {
	c.remember(e)
	if c.file == "" {
		return
	}
	entries := []E{e}
	for _, old := range c.load() {
		if c.place(old) != c.place(e) && len(entries) < maxCached {
			entries = append(entries, old)
		}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return
	}
	dir, err := statedir.Open(filepath.Dir(c.file))
	if err != nil {
		return // a cache that cannot be written is ignored
	}
	defer dir.Close()
	_ = dir.ReplaceUnsynced(filepath.Base(c.file), data)
}

func (c *buildCache[E]) load() (entries []E) {
	if c.file == "" {
		return nil
	}
	data, err := os.ReadFile(c.file)
	if err != nil || json.Unmarshal(data, &entries) != nil {
		return nil
	}
	return entries
}
