package claude

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge"
)

// pins remember the build of the CLI with which a run began, and the hashes of builds: hashing a file of
// 380 MB takes a quarter of a second.
type pins struct {
	sums *buildCache[cachedSum]
	busy chan struct{} // holds a value while a file is being hashed: one at a time

	mu    sync.Mutex
	first map[string]bridge.ClaudeInfo // by the name that was asked for
}

// cachedSum is the hash of a build.
type cachedSum struct {
	Path     string `json:"path"`
	Identity string `json:"identity"`
	SHA256   string `json:"sha256"`
}

func newPins(file string) *pins {
	return &pins{busy: make(chan struct{}, 1), first: map[string]bridge.ClaudeInfo{}, sums: &buildCache[cachedSum]{
		file:  file,
		build: func(c cachedSum) string { return c.Path + "\x00" + c.Identity },
		place: func(c cachedSum) string { return c.Path },
		whole: func(c cachedSum) bool { return len(c.SHA256) == 2*sha256.Size },
	}}
}

// identify adds the identity and the known hash of a program to info, and remembers the first program under
// a name.
func (p *pins) identify(name string, info *bridge.ClaudeInfo) {
	if stat, err := os.Stat(info.Path); err == nil {
		info.Identity = identityOf(stat)
	}
	info.SHA256 = p.known(*info)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.first[name]; !ok {
		p.first[name] = *info
	}
}

// changed returns the program with which the run began, and reports whether it differs from now.
func (p *pins) changed(name string, now bridge.ClaudeInfo) (was bridge.ClaudeInfo, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was = p.first[name]
	return was, was.Identity != now.Identity || was.Path != now.Path
}

// move makes another build the one to compare with. If several agents detect a change, it returns true to
// only one of them, which reports it.
func (p *pins) move(name string, was, now bridge.ClaudeInfo) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first[name].Identity != was.Identity || p.first[name].Path != was.Path {
		return false
	}
	p.first[name] = now
	return true
}

// known returns the hash of a build; "" if it was never computed.
func (p *pins) known(info bridge.ClaudeInfo) string {
	if info.Identity == "" {
		return ""
	}
	sum, _ := p.sums.get(cachedSum{Path: info.Path, Identity: info.Identity})
	return sum.SHA256
}

// sum returns the hash of a build, and computes it if necessary; "" if ctx ends first, or the file has been
// replaced.
func (p *pins) sum(ctx context.Context, info bridge.ClaudeInfo) string {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return ""
	}
	if sum := p.known(info); sum != "" || info.Identity == "" {
		return sum
	}
	sum, err := sumFile(ctx, info)
	if err != nil {
		return ""
	}
	p.sums.put(cachedSum{Path: info.Path, Identity: info.Identity, SHA256: sum})
	return sum
}

var errOtherFile = errors.New("the file is another by now")

func sumFile(ctx context.Context, info bridge.ClaudeInfo) (string, error) {
	f, err := os.Open(info.Path)
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
	if stat, err := f.Stat(); err != nil || identityOf(stat) != info.Identity {
		return "", errors.Join(err, errOtherFile)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pinned is the file that an agent's process was started from.
type pinned struct {
	pins     *pins
	name     string // under which the CLI was requested
	now, was bridge.ClaudeInfo
	changed  bool
}

func (p *pins) of(name string, now bridge.ClaudeInfo) pinned {
	was, changed := p.changed(name, now)
	return pinned{pins: p, name: name, now: now, was: was, changed: changed}
}

// report hashes the program, and reports if it is not the one with which the run began. It runs no longer
// than the agent.
func (p pinned) report(a *agent) {
	sum := p.pins.sum(a.ctx, p.now)
	<-a.launchDone // nothing is reported about an agent that did not become ready
	if !p.changed || a.muted.Load() || !p.pins.move(p.name, p.was, p.now) {
		return
	}
	a.emit(bridge.Error{Category: bridge.CatStart, Message: fmt.Sprintf(
		"the Claude CLI was replaced during the run: it was %s and is now %s (by an update, or by somebody "+
			"else); the run continues with it",
		build(p.was, p.pins.known(p.was)), build(p.now, sum))})
}

func build(info bridge.ClaudeInfo, sum string) string {
	if sum == "" {
		sum = "not known"
	}
	return fmt.Sprintf("%s %s, sha256 %s", info.Path, info.Version, sum)
}

// identityOf returns a string that differs between files, and changes when a file is written to.
func identityOf(info fs.FileInfo) string {
	var dev, inode uint64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		dev, inode = uint64(s.Dev), uint64(s.Ino)
	}
	return fmt.Sprintf("%d:%d:%d:%d", dev, inode, info.Size(), info.ModTime().UnixNano())
}
