package claude

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// build is one build of the CLI, by its file and the arguments that come first, and what is known of it.
type build struct {
	Args []string `json:"args,omitempty"`
	bridge.ClaudeInfo
}

// place is where a build is: an update puts another one there.
func (b build) place(other build) bool {
	return b.Path == other.Path && slices.Equal(b.Args, other.Args)
}

func (b build) same(other build) bool { return b.place(other) && b.Identity == other.Identity }

// maxBuilds is how many builds the file of [builds] holds.
const maxBuilds = 8

// builds remember what was found out about builds of the CLI, in the process and, best effort, on disk, so that a
// warm start need not determine it again: hashing a file of 380 MB takes a quarter of a second. A file that is
// missing, corrupt or about other builds is a miss. They also remember the build with which a run began.
type builds struct {
	file string        // "" = none
	busy chan struct{} // holds a value while a program is being hashed: one at a time

	mu    sync.Mutex
	known []build
	first map[string]build // by the name that was asked for
}

// find returns what is known of a build.
func (c *builds) find(b build) (known build, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.known, b.same); i >= 0 {
		return c.known[i], true
	}
	stored := c.load()
	i := slices.IndexFunc(stored, func(s build) bool { return b.same(s) && s.Version != "" })
	if i < 0 {
		return b, false
	}
	c.known = append(c.known, stored[i])
	return stored[i], true
}

func (c *builds) put(b build) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(slices.DeleteFunc(c.known, b.same), b)
	if c.file == "" {
		return
	}
	all := append([]build{b}, slices.DeleteFunc(c.load(), b.place)...)
	data, err := json.Marshal(all[:min(len(all), maxBuilds)])
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

func (c *builds) load() (stored []build) {
	data, err := os.ReadFile(c.file)
	if err != nil || json.Unmarshal(data, &stored) != nil {
		return nil
	}
	return stored
}

// pin remembers the first build under a name.
func (c *builds) pin(name string, b build) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.first[name]; !ok {
		c.first[name] = b
	}
}

// pinned returns the build with which the run began.
func (c *builds) pinned(name string) build {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first[name]
}

// move makes another build the one to compare with. If several agents detect a change, it returns true to
// only one of them, which reports it.
func (c *builds) move(name string, was, now build) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.first[name].same(was) {
		return false
	}
	c.first[name] = now
	return true
}

// sum returns the hash of a build, and computes it if necessary; "" if ctx ends first, or the file has been
// replaced.
func (c *builds) sum(ctx context.Context, b build) string {
	select {
	case c.busy <- struct{}{}:
		defer func() { <-c.busy }()
	case <-ctx.Done():
		return ""
	}
	b, _ = c.find(b)
	if b.SHA256 != "" {
		return b.SHA256
	}
	var err error
	if b.SHA256, err = sumFile(ctx, b); err != nil {
		return ""
	}
	c.put(b)
	return b.SHA256
}

var errOtherFile = errors.New("the file is another by now")

func sumFile(ctx context.Context, b build) (string, error) {
	f, err := os.Open(b.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for buf := make([]byte, 1<<20); ; {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
	if stat, err := f.Stat(); err != nil || identityOf(stat) != b.Identity {
		return "", errors.Join(err, errOtherFile)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reportProgram hashes the program of an agent, and reports if it is not the one with which the run began. It runs
// no longer than the agent.
func (a *agent) reportProgram(name string, was build) {
	now := a.program
	now.SHA256 = a.builds.sum(a.Ctx, now)
	<-a.LaunchDone // nothing is reported about an agent that did not become ready
	if was.same(now) || a.Muted.Load() || !a.builds.move(name, was, now) {
		return
	}
	was, _ = a.builds.find(was)
	a.Emit(bridge.Error{Category: bridge.CatStart, Message: fmt.Sprintf(
		"the Claude CLI was replaced during the run: it was %s and is now %s (by an update, or by somebody "+
			"else); the run continues with it", was, now)})
}

func (b build) String() string {
	return fmt.Sprintf("%s %s, sha256 %s", b.Path, b.Version, cmp.Or(b.SHA256, "not known"))
}

// identityOf returns a string that differs between files, and changes when a file is written to.
func identityOf(info fs.FileInfo) string {
	var dev, inode uint64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		dev, inode = uint64(s.Dev), uint64(s.Ino)
	}
	return fmt.Sprintf("%d:%d:%d:%d", dev, inode, info.Size(), info.ModTime().UnixNano())
}
