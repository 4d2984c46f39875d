package yamldoc

// This file changes single settings of a YAML configuration file. All other bytes stay unchanged: comments,
// order and line ends. The result is parsed again, and returned only if it has the intended meaning.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ErrForm reports a file in a form that cannot be edited safely.
var ErrForm = errors.New("the file is written in a form that arbiter does not edit: change it in an editor")

// Edit sets a key of the top level: it replaces the value of the key, or adds the key at the end. value is YAML on one
// line; if it is empty, the key is removed. Comments are kept.
func Edit(src []byte, key, value string) (out []byte, err error) {
	defer func() {
		if recover() != nil { // the parser has panicked on hostile input before
			out, err = nil, ErrForm
		}
	}()
	if rest, ok := bytes.CutPrefix(src, mark); ok {
		if out, err = Edit(rest, key, value); err == nil {
			out = slices.Concat(mark, out)
		}
		return out, err
	}
	before, err := meaning(src)
	if err != nil {
		return nil, err
	}
	first, last, found, err := place(src, key)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(src))
	switch {
	case !found && value == "":
		return src, nil
	case !found:
		out = slices.Clone(src)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, key+": "+value+"\n"...)
	case value == "":
		out = slices.Concat(slices.Concat(lines[:first]...), slices.Concat(lines[last:]...))
	default:
		ending := lines[last-1][len(bytes.TrimRight(lines[last-1], "\r\n")):]
		line := key + ": " + value + comment(lines[first], last-first == 1) + string(ending)
		out = slices.Concat(slices.Concat(lines[:first]...), []byte(line), slices.Concat(lines[last:]...))
	}
	want := map[string]any{}
	maps.Copy(want, before)
	delete(want, key)
	if value != "" {
		single, err := meaning([]byte(key + ": " + value + "\n"))
		if err != nil {
			return nil, err
		}
		want[key] = single[key]
	}
	if got, err := meaning(out); err != nil || !reflect.DeepEqual(got, want) {
		return nil, ErrForm
	}
	return out, nil
}

// meaning returns the parsed content of a file.
func meaning(src []byte) (map[string]any, error) {
	m := map[string]any{}
	if err := yaml.Unmarshal(src, &m); err != nil {
		return nil, fmt.Errorf("the file is not a YAML mapping: %s", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	return m, nil
}

// Root returns the pairs of a file with one mapping of lines.
func Root(src []byte) (list []*ast.MappingValueNode, err error) {
	tree, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, ErrForm
	}
	var bodies []ast.Node
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return nil, nil
	}
	list, inline, ok := Pairs(bodies[0])
	if len(bodies) > 1 || inline || !ok {
		return nil, ErrForm
	}
	return list, nil
}

// Pairs returns the pairs of a mapping or a null. inline: they are in braces.
func Pairs(n ast.Node) (list []*ast.MappingValueNode, inline, ok bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, false, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, false, true
	case *ast.MappingNode:
		return n.Values, n.IsFlowStyle, true
	}
	return nil, false, false
}

// place finds the lines of a key and its value, counted from 0: from first to before last.
func place(src []byte, key string) (first, last int, found bool, err error) {
	pairs, err := Root(src)
	if err != nil {
		return 0, 0, false, err
	}
	lines := slices.Collect(bytes.Lines(src))
	for i, pair := range pairs {
		if pair.Key.GetToken().Value != key {
			continue
		}
		first, last = pair.Key.GetToken().Position.Line-1, len(lines)
		if i+1 < len(pairs) {
			last = pairs[i+1].Key.GetToken().Position.Line - 1
		}
		for last > first+1 && isBlank(lines[last-1]) {
			last--
		}
		return first, last, true, nil
	}
	return 0, 0, false, nil
}

// isBlank reports whether a line is empty, or only a comment that does not belong to a value.
func isBlank(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 0 || line[0] == '#' || bytes.HasPrefix(text, []byte("---"))
}

// comment returns the comment after the value of a line: " # why". A value of several lines has none that
// is kept.
func comment(line []byte, single bool) string {
	text := strings.TrimRight(string(line), "\r\n")
	all, err := meaning([]byte(text))
	for i := 0; single && err == nil && i < len(text); i++ {
		if !strings.HasPrefix(text[i:], " #") {
			continue
		}
		value := text[:i]
		if without, err := meaning([]byte(value)); err == nil && reflect.DeepEqual(without, all) { // else it is in quotes
			return text[len(strings.TrimRight(value, " ")):]
		}
	}
	return ""
}

// plain matches texts that may be written without quotes, if they then have the same meaning.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-{1,2}[A-Za-z]|[A-Za-z0-9/]|~/)[A-Za-z0-9._/@=-]*$`)
})

// EditedText writes a text as a YAML value on one line.
func EditedText(s string) string {
	if plain().MatchString(s) {
		m, err := meaning([]byte("k: " + s + "\n"))
		// Other parsers interpret these as something else.
		ambiguous := []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
		if err == nil && m["k"] == s && !slices.Contains(ambiguous, strings.ToLower(s)) {
			return s
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b) // a JSON string is a YAML string
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}
