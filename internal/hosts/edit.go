package hosts

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

// Add returns a configuration file with one more host, after the others. All other bytes stay as they are.
func Add(file string, src []byte, h Host) ([]byte, error) {
	before, err := Read(file, src)
	if err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	if slices.Contains(before.Names(), h.Name) {
		return nil, fmt.Errorf("there is a host or pool %q already: arbiter hosts rm %[1]s removes a host", h.Name)
	}
	l, err := layoutOf(src)
	if err != nil {
		return nil, err
	}
	out := l.add(h)
	want := Config{Hosts: append(slices.Clone(before.Hosts), h), Pools: before.Pools}
	return out, verify(file, out, want)
}

// Remove returns a configuration file without a host and its comments. All other bytes stay as they are. A host that
// a pool names is not removed.
func Remove(file string, src []byte, name string) ([]byte, error) {
	before, err := Read(file, src)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(before.Hosts, func(h Host) bool { return h.Name == name })
	pools := before.PoolsOf(name)
	switch {
	case name == Here:
		return nil, fmt.Errorf("%q is this machine: it cannot be removed", name)
	case i < 0:
		return nil, fmt.Errorf("there is no host %q in %s; arbiter hosts lists them", name, file)
	case len(pools) > 0:
		return nil, fmt.Errorf("the pool %s names %s: take it out there first", strings.Join(pools, ", "), name)
	}
	l, err := layoutOf(src)
	if err != nil {
		return nil, err
	}
	out := l.remove(i)
	want := Config{Hosts: slices.Delete(slices.Clone(before.Hosts), i, i+1), Pools: before.Pools}
	return out, verify(file, out, want)
}

// verify parses the new text: it is used only if it has the intended meaning.
func verify(file string, out []byte, want Config) error {
	got, err := Read(file, out)
	if len(want.Hosts) == 0 {
		want.Hosts = nil
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		return yamldoc.ErrForm
	}
	return nil
}

// layout describes where in a file the hosts are.
type layout struct {
	src   []byte
	lines []int                 // offsets of the lines' beginnings, and of the end
	key   *ast.MappingValueNode // of hosts; nil: it does not exist
	after int                   // line of the next key, from 1; 0: there is none
	hosts []*ast.MappingValueNode
	end   *token.Token // the brace that ends the hosts; nil: they are on lines of their own
}

func layoutOf(src []byte) (l layout, err error) {
	l = layout{src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			l.lines = append(l.lines, i+1)
		}
	}
	root, err := yamldoc.Root(src)
	if err != nil {
		return l, err
	}
	for i, pair := range root {
		if pair.Key.GetToken().Value != "hosts" {
			continue
		}
		l.key = pair
		if i+1 < len(root) {
			l.after = root[i+1].Key.GetToken().Position.Line
		}
		var inline, ok bool
		if l.hosts, inline, l.end, ok = yamldoc.Pairs(pair.Value); !ok || inline && l.end == nil {
			return l, yamldoc.ErrForm
		}
	}
	return l, nil
}

// offset returns the place of a token in the file.
func (l layout) offset(t *token.Token) int {
	at := l.lines[t.Position.Line-1]
	for range t.Position.Column - 1 { // columns are characters
		_, size := utf8.DecodeRune(l.src[at:])
		at += size
	}
	return at
}

func (l layout) splice(from, to int, text string) []byte {
	return slices.Concat(l.src[:from], []byte(text), l.src[to:])
}

func (l layout) add(h Host) []byte {
	if l.key == nil {
		return l.insertLines(len(l.src), "hosts:\n"+h.lines("  "))
	}
	if l.end != nil {
		text := h.Name + ": " + h.inline()
		if len(l.hosts) > 0 {
			text = ", " + text
		}
		at := l.offset(l.end)
		at = len(bytes.TrimRight(l.src[:at], " \t\r\n"))
		return l.splice(at, at, text)
	}
	indent := "  "
	if len(l.hosts) > 0 {
		indent = strings.Repeat(" ", l.hosts[0].Key.GetToken().Position.Column-1)
	}
	first := l.key.Key.GetToken().Position.Line
	return l.insertLines(l.endOf(first, l.after), h.lines(indent))
}

// endOf returns the end of the text that begins in a line, before the line next, or before the end of the
// file if that is
// 0. Blank lines and comments after it are not part of it.
func (l layout) endOf(first, next int) int {
	last := len(l.lines)
	if next > 0 {
		last = next - 1
	}
	for ; last > first; last-- {
		if text := l.line(last); text != "" && text[0] != '#' {
			break
		}
	}
	if last < len(l.lines) {
		return l.lines[last]
	}
	return len(l.src)
}

// line returns the text of a line, from 1, without blanks around it.
func (l layout) line(n int) string {
	end := len(l.src)
	if n < len(l.lines) {
		end = l.lines[n]
	}
	return strings.TrimSpace(string(l.src[l.lines[n-1]:end]))
}

func (l layout) insertLines(at int, text string) []byte {
	if at > 0 && l.src[at-1] != '\n' {
		text = "\n" + text
	}
	return l.splice(at, at, text)
}

func (l layout) remove(i int) []byte {
	start := l.hosts[i].Key.GetToken()
	if l.end != nil {
		from := l.offset(start)
		if i+1 < len(l.hosts) {
			return l.splice(from, l.offset(l.hosts[i+1].Key.GetToken()), "")
		}
		if comma := bytes.LastIndexByte(l.src[:from], ','); i > 0 && comma >= 0 {
			from = comma
		}
		return l.splice(from, l.offset(l.end), "")
	}
	next := l.after
	if i+1 < len(l.hosts) {
		next = l.hosts[i+1].Key.GetToken().Position.Line
	}
	first := start.Position.Line
	end := l.endOf(first, next)
	for first > 1 && strings.HasPrefix(l.line(first-1), "#") {
		first--
	}
	return l.splice(l.lines[first-1], end, "")
}

// lines returns the host on lines of its own.
func (h Host) lines(indent string) string {
	text := indent + h.Name + ":\n"
	for _, f := range h.fields() {
		text += indent + "  " + f + "\n"
	}
	return text
}

// inline returns the host in braces.
func (h Host) inline() string { return "{" + strings.Join(h.fields(), ", ") + "}" }

func (h Host) fields() []string {
	list := []string{"command: " + wordList(h.Command)}
	if h.Dir != "" {
		list = append(list, "dir: "+yamldoc.EditedText(h.Dir))
	}
	if h.Slots != DefaultSlots {
		list = append(list, "slots: "+strconv.Itoa(h.Slots))
	}
	if len(h.End) > 0 {
		list = append(list, "end: "+wordList(h.End))
	}
	if len(h.PassEnv) > 0 {
		list = append(list, "pass_env: "+wordList(h.PassEnv))
	}
	return list
}

func wordList(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = yamldoc.EditedText(word)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
