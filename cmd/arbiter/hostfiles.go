package main

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

	"github.com/arbiter-cli/arbiter/tui"
)

// Bounds of what is looked at in a workspace.
const (
	maxListed    = 500    // candidates of a path's beginning
	maxDocuments = 200    // Markdown files offered
	maxWalked    = 20_000 // directory entries looked at for them
	maxDepth     = 6
	titleBytes   = 4 << 10
	inputsKept   = 500 // of what was typed
)

// Files implements tui.Host.
func (h *host) Files(ctx context.Context, prefix string) []string {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(h.inside(dir))
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		name := e.Name()
		if ctx.Err() != nil || len(list) == maxListed {
			break
		}
		if !strings.HasPrefix(strings.ToLower(name), strings.ToLower(base)) ||
			strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if path := dir + name; e.IsDir() {
			list = append(list, path+"/")
		} else {
			list = append(list, path)
		}
	}
	return list
}

// inside is a path of the workspace, or one that names its place by itself.
func (h *host) inside(path string) string {
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

// skipped are directories in which nobody keeps requirements.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "__pycache__"}

// Documents implements tui.Host: Markdown files, the nearest to the top first.
func (h *host) Documents(ctx context.Context) []tui.Document {
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

// heading is a Markdown file's first heading, empty if its beginning has none.
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
func (h *host) ReadDocument(path string) (string, error) {
	return readRequirements(h.inside(path))
}

// Save implements tui.Host. It never writes over a file.
func (h *host) Save(name, text string) (string, error) {
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

// inputsFile keeps what was typed, one quoted line each, oldest first.
func (h *host) inputsFile() string { return filepath.Join(h.choices.StateDir, "inputs") }

// Inputs implements tui.Host.
func (h *host) Inputs() []string {
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

// Remember implements tui.Host. What cannot be kept is forgotten: it is a convenience.
func (h *host) Remember(text string) {
	if len(text) > maxTask/16 {
		return
	}
	h.typed.Lock() // workers come at once
	defer h.typed.Unlock()
	list := append(h.Inputs(), text)
	var b strings.Builder
	for _, t := range list[max(len(list)-inputsKept, 0):] {
		b.WriteString(strconv.Quote(t) + "\n")
	}
	_ = writeNote(filepath.Dir(h.inputsFile()), filepath.Base(h.inputsFile()), []byte(b.String()))
}
