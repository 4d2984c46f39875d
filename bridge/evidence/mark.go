package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/transcript"
)

// Bounds of marks and of the changes that are reported since.
const (
	maxSummed  = 16 << 20 // read of a file; a longer one is compared by size and time
	maxChanged = 200      // files
	maxTyped   = 10       // messages
	typedBytes = 1 << 10  // of each
)

// mark records the current state of a session and its repository.
func (w *Collector) mark(ctx context.Context, p bridge.InspectParams) (*bridge.InspectMark, []string) {
	m := &bridge.InspectMark{AtMS: time.Now().UnixMilli()}
	if path, ok := transcriptOf(p); ok {
		m.Transcript = transcript.Length(path)
	}
	r := w.repository(ctx, p)
	defer r.close()
	if r.view == nil {
		return m, r.problems
	}
	root := r.place.Root
	m.Git = true
	m.Head, _ = r.git("rev-parse", "--quiet", "--verify", "HEAD")
	dirty, partial := r.dirty(bridge.MarkFiles)
	m.Partial = partial
	for _, path := range dirty {
		if ctx.Err() != nil {
			break // the files may be large
		}
		m.Dirty = append(m.Dirty, bridge.DirtyFile{Path: path, Sum: sumOf(filepath.Join(root, path))})
	}
	return m, r.problems
}

// since reports what has changed since a mark.
func (w *Collector) since(ctx context.Context, p bridge.InspectParams) (*bridge.Changes, []string) {
	c := &bridge.Changes{Typed: []string{}, Texts: []string{}, Tools: []bridge.ToolCount{}, Files: []string{}}
	files := map[string]bool{}
	problems := sinceSession(ctx, p, c, files)
	r := w.repository(ctx, p)
	defer r.close()
	r.since(p.Since, c, files)
	c.Files = append(c.Files, slices.Sorted(maps.Keys(files))...)
	if n := len(c.Files); n > maxChanged {
		c.Files = c.Files[:maxChanged]
		problems = append(problems, fmt.Sprintf("%d more files were changed", n-maxChanged))
	}
	return c, append(problems, r.problems...)
}

func transcriptOf(p bridge.InspectParams) (path string, ok bool) {
	env := proctree.EnvList(proctree.EnvFrom(os.Environ(), p.Env))
	return transcript.Locate(proctree.ConfigDir(env, p.CWD), p.SessionID)
}

// sinceSession reports what the session's transcript says.
func sinceSession(ctx context.Context, p bridge.InspectParams, c *bridge.Changes,
	files map[string]bool) (problems []string) {
	path, ok := transcriptOf(p)
	if !ok {
		return []string{"transcript: this session has none"}
	}
	s, err := transcript.ReadSince(ctx, path, p.Since.Transcript, time.UnixMilli(p.Since.AtMS), transcript.DigestLimits{
		Texts: maxTyped, TextBytes: typedBytes, Files: maxChanged,
	})
	problems = s.Problems
	if err != nil {
		return append(problems, fmt.Sprintf("transcript: %v", err))
	}
	c.Words, c.Typed, c.Texts = s.Words, append(c.Typed, s.Typed...), append(c.Texts, s.Texts...)
	for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
		c.Tools = append(c.Tools, bridge.ToolCount{Tool: tool, Count: s.Tools[tool]})
	}
	for _, f := range s.Files {
		files[within(p.CWD, f)] = true
	}
	return problems
}

// since reports what has changed in the repository. A file that differed from the mark's commit is compared
// with its state in the mark; for any other file, the commits since and the current status are used.
func (r *repository) since(m *bridge.InspectMark, c *bridge.Changes, files map[string]bool) {
	root := r.place.Root
	if r.view == nil {
		if m.Git {
			r.note("rev-parse", errors.New("the repository is gone"))
		}
		return
	}
	was := map[string]string{}
	for _, d := range m.Dirty {
		was[d.Path] = d.Sum
	}
	now, _ := r.dirty(bridge.MarkFiles)
	head, _ := r.git("rev-parse", "--quiet", "--verify", "HEAD")
	if m.Git && head != m.Head {
		now = append(now, r.moved(m.Head, head, c)...)
	}
	addFile := func(path string) { files[within(r.cwd, filepath.Join(root, path))] = true }
	for path, before := range was {
		if r.ctx.Err() != nil {
			return
		}
		if sumOf(filepath.Join(root, path)) != before {
			addFile(path)
		}
	}
	for _, path := range now {
		if _, known := was[path]; !known && !m.Partial {
			addFile(path)
		}
	}
	if m.Partial {
		r.note("status",
			errors.New("too many files differ from their commit: the list of changes is incomplete"))
	}
}

// moved lists the files in which two commits differ, and records the commits between them.
func (r *repository) moved(from, to string, c *bridge.Changes) []string {
	if to == "" {
		c.Moved = true
		return nil
	}
	if from == "" {
		c.Commits = r.lines(maxCommits, "log", "-n", fmt.Sprint(maxCommits), "--no-decorate", "--format=%h %s")
		list, _ := r.paths("ls-tree", "-r", "-z", "--name-only", "--full-tree", to)
		return list
	}
	if _, err := r.git("merge-base", "--is-ancestor", from, to); err != nil {
		c.Moved = true
	}
	c.Commits = r.lines(maxCommits, "log", "-n", fmt.Sprint(maxCommits), "--no-decorate", "--format=%h %s",
		from+".."+to)
	list, _ := r.paths("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty",
		"--name-only", "-z", from, to)
	return list
}

// dirty lists what differs from HEAD, untracked files one by one, relative to the root.
func (r *repository) dirty(max int) (paths []string, more bool) {
	entries, cut := r.paths("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
		"--ignore-submodules=dirty")
	for _, e := range entries {
		if len(e) > 3 {
			paths = append(paths, e[3:])
		}
	}
	if len(paths) > max {
		return paths[:max], true
	}
	return paths, cut
}

// paths returns the paths that a call lists, each ended by NUL. If the list is too long, it counts as
// unknown.
func (r *repository) paths(args ...string) (list []string, cut bool) {
	out, err := r.git(args...)
	r.note(args[0], err)
	if err != nil {
		return nil, true
	}
	if out = strings.TrimSuffix(out, "\x00"); out == "" {
		return nil, false
	}
	return strings.Split(out, "\x00"), false
}

// sumOf returns a string that differs between contents of a file; empty if there is no file.
func sumOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if !info.Mode().IsRegular() || info.Size() > maxSummed {
		target, _ := os.Readlink(path)
		return fmt.Sprintf("%v %d %d %s", info.Mode(), info.Size(), info.ModTime().UnixNano(), target)
	}
	h := sha256.New()
	f, err := git.Regular(os.Lstat, os.OpenFile, path)
	if err == nil {
		defer f.Close()
		_, err = io.Copy(h, io.LimitReader(f, maxSummed))
	}
	if err != nil {
		return fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// within returns a path relative to a directory, if the path is inside it.
func within(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && rel != ".." &&
		!strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}
