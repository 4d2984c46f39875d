package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/leash"
)

// versionTimeout bounds `claude --version`; old CLIs on node need a second.
const versionTimeout = 15 * time.Second

// version of the CLI.
type version [3]int

// versionMinimum is the oldest CLI that is driven. Older ones execute a slash
// command or read an @file in a message although it says client_composed, and tell
// less about what became of a message (observed with CLI 2.1.200).
var versionMinimum = version{2, 1, 300}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

func parseVersion(text string) (version, bool) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits by the pattern
	}
	return v, true
}

// program names one build of a CLI; another build under the same path is another.
type program struct {
	Path  string   `json:"path"`
	Args  []string `json:"args,omitempty"`
	MTime int64    `json:"mtime"`
	Size  int64    `json:"size"`
}

func (p program) key() string {
	return strings.Join(append([]string{p.Path, strconv.FormatInt(p.MTime, 10), strconv.FormatInt(p.Size, 10)}, p.Args...), "\x00")
}

// Detect implements bridge.Launcher.
func (l *Launcher) Detect(ctx context.Context, spec bridge.ClaudeSpec) (bridge.ClaudeInfo, error) {
	p, err := resolve(spec)
	if err != nil {
		return bridge.ClaudeInfo{}, err
	}
	text, ok := l.versions.get(p)
	if !ok {
		if text, err = askVersion(ctx, p); err != nil {
			return bridge.ClaudeInfo{}, err
		}
	}
	v, parsed := parseVersion(text)
	if !parsed {
		return bridge.ClaudeInfo{}, claudeError(bridge.CatUnsupported, "%s is no Claude CLI: --version says %.100q", p.Path, text)
	}
	if !ok {
		l.versions.put(p, text)
	}
	if v.before(versionMinimum) {
		return bridge.ClaudeInfo{}, claudeError(bridge.CatUnsupported, "Claude CLI %s is too old: %s or later is needed", v, versionMinimum)
	}
	info := bridge.ClaudeInfo{Path: p.Path, Version: v.String(), StandIn: strings.Contains(strings.ToLower(text), "stand-in")}
	l.pins.identify(spec.Path, &info)
	return info, nil
}

// resolve finds the program behind a name and symbolic links.
func resolve(spec bridge.ClaudeSpec) (program, error) {
	if spec.Path == "" {
		return program{}, claudeError(bridge.CatClaudeMissing, "no Claude CLI is named")
	}
	path, err := exec.LookPath(spec.Path)
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "find the Claude CLI: %v", err)
	}
	if path, err = filepath.Abs(path); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "find the Claude CLI: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "find the Claude CLI: %v", err)
	}
	return program{Path: path, Args: spec.Args, MTime: info.ModTime().UnixNano(), Size: info.Size()}, nil
}

func askVersion(ctx context.Context, p program) (string, error) {
	out, err := ask(ctx, p, "--version")
	return cut(strings.TrimSpace(string(out)), 200), err
}

// ask runs the CLI with arguments that make it answer and end, and returns its stdout,
// also where it ends with an error.
func ask(ctx context.Context, p program, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	what := strings.Join(args, " ")
	var out, errs bytes.Buffer
	cmd := exec.Command(p.Path, append(append([]string(nil), p.Args...), args...)...)
	cmd.Env = environ(os.Environ(), nil)
	cmd.Stdout, cmd.Stderr = &out, &errs
	child, err := leash.Start(cmd, leash.Mark{})
	if err != nil {
		return nil, claudeError(bridge.CatClaudeMissing, "run the Claude CLI: %v", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		killing, stop := context.WithTimeout(context.Background(), killTimeout)
		defer stop()
		_, _ = child.Kill(killing)
		return nil, claudeError(bridge.CatUnsupported, "%s %s gave no answer: %v", p.Path, what, ctx.Err())
	}
	if err := child.Wait(); err != nil {
		e := claudeError(bridge.CatUnsupported, "%s %s failed: %v", p.Path, what, err)
		e.Stderr = cut(errs.String(), stderrLine)
		return out.Bytes(), e
	}
	return out.Bytes(), nil
}

func claudeError(category bridge.Category, format string, args ...any) *bridge.RPCError {
	return &bridge.RPCError{Code: bridge.CodeClaude, Category: category, Message: fmt.Sprintf(format, args...)}
}

// versionCache remembers answers to --version in the process and, best effort,
// on disk, so that a warm start costs no extra process. A file that is missing,
// corrupt or of another build is a miss.
type versionCache struct {
	file string // "" = none

	mu    sync.Mutex
	known map[string]string
}

type cachedVersion struct {
	program
	Version string `json:"version"`
}

func newVersionCache(file string) *versionCache {
	return &versionCache{file: file, known: map[string]string{}}
}

func (c *versionCache) get(p program) (string, bool) {
	c.mu.Lock()
	text, ok := c.known[p.key()]
	c.mu.Unlock()
	if ok {
		return text, true
	}
	for _, e := range c.load() {
		if e.key() == p.key() && e.Version != "" {
			c.mu.Lock()
			c.known[p.key()] = e.Version
			c.mu.Unlock()
			return e.Version, true
		}
	}
	return "", false
}

// put replaces whatever the file holds for the same path and arguments.
func (c *versionCache) put(p program, text string) {
	c.mu.Lock()
	c.known[p.key()] = text
	c.mu.Unlock()
	if c.file == "" {
		return
	}
	entries := []cachedVersion{{program: p, Version: text}}
	for _, e := range c.load() {
		if (e.Path != p.Path || strings.Join(e.Args, "\x00") != strings.Join(p.Args, "\x00")) && len(entries) < 8 {
			entries = append(entries, e)
		}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return
	}
	_ = writePrivate(c.file, data) // a cache that cannot be written is no cache
}

func (c *versionCache) load() []cachedVersion {
	if c.file == "" {
		return nil
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return nil
	}
	var entries []cachedVersion
	if json.Unmarshal(data, &entries) != nil {
		return nil
	}
	return entries
}

// writePrivate replaces a file in one step, readable by its owner only.
func writePrivate(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
