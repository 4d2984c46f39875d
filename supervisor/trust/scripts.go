package trust

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxWords bounds how many words of one value are checked for file names.
const maxWords = 4096

// scripts lists the files that the texts in a value name. It checks their words, because nothing is run.
func (l *look) scripts(from string, value json.RawMessage) {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return
	}
	words := 0
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			words += l.named(from, v)
		case []any:
			for _, e := range v {
				if words < maxWords {
					visit(e)
				}
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if words < maxWords {
					visit(v[key])
				}
			}
		}
	}
	visit(v)
}

// projectDir matches the ways to write the directory of the project in a command.
var projectDir = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"?\$(\{CLAUDE_PROJECT_DIR(:-[^}]*)?\}|CLAUDE_PROJECT_DIR\b|PWD\b|\{PWD\})"?`)
})

// named lists the files that a command names, and returns how many words it checked.
func (l *look) named(from, command string) int {
	if len(command) > maxParsed {
		l.unreadable(from, "a command too long to be searched", "")
		return 1
	}
	dirs := []string{l.CWD, l.Root, filepath.Dir(from)}
	n := 0
	seen := map[string]bool{}
	for _, dir := range dirs[:2] {
		text := projectDir().ReplaceAllLiteralString(command, dir)
		for _, word := range words(text) {
			if seen[word] {
				continue
			}
			if seen[word] = true; len(seen) > maxWords {
				return n
			}
			n++
			l.word(word, dirs)
		}
	}
	return n
}

// word lists the file of the workspace that a word is the path of.
func (l *look) word(word string, dirs []string) {
	if word == "" || len(word) > 4096 || strings.ContainsRune(word, 0) || word == "." || word == ".." || word == "/" {
		return
	}
	for _, dir := range dirs {
		path := resolve(dir, word)
		if _, inside := l.relative(path); !inside || path == l.Root || path == l.CWD {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			if link, lerr := os.Lstat(path); lerr == nil && link.Mode()&os.ModeSymlink != 0 && !l.seen[path] {
				l.seen[path] = true
				l.link(path)
			}
		case info.Mode().IsRegular():
			if raw, ok := l.file(path); ok {
				l.add(KindScript, path, "", lines(raw), string(raw))
			}
		case !info.IsDir():
			l.file(path) // which describes it
		}
	}
}

// words splits a command roughly as a shell would: at spaces, quotes, operators and the characters after which
// a path may begin.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("'\"`;|&<>(){}[],=:", r)
	})
}
