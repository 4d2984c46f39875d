package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// versionTimeout bounds `claude --version`; old CLIs that run on Node.js need a second.
const versionTimeout = 15 * time.Second

// program identifies one build of a CLI; a new build under the same path differs in time or size.
type program struct {
	Path  string   `json:"path"`
	Args  []string `json:"args,omitempty"`
	MTime int64    `json:"mtime"`
	Size  int64    `json:"size"`
}

func (p program) key() string {
	return strings.Join(append([]string{p.Path, strconv.FormatInt(p.MTime, 10), strconv.FormatInt(p.Size, 10)},
		p.Args...), "\x00")
}

func (l *Launcher) Detect(ctx context.Context, spec bridge.ClaudeSpec) (bridge.ClaudeInfo, error) {
	p, err := resolve(spec)
	if err != nil {
		return bridge.ClaudeInfo{}, err
	}
	known, ok := l.versions.get(cachedVersion{program: p})
	text := known.Version
	if !ok {
		if text, err = askVersion(ctx, p); err != nil {
			return bridge.ClaudeInfo{}, err
		}
	}
	v, parsed := parseVersion(text)
	if !parsed {
		return bridge.ClaudeInfo{},
			claudeError(bridge.CatUnsupported,
				"%s is not the Claude CLI: --version printed %.100q; install Claude Code, or name its program with "+
					"--claude PATH", p.Path, text)
	}
	if !ok {
		l.versions.put(cachedVersion{p, text})
	}
	if err := supported(p.Path, v); err != nil {
		return bridge.ClaudeInfo{}, err
	}
	info := bridge.ClaudeInfo{Path: p.Path, Version: v.String(),
		StandIn: strings.Contains(strings.ToLower(text), "stand-in")}
	l.pins.identify(spec.Path, &info)
	return info, nil
}

// resolve finds the program behind a name and symbolic links.
func resolve(spec bridge.ClaudeSpec) (program, error) {
	if spec.Path == "" {
		return program{}, claudeError(bridge.CatClaudeMissing, "no Claude CLI is named")
	}
	path, err := exec.LookPath(spec.Path)
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		err = lookup.Err
		if file, ok := errors.AsType[*os.PathError](err); ok {
			err = file.Err
		}
		return program{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI %q: %v", spec.Path, err)
	}
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI: %v", err)
	}
	if path, err = filepath.Abs(path); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return program{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI: %v", err)
	}
	return program{Path: path, Args: spec.Args, MTime: info.ModTime().UnixNano(), Size: info.Size()}, nil
}

func askVersion(ctx context.Context, p program) (string, error) {
	out, err := ask(ctx, p, "--version")
	return driver.Cut(strings.TrimSpace(string(out)), 200), err
}

// ask runs the CLI with arguments that make it answer and exit. It returns its stdout, even if it exits
// with an error.
func ask(ctx context.Context, p program, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	what := strings.Join(args, " ")
	var out, errs bytes.Buffer
	cmd := exec.Command(p.Path, append(append([]string(nil), p.Args...), args...)...)
	cmd.Env = environ(os.Environ(), nil)
	cmd.Stdout, cmd.Stderr = &out, &errs
	child, err := proctree.Start(cmd, proctree.Mark{})
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
		e.Stderr = driver.Cut(errs.String(), driver.StderrLine)
		return out.Bytes(), e
	}
	return out.Bytes(), nil
}

func claudeError(category bridge.Category, format string, args ...any) *bridge.RPCError {
	return &bridge.RPCError{Code: bridge.CodeClaude, Category: category, Message: fmt.Sprintf(format, args...)}
}

// cachedVersion is the answer of a build to --version.
type cachedVersion struct {
	program
	Version string `json:"version"`
}

func newVersionCache(file string) *buildCache[cachedVersion] {
	return &buildCache[cachedVersion]{
		file:  file,
		build: func(c cachedVersion) string { return c.key() },
		place: func(c cachedVersion) string { return strings.Join(append([]string{c.Path}, c.Args...), "\x00") },
		whole: func(c cachedVersion) bool { return c.Version != "" },
	}
}
