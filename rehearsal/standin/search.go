package standin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// searchCap bounds how many files or lines a search reports.
const searchCap = 100

// globPattern translates a glob to a regular expression over slash paths: `**`
// crosses directories, `*` and `?` do not, `{a,b}` is a choice.
func globPattern(glob string) (*regexp.Regexp, error) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case c == ',' && depth > 0:
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return regexp.Compile("^" + b.String() + "$")
}

// walkFiles visits regular files under root, hidden directories left out, until
// visit says no more or ctx ends.
func walkFiles(ctx context.Context, root string, visit func(path, rel string) bool) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil // unreadable parts are left out
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && !visit(path, filepath.ToSlash(rel)) {
			return fs.SkipAll
		}
		return nil
	})
}

func runGlob(ctx context.Context, t *thread, c toolCall) toolResult {
	var in struct{ Pattern, Path string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	begun := time.Now()
	re, err := globPattern(in.Pattern)
	if err != nil {
		return failed("invalid pattern: %v", err)
	}
	found := []string{}
	walkFiles(ctx, t.s.abs(in.Path), func(_, rel string) bool {
		if re.MatchString(rel) {
			found = append(found, rel)
		}
		return true
	})
	total := len(found)
	slices.Sort(found)
	found = found[:min(total, searchCap)]
	content := strings.Join(found, "\n")
	if total == 0 {
		content = "No files found"
	}
	return toolResult{content: content, detail: obj{
		"filenames": found, "durationMs": time.Since(begun).Milliseconds(), "numFiles": len(found),
		"truncated": total > len(found), "totalMatches": total, "countIsComplete": true,
	}}
}

// grepHit is a matching line.
type grepHit struct {
	file string
	line int
	text string
}

func runGrep(ctx context.Context, t *thread, c toolCall) toolResult {
	var in struct {
		Pattern, Path, Glob string
		Mode                string `json:"output_mode"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return failed("invalid pattern: %v", err)
	}
	only, err := globPattern(in.Glob)
	if err != nil {
		return failed("invalid glob: %v", err)
	}
	var hits []grepHit
	files := []string{}
	search := func(path, rel string) bool {
		if in.Glob != "" && !only.MatchString(rel) && !only.MatchString(filepath.Base(rel)) {
			return true
		}
		if found := grepFile(path, rel, re, searchCap-len(hits)); len(found) > 0 {
			hits, files = append(hits, found...), append(files, rel)
		}
		return len(hits) < searchCap
	}
	root := t.s.abs(in.Path)
	if st, err := os.Stat(root); err == nil && st.Mode().IsRegular() {
		search(root, filepath.Base(root))
	} else {
		walkFiles(ctx, root, search)
	}
	return grepResult(in.Mode, hits, files)
}

func grepFile(path, rel string, re *regexp.Regexp, most int) (hits []grepHit) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	sc := bufio.NewScanner(f) // a longer line than it takes ends the search of that file
	for n := 1; sc.Scan() && len(hits) < most; n++ {
		if re.Match(sc.Bytes()) {
			hits = append(hits, grepHit{rel, n, sc.Text()})
		}
	}
	return hits
}

func grepResult(mode string, hits []grepHit, files []string) toolResult {
	slices.Sort(files)
	switch {
	case mode == "content" && len(hits) > 0:
		lines := make([]string, len(hits))
		for i, h := range hits {
			lines[i] = fmt.Sprintf("%s:%d:%s", h.file, h.line, h.text)
		}
		text := strings.Join(lines, "\n")
		return toolResult{content: text, detail: obj{"mode": mode, "numFiles": 0, "filenames": []string{},
			"content": text, "numLines": len(lines), "totalLines": len(lines)}}
	case len(hits) == 0:
		return toolResult{content: "No files found"}
	}
	noun := "files"
	if len(files) == 1 {
		noun = "file"
	}
	return toolResult{content: fmt.Sprintf("Found %d %s\n%s", len(files), noun, strings.Join(files, "\n")),
		detail: obj{"mode": "files_with_matches", "filenames": files, "numFiles": len(files), "totalFiles": len(files)}}
}
