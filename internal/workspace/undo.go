package workspace

// This part of the package reverts what a run changed in the user's files.
//
// The changes are the difference between two snapshots, of the run's start and of its end. A file that
// still has its state in the second snapshot gets its state in the first; a file that was modified since is
// left alone, and reported. The index, branches and commits stay unchanged. Everything that is overwritten
// is in the second snapshot.
//
// It has the limits of snapshots: contents are restored as git checks them out, so that a file with mixed
// line ends in a repository that converts them gets the line ends of the repository; directories that
// become empty are removed.

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// IgnoredBefore is the reason for keeping a file that became visible to Git because the run changed ignore
// rules.
const IgnoredBefore = "Git ignored it when the run began, so it may be older than the run"

// UndoFile is a file that is reverted. Its status is that of the reversal: a file that the run added is
// deleted.
type UndoFile struct {
	Path   string `json:"path"`
	Status Status `json:"status"`
}

// Undone is what an undo did, or would do.
type Undone struct {
	Reverted []UndoFile `json:"reverted"`
	Kept     []Blocked  `json:"kept"`    // changed by the run, and left alone
	Already  []string   `json:"already"` // already in their state before the run
}

// Undo reverts what changed between the commits base and end. With dry it changes nothing. A call after a
// crash finishes the work. Errors: git's and the file system's.
func Undo(ctx context.Context, r *Repo, base, end string, dry bool) (Undone, error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer unlock()
	keep, err := ignoredBefore(ctx, r, base, end)
	if err != nil {
		return Undone{}, err
	}
	plan, err := PrepareApply(ctx, r, end, base, keep)
	if err != nil {
		return Undone{}, err
	}
	result := Undone{Kept: plan.left(), Already: plan.Done}
	var late []Blocked
	if !dry {
		if late, err = plan.Run(ctx); err != nil {
			return Undone{}, fmt.Errorf("undo is not complete, call it again: %w", err)
		}
	}
	result.Kept = append(result.Kept, late...)
	for _, c := range append(slices.Clone(plan.Write), plan.Delete...) {
		if !slices.ContainsFunc(late, func(b Blocked) bool { return b.Path == c.Path }) {
			result.Reverted = append(result.Reverted, UndoFile{c.Path, c.Status})
		}
	}
	slices.SortFunc(result.Reverted, func(a, b UndoFile) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(result.Kept, func(a, b Blocked) int { return strings.Compare(a.Path, b.Path) })
	return result, nil
}

// ignoredBefore finds files that appear in the second snapshot only because the run changed ignore rules.
func ignoredBefore(ctx context.Context, r *Repo, base, end string) (map[string]string, error) {
	delta, err := r.Delta(ctx, base, end)
	if err != nil {
		return nil, err
	}
	rules := false
	var added []string
	for _, c := range delta {
		rules = rules || path.Base(c.Path) == ".gitignore"
		if c.Status == Added {
			added = append(added, c.Path)
		}
	}
	if !rules || len(added) == 0 {
		return nil, nil
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", base}})
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(Fields(out), func(p string) bool { return path.Base(p) != ".gitignore" })
	stage, err := r.Stage(ctx, base, files)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	ignored, err := stage.Ignored(ctx, r, added)
	keep := map[string]string{}
	for _, p := range ignored {
		keep[p] = IgnoredBefore
	}
	return keep, err
}

// UndoPart is the part of a run's work to revert: one file, or one hunk of it.
type UndoPart struct {
	Path string
	// Seen is the object of the file's contents to which the request refers. If the run has recorded other
	// contents since, the file is left alone. Empty: any contents; a hunk needs a value, because its lines
	// are those of these contents.
	Seen string
	Hunk *UndoHunk // nil: all of the file
}

// UndoHunk is a place in a file: lines of the run's version, and the lines that were there when the run began.
// Lines are counted from 0.
type UndoHunk struct{ Before, BeforeLines, After, AfterLines int }

// RefusedError is the reason why a part was not reverted. Nothing was changed.
type RefusedError struct{ Path, Reason string }

func (e *RefusedError) Error() string { return e.Path + ": " + e.Reason }

// Why a part is not reverted, besides the reasons of [apply].
const (
	NotChanged = "the run has not changed it"
	OtherSince = "the run has changed it since it was shown: look at it again"
	NoHunk     = "it has no such lines"
	NotText    = "it is not a text file: it can only be reverted as a whole"
	TooLong    = "it is too long to revert a part of it: revert the whole file"
)

// maxHunkFile bounds, in bytes, a file in which a hunk can be reverted.
const maxHunkFile = 8 << 20

// ParseHunk reads the head of a hunk of a unified diff: "@@ -12,3 +12,5 @@", or "-12,3 +12,5".
func ParseHunk(text string) (*UndoHunk, error) {
	wrong := fmt.Errorf("hunk %q: want the head of a hunk of a unified diff, such as -12,3 +12,5", text)
	words := strings.Fields(text)
	if len(words) > 1 && words[0] == "@@" {
		words = words[1:min(len(words), 3)]
	}
	if len(words) != 2 {
		return nil, wrong
	}
	var h UndoHunk
	for i, sign := range []string{"-", "+"} {
		rest, ok := strings.CutPrefix(words[i], sign)
		if !ok {
			return nil, wrong
		}
		first, count, several := strings.Cut(rest, ",")
		from, err := strconv.Atoi(first)
		n := 1
		if several && err == nil {
			n, err = strconv.Atoi(count)
		}
		if err != nil || from < 0 || n < 0 || n > 0 && from == 0 {
			return nil, wrong
		}
		if n > 0 { // without lines, a hunk names the line before
			from--
		}
		if i == 0 {
			h.Before, h.BeforeLines = from, n
		} else {
			h.After, h.AfterLines = from, n
		}
	}
	return &h, nil
}

// Revert reverts a part of what changed between the commits or trees base and end: the file, or the hunk,
// gets its state in base, if the file still has its state in end. A renamed file gets its previous path.
// Files that already have their state in base are left alone. Error: [RefusedError]; git's and the file
// system's, after which a second call finishes the work.
func Revert(ctx context.Context, r *Repo, base, end string, p UndoPart) error {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := r.Changes(ctx, base, end)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c Change) bool { return c.Path == p.Path })
	if i < 0 {
		return &RefusedError{p.Path, NotChanged}
	}
	if p.Seen != all[i].To.ID && (p.Seen != "" || p.Hunk != nil) {
		return &RefusedError{p.Path, OtherSince}
	}
	target, err := without(ctx, r, end, all[i], p)
	if err != nil {
		return err
	}
	keep, err := ignoredBefore(ctx, r, base, end)
	if err != nil {
		return err
	}
	plan, err := PrepareApply(ctx, r, end, target, keep)
	if err != nil {
		return err
	}
	blocked := plan.left()
	if len(blocked) == 0 {
		if blocked, err = plan.Run(ctx); err != nil {
			return err
		}
	}
	if len(blocked) > 0 {
		return &RefusedError{blocked[0].Path, blocked[0].Reason}
	}
	return nil
}

