package clients

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/tui"
)

// Limits for the search in a workspace.
const (
	maxListed    = 500    // completions of a path prefix
	maxDocuments = 200    // Markdown files offered
	maxWalked    = 20_000 // directory entries visited for them
	maxDepth     = 6
	titleBytes   = 4 << 10
	inputsKept   = 500 // typed inputs

	filesKept = 5 * time.Second // cache time of the workspace's file list
)

// Files implements tui.Host: it returns the entries of the prefix's directory that start with the prefix, and then
// deeper files of the workspace whose paths contain the letters of the prefix in order.
func (h *ScreenHost) Files(ctx context.Context, prefix string) []string {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(h.inside(dir))
	var list []string
	for _, e := range entries {
		name := e.Name()
		if ctx.Err() != nil || len(list) == maxListed {
			break
		}
		if err != nil || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(base)) ||
			strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if path := dir + name; e.IsDir() {
			list = append(list, path+"/")
		} else {
			list = append(list, path)
		}
	}
	if base == "" || strings.HasPrefix(prefix, ".") || strings.HasPrefix(prefix, "~") || filepath.IsAbs(prefix) {
		return list
	}
	letters := []rune(strings.ToLower(prefix))
	for _, path := range h.files.under(ctx, h.choices.Place) {
		if len(list) >= maxListed {
			break
		}
		if hasLetters(path, letters) && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// hasLetters reports whether a path contains the lower-case letters in order.
func hasLetters(path string, letters []rune) bool {
	for _, r := range path {
		if len(letters) > 0 && unicode.ToLower(r) == letters[0] {
			letters = letters[1:]
		}
	}
	return len(letters) == 0
}

// fileList caches the files of the workspace, because they are requested for each typed letter.
type fileList struct {
	mu   sync.Mutex // guards the following members
	at   time.Time
	list []string
}

// under lists the files under a directory, without hidden or generated ones, the nearest to the top first.
func (f *fileList) under(ctx context.Context, place string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < filesKept {
		return f.list
	}
	var list []string
	walked := 0
	_ = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
		walked++
		switch rel, _ := filepath.Rel(place, path); {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case walked > maxWalked || ctx.Err() != nil:
			return fs.SkipAll
		case e.IsDir() && rel != "." && (strings.HasPrefix(e.Name(), ".") || slices.Contains(skipped, e.Name())):
			return fs.SkipDir
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "."):
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	f.list, f.at = list, time.Now()
	return list
}

// inside returns the absolute path for a path relative to the workspace, to the home directory (~/), or absolute.
func (h *ScreenHost) inside(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.choices.Place, path)
}

// Image implements tui.Host.
func (h *ScreenHost) Image(path string) (absolute, size string, err error) {
	is, _, err := runstore.ReadImages(h.inside(path))
	return is.Path, is.Size(), err
}

// skipped are directories that do not contain requirements.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "__pycache__"}

// Documents implements tui.Host. It returns Markdown files, the nearest to the top first.
func (h *ScreenHost) Documents(ctx context.Context) []tui.Document {
	var list []tui.Document
	walked := 0
	_ = filepath.WalkDir(h.choices.Place, func(path string, e fs.DirEntry, err error) error {
		walked++
		switch rel, _ := filepath.Rel(h.choices.Place, path); {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case walked > maxWalked || len(list) == maxDocuments || ctx.Err() != nil:
			return fs.SkipAll
		case e.IsDir() && rel != "." && (strings.HasPrefix(e.Name(), ".") || slices.Contains(skipped, e.Name()) ||
			strings.Count(rel, string(filepath.Separator)) >= maxDepth):
			return fs.SkipDir
		case e.Type().IsRegular() && slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(path))):
			if info, err := e.Info(); err == nil {
				list = append(list, tui.Document{Path: rel, Bytes: info.Size(), Title: heading(path)})
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b tui.Document) int {
		return strings.Count(a.Path, "/") - strings.Count(b.Path, "/")
	})
	return list
}

// heading returns the first heading of a Markdown file, or "" if its beginning has none.
func heading(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, titleBytes)
	n, _ := f.Read(head)
	for line := range bytes.Lines(head[:n]) {
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("#")); ok {
			return string(bytes.TrimSpace(bytes.TrimLeft(text, "#")))
		}
	}
	return ""
}

// ReadDocument implements tui.Host.
func (h *ScreenHost) ReadDocument(path string) (string, error) {
	return settings.ReadRequirements(h.inside(path))
}

// Save implements tui.Host. It never overwrites a file.
func (h *ScreenHost) Save(name, text string) (string, error) {
	path := h.inside(name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already: name another file", name)
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// inputsFile returns the file with typed inputs, one quoted line each, oldest first.
func (h *ScreenHost) inputsFile() string { return filepath.Join(h.choices.StateDir, "inputs") }

// Inputs implements tui.Host.
func (h *ScreenHost) Inputs() []string {
	f, err := os.Open(h.inputsFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []string
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if text, bad := strconv.Unquote(strings.TrimSpace(line)); bad == nil && text != "" {
			list = append(list, text)
		}
		if err != nil {
			return list[max(len(list)-inputsKept, 0):]
		}
	}
}

// Remember implements tui.Host. Errors are ignored: the history of inputs is a convenience.
func (h *ScreenHost) Remember(text string) {
	if len(text) > settings.MaxTask/16 {
		return
	}
	h.typed.Lock() // workers call it concurrently
	defer h.typed.Unlock()
	list := append(h.Inputs(), text)
	var b strings.Builder
	for _, t := range list[max(len(list)-inputsKept, 0):] {
		b.WriteString(strconv.Quote(t) + "\n")
	}
	dir, err := statedir.Open(filepath.Dir(h.inputsFile()))
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.ReplaceUnsynced(filepath.Base(h.inputsFile()), []byte(b.String()))
}
