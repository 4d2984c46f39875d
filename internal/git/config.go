package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// maxConfig bounds a configuration file of a repository, in bytes.
const maxConfig = 1 << 20

// Setting is one line of a repository's configuration. Key is in git's notation: section and name in lower case.
type Setting struct {
	Key, Value string
	Bare       bool // the line is a name alone, which means true
}

// parts returns the section, the subsection and the name of a key.
func (s Setting) parts() (section, sub, name string) {
	section, rest, _ := strings.Cut(s.Key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}

// kept are the settings of a repository that Arbiter's git uses. None names a program, a file that has settings, or
// a repository, so that an agent, or the author of the repository, can change them all. A * is any text without dots;
// in the middle of a name it may have dots.
var kept = []string{
	"core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
	"core.autocrlf", "core.eol", "core.checkstat", "core.trustctime", "core.logallrefupdates", "core.sharedrepository",
	"core.sparsecheckout", "core.sparsecheckoutcone", "core.protecthfs", "core.protectntfs", "core.longpaths",
	"core.excludesfile", "core.attributesfile", "core.untrackedcache", "core.preloadindex", "core.compression",
	"index.sparse", "index.version", "index.skiphash", "feature.manyfiles", "status.showuntrackedfiles",
	"extensions.objectformat", "extensions.compatobjectformat", "extensions.refstorage", "extensions.noop",
	"extensions.noop-v1", "extensions.preciousobjects", "extensions.relativeworktrees",
	"user.name", "user.email", "user.useconfigonly", "author.name", "author.email", "committer.name", "committer.email",
	"merge.renames", "merge.renamelimit", "merge.directoryrenames", "diff.renames", "diff.renamelimit", "diff.algorithm",
	"i18n.commitencoding", "remote.*.url", "lfs.url", "lfs.repositoryformatversion",
}

// plain are further settings that run nothing, which Arbiter's git does not need.
var plain = []string{
	"core.bare", "branch.*.remote", "branch.*.merge", "branch.*.rebase", "branch.*.description",
	"branch.*.pushremote", "branch.autosetupmerge", "remote.*.fetch", "remote.*.promisor", "remote.*.partialclonefilter",
	"remote.pushdefault", "submodule.active", "submodule.*.url", "submodule.*.active", "submodule.*.branch",
	"extensions.partialclone", "gc.auto", "maintenance.auto", "maintenance.strategy", "pull.rebase", "pull.ff",
	"push.default", "rerere.enabled", "advice.*", "color.*", "receive.shallowupdate", "receive.autogc",
}

func among(list []string, key string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		before, after, wild := strings.Cut(pattern, "*")
		return key == pattern || wild && len(key) > len(before)+len(after) && strings.HasPrefix(key, before) &&
			strings.HasSuffix(key, after) && (after != "" || !strings.Contains(key[len(before):], "."))
	})
}

// Keeps reports whether Arbiter's git uses a setting of a repository.
func (s Setting) Keeps() bool {
	transport := strings.HasPrefix(s.Key, "remote.") && strings.Contains(s.Value, "::") // which is a program
	return among(kept, s.Key) && !transport
}

// Runs reports whether a setting may make git run something, or take settings from elsewhere. What is not known to be
// harmless counts.
func (s Setting) Runs() bool { return !s.Keeps() && !among(plain, s.Key) }

// read returns a small file. A missing one is empty; what is no file, such as a pipe, is an error.
func read(file string, max int64) ([]byte, error) {
	f, err := Regular(os.Stat, os.OpenFile, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(text)) > max {
		err = fmt.Errorf("%s is longer than %d bytes: look at it", file, max)
	}
	return text, err
}