// without returns the tree of end with one part of a change reverted.
func without(ctx context.Context, r *Repo, end string, c Change, p UndoPart) (tree string, err error) {
	back := c.From
	if p.Hunk != nil {
		if back, err = spliced(ctx, r, c, *p.Hunk); err != nil {
			return "", err
		}
	}
	var lines bytes.Buffer
	line := func(path string, e Entry) {
		if e.ID == "" { // it must be removed
			e = Entry{Mode: "0", ID: strings.Repeat("0", max(len(c.From.ID), len(c.To.ID)))}
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", e.Mode, e.ID, path)
	}
	if c.Old != "" && p.Hunk == nil {
		line(c.Path, Entry{})
		line(c.Old, c.From)
	} else {
		line(c.Path, back)
	}
	return r.edited(ctx, end, lines.Bytes(), "update-index", "-z", "--index-info")
}

// edited returns a tree as a command leaves it in an index.
func (r *Repo) edited(ctx context.Context, tree string, stdin []byte, command ...string) (string, error) {
	temp, err := r.Temp()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	var out []byte
	for _, call := range []git.Call{
		{Args: []string{"read-tree", "--no-sparse-checkout", tree}},
		{Args: command, Stdin: stdin},
		{Args: []string{"write-tree", "--missing-ok"}},
	} {
		call.Env, call.Writes = []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}, true
		if out, err = r.Git.Do(ctx, call); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(string(out)), nil
}

// spliced records the run's version of a file with the previous lines of a hunk.
func spliced(ctx context.Context, r *Repo, c Change, h UndoHunk) (Entry, error) {
	refused := func(reason string) (Entry, error) {
		return Entry{}, &RefusedError{c.Path, reason}
	}
	if c.Binary || c.From.ID != "" && !strings.HasPrefix(c.From.Mode, "100") ||
		c.To.ID != "" && !strings.HasPrefix(c.To.Mode, "100") {
		return refused(NotText)
	}
	var texts [2][]byte
	for i, e := range []Entry{c.From, c.To} {
		text, cut, err := r.Content(ctx, e, maxHunkFile)
		if err != nil {
			return Entry{}, err
		}
		if cut {
			return refused(TooLong)
		}
		texts[i] = text
	}
	text, ok := h.Splice(string(texts[0]), string(texts[1]))
	if !ok {
		return refused(NoHunk)
	}
	if text == "" && c.From.ID == "" {
		return Entry{}, nil // the run added the file, and nothing of it is left
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"hash-object", "-w", "--no-filters", "--stdin"},
		Stdin: []byte(text), Writes: true})
	if err != nil {
		return Entry{}, err
	}
	return Entry{Mode: cmp.Or(c.To.Mode, c.From.Mode), ID: strings.TrimSpace(string(out))}, nil
}

// Splice returns after with the lines that the hunk has in before; false: the texts have no such lines.
func (h UndoHunk) Splice(before, after string) (string, bool) {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	if min(h.Before, h.BeforeLines, h.After, h.AfterLines) < 0 || h.Before+h.BeforeLines > len(a) ||
		h.After+h.AfterLines > len(b) || h.BeforeLines+h.AfterLines == 0 {
		return "", false
	}
	lines := slices.Concat(b[:h.After], a[h.Before:h.Before+h.BeforeLines], b[h.After+h.AfterLines:])
	for i := range lines[:max(len(lines)-1, 0)] { // a last line without a line end that is no longer the last
		if !strings.HasSuffix(lines[i], "\n") {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, ""), true
}
