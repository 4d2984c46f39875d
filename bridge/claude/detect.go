package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	// versionTimeout bounds `claude --version`; old CLIs that run on Node.js need a second.
	versionTimeout = 15 * time.Second
	maxAnswer      = 1 << 20 // bytes of such an answer
)

func (l *Launcher) Detect(ctx context.Context, spec bridge.ClaudeSpec) (bridge.ClaudeInfo, error) {
	b, err := l.detect(ctx, spec)
	return b.ClaudeInfo, err
}

func (l *Launcher) detect(ctx context.Context, spec bridge.ClaudeSpec) (build, error) {
	b, err := resolve(spec)
	if err != nil {
		return build{}, err
	}
	b, known := l.builds.find(b)
	if !known {
		out, err := ask(ctx, b, "--version")
		if err != nil {
			return build{}, err
		}
		text := jsonl.Cut(strings.TrimSpace(string(out)), 200)
		v, parsed := parseVersion(text)
		if !parsed {
			return build{}, claudeError(bridge.CatUnsupported,
				"%s is not the Claude CLI: --version printed %q; install Claude Code, or name its program with "+
					"--claude PATH", b.Path, jsonl.Cut(text, 100))
		}
		b.Version, b.StandIn = v.String(), strings.Contains(strings.ToLower(text), "stand-in")
		l.builds.put(b)
	}
	if err := supported(b); err != nil {
		return build{}, err
	}
	l.builds.pin(spec.Path, b)
	return b, nil
}

// resolve finds the program behind a name and symbolic links.
func resolve(spec bridge.ClaudeSpec) (build, error) {
	if spec.Path == "" {
		return build{}, claudeError(bridge.CatClaudeMissing, "no Claude CLI is named")
	}
	path, err := exec.LookPath(spec.Path)
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		err = lookup.Err
		if file, ok := errors.AsType[*os.PathError](err); ok {
			err = file.Err
		}
		return build{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI %q: %v", spec.Path, err)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		return build{}, claudeError(bridge.CatClaudeMissing, "cannot find the Claude CLI: %v", err)
	}
	return build{spec.Args, bridge.ClaudeInfo{Path: path, Identity: identityOf(info)}}, nil
}

// ask runs the CLI with arguments that make it answer and exit. It returns its stdout, even if it exits
// with an error.
func ask(ctx context.Context, p build, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	what := strings.Join(args, " ")
	out := &git.Head{Max: maxAnswer, Full: func() error { return io.ErrShortWrite }} // which ends the CLI
	errs := &git.Head{Max: driver.StderrLine}
	cmd := exec.Command(p.Path, append(append([]string(nil), p.Args...), args...)...)
	cmd.Env = environ(os.Environ(), nil)
	cmd.Stdout, cmd.Stderr = out, errs
	child, err := proctree.Start(cmd, proctree.Mark{})
	if err != nil {
		return nil, claudeError(bridge.CatClaudeMissing, "run the Claude CLI: %v", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		_, _ = child.KillNow()
		return nil, claudeError(bridge.CatUnsupported, "%s %s gave no answer: %v", p.Path, what, ctx.Err())
	}
	if err := child.Wait(); err != nil {
		e := claudeError(bridge.CatUnsupported, "%s %s failed: %v", p.Path, what, err)
		e.Stderr = jsonl.Cut(string(errs.Data), driver.StderrLine)
		return out.Data, e
	}
	return out.Data, nil
}

func claudeError(category bridge.Category, format string, args ...any) *bridge.RPCError {
	return &bridge.RPCError{Code: bridge.CodeClaude, Category: category, Message: fmt.Sprintf(format, args...)}
}

// The range of supported CLIs: scripts/drift runs the driver's tests against both of these and some
// between, and testdata/drift.md is the result. An older CLI is refused: in 2.1.310 a tool ran although its
// PreToolUse callback was answered with an error, and in 2.1.300 a resumed session's first turn seemed to
// cost nothing. A newer CLI is used, and doctor says so. They are variables only for scripts/drift, which makes
// the linker set oldest to try older CLIs.
var (
	oldest = "2.1.319"
	newest = "2.1.332"
)

// version of the CLI.
type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool { return slices.Compare(v[:], w[:]) < 0 }

// versionPattern matches a line that begins with a version and names the program: the version of another
// program does not count, however new it looks.
var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?mi)^(\d{1,9})\.(\d{1,9})\.(\d{1,9})\b.*claude`)
})

func parseVersion(text string) (version, bool) {
	m := versionPattern().FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	return numbers(m[1:]), true
}

// supported returns an error for a CLI that is too old: what was found, what is needed, and what to do.
func supported(b build) error {
	if numbers(strings.Split(b.Version, ".")).before(numbers(strings.Split(oldest, "."))) {
		return claudeError(bridge.CatUnsupported,
			"Claude CLI %s (%s) is too old: Arbiter needs %s or later, and is tested up to %s; run claude update",
			b.Version, b.Path, oldest, newest)
	}
	return nil
}

// Untested returns a warning about a CLI that is newer than any that the driver was tested with; empty for
// others. The driver uses such a CLI nevertheless.
func Untested(v string) string {
	if parts := strings.Split(v, "."); len(parts) != 3 || !numbers(strings.Split(newest, ".")).before(numbers(parts)) {
		return ""
	}
	return fmt.Sprintf("Claude CLI %s is newer than any that this arbiter was tested with (%s to %s): it is driven "+
		"as they are; if it misbehaves, update arbiter, or name one of these with --claude PATH", v, oldest, newest)
}

// numbers reads three numbers; a part that is not a number is 0.
func numbers(parts []string) (v version) {
	for i := range v {
		v[i], _ = strconv.Atoi(parts[i])
	}
	return v
}

// Login is the CLI's report about its login.
type Login struct {
	Known    bool   // the CLI answered
	LoggedIn bool   // it has a login, or a key of its own or from the environment
	Method   string // none, api_key, claude.ai …: as the CLI names it
	Email    string // if the CLI reports it
}

// Login asks the CLI whether it is logged in, with the environment that agents get. No request leaves the
// machine: `auth status` only looks at files (observed with CLI 2.1.329; it exits with 1 if it is not
// logged in). For a CLI without that command, Known is false.
func (l *Launcher) Login(ctx context.Context, spec bridge.ClaudeSpec) Login {
	p, err := resolve(spec)
	if err != nil {
		return Login{}
	}
	out, _ := ask(ctx, p, "auth", "status", "--json")
	var answer struct {
		LoggedIn *bool  `json:"loggedIn"`
		Method   string `json:"authMethod"`
		Email    string `json:"email"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.LoggedIn == nil {
		return Login{}
	}
	return Login{Known: true, LoggedIn: *answer.LoggedIn, Method: answer.Method, Email: answer.Email}
}