// Regular opens a file for reading that an agent may replace at any time: it opens no device, and waits for no pipe.
// stat and open are those of os, or of a root.
func Regular(stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error),
	file string) (*os.File, error) {
	info, err := stat(file)
	if err != nil {
		return nil, err
	}
	other := fmt.Errorf("%s is not a file: look at it, and remove it", file)
	if !info.Mode().IsRegular() {
		return nil, other
	}
	f, err := open(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = other
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Settings reads a configuration file. It follows no include, and runs nothing.
func Settings(file string) ([]Setting, error) {
	text, err := read(file, maxConfig)
	if err != nil {
		return nil, err
	}
	p := &parser{rest: strings.TrimPrefix(string(text), "\xef\xbb\xbf")}
	if !p.file() {
		line := 1 + strings.Count(string(text[:len(text)-len(p.rest)]), "\n")
		return nil, fmt.Errorf("%s: line %d cannot be read as Git's configuration: correct it", file, line)
	}
	return p.found, nil
}

// format writes settings as a configuration file.
func format(settings []Setting) []byte {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	for _, s := range settings {
		section, sub, name := s.parts()
		if sub != "" {
			section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub) + `"`
		}
		fmt.Fprintf(&b, "[%s]\n\t%s", section, name)
		if !s.Bare {
			b.WriteString(` = "` + quote.Replace(s.Value) + `"`)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// parser reads what git writes and people type. It need not agree with git about each odd file: only settings that
// are harmless with any value get through.
type parser struct {
	rest    string
	section string
	found   []Setting
}

func (p *parser) next() byte {
	if p.rest == "" {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// span takes the leading bytes that are among some.
func (p *parser) span(in func(byte) bool) string {
	n := 0
	for n < len(p.rest) && in(p.rest[n]) {
		n++
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}
func line(c byte) bool { return c != '\n' }

func (p *parser) file() bool {
	for {
		p.span(func(c byte) bool { return blank(c) || c == '\n' })
		switch {
		case p.rest == "":
			return true
		case p.rest[0] == '#', p.rest[0] == ';':
			p.span(line)
		case p.rest[0] == '[':
			if !p.header() {
				return false
			}
		default:
			if !p.setting() {
				return false
			}
		}
	}
}

func (p *parser) header() bool {
	p.next()
	p.section = strings.ToLower(p.span(func(c byte) bool { return word(c) || c == '.' }))
	if p.span(blank) != "" || strings.HasPrefix(p.rest, `"`) {
		if p.next() != '"' {
			return false
		}
		sub := ""
		for c := p.next(); c != '"'; c = p.next() {
			if c == '\\' {
				c = p.next()
			}
			if c == 0 || c == '\n' {
				return false
			}
			sub += string([]byte{c})
		}
		p.section += "." + sub
	}
	return p.section != "" && p.next() == ']'
}

func (p *parser) setting() bool {
	name := strings.ToLower(p.span(word))
	if name == "" || p.section == "" {
		return false
	}
	s := Setting{Key: p.section + "." + name}
	p.span(blank)
	switch {
	case strings.HasPrefix(p.rest, "="):
		p.next()
		value, ok := p.value()
		if !ok {
			return false
		}
		s.Value = value
	case p.rest == "" || p.rest[0] == '\n':
		s.Bare = true
	default:
		return false
	}
	p.found = append(p.found, s)
	return true
}

func (p *parser) value() (string, bool) {
	p.span(blank)
	var b strings.Builder
	quoted, end := false, 0 // end: without blanks at the end
	for {
		c := p.next()
		switch {
		case c == 0 || c == '\n':
			return b.String()[:end], !quoted
		case !quoted && (c == '#' || c == ';'):
			p.span(line)
			continue
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case '\r':
				if p.next() != '\n' {
					return "", false
				}
				continue
			case 'n', 't', 'b':
				c = "\n\t\b"[strings.IndexByte("ntb", c)]
			case '"', '\\':
			default:
				return "", false
			}
			b.WriteByte(c)
			end = b.Len()
			continue
		}
		b.WriteByte(c)
		if quoted || !blank(c) {
			end = b.Len()
		}
	}
}

// Drivers returns the names of the filters ("filter") or of the drivers of merges ("merge") that the repository's own
// configuration defines.
func (p Place) Drivers(kind string) ([]string, error) {
	settings, err := p.all()
	var names []string
	for _, s := range settings {
		section, sub, name := s.parts()
		runs := kind == "filter" && slices.Contains([]string{"clean", "smudge", "process"}, name) || name == "driver"
		if section == kind && sub != "" && runs && !slices.Contains(names, sub) {
			names = append(names, sub)
		}
	}
	return names, err
}
