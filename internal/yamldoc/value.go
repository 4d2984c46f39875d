package yamldoc

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// An alias may be inside its own anchor, or make a small file expand to a huge one: depth and size are
// bounded, far above what a person writes.
const (
	maxValues = 20_000
	maxDepth  = 64
)

// Kind is the kind of a value, in words for its author.
type Kind string

// The kinds of values.
const (
	Mapping  Kind = "a mapping"
	List     Kind = "a list"
	Text     Kind = "a text"
	Number   Kind = "a number"
	Bool     Kind = "true or false"
	Nothing  Kind = "nothing"
	Dangling Kind = "an alias without an anchor"
)

// Value is one value of a document, with the path that leads to it.
type Value struct {
	doc   *Document
	Path  string // the fields that lead to it; empty at the top
	depth int
	node  ast.Node
}

// Field is one key of a mapping.
type Field struct {
	Key     string
	KeyLine int
	Value
}

// Line returns the line in which the value begins.
func (v Value) Line() int { return line(v.node) }

func line(n ast.Node) int {
	if t := n.GetToken(); t != nil {
		return t.Position.Line
	}
	return 0
}

// Place names the value for messages: file, line and path.
func (v Value) Place() string {
	return fmt.Sprintf("%s:%d: %s", v.doc.file, v.Line(), v.Path)
}

// Errorf adds a problem with the value to the document.
func (v Value) Errorf(format string, args ...any) { v.errorAt(v.Line(), format, args...) }

func (v Value) errorAt(line int, format string, args ...any) {
	e := &Error{File: v.doc.file, Line: line, Path: v.Path, Text: fmt.Sprintf(format, args...)}
	v.doc.errs = append(v.doc.errs, e)
}

// Want reports that the value is not of the wanted kind.
func (v Value) Want(what string) { v.Errorf("want %s, found %s", what, v.Kind()) }

// target returns the node without anchors and aliases. An alias of itself would never end: eight levels are
// plenty.
func (v Value) target() ast.Node {
	n := v.node
	for range 8 {
		switch at := n.(type) {
		case *ast.AnchorNode:
			n = at.Value
		case *ast.AliasNode:
			target, ok := v.doc.anchors[at.Value.GetToken().Value]
			if !ok {
				return n
			}
			n = target
		default:
			return n
		}
	}
	return n
}

// Kind returns the kind of the value; for an anchor or an alias, that of its target.
func (v Value) Kind() Kind {
	switch n := v.target().(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return Mapping
	case *ast.SequenceNode:
		return List
	case *ast.StringNode, *ast.LiteralNode:
		return Text
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return Number
	case *ast.BoolNode:
		return Bool
	case *ast.NullNode:
		return Nothing
	case *ast.AliasNode:
		return Dangling
	default:
		return Kind(n.Type().String())
	}
}

// Indirect reports whether the value, or an item of it, is written as an anchor, an alias or a tag, and in
// which line.
func (v Value) Indirect() (line int, yes bool) {
	switch n := v.node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return v.Line(), true
	case *ast.SequenceNode:
		for _, item := range n.Values {
			if line, yes = (Value{doc: v.doc, node: item}).Indirect(); yes {
				return line, true
			}
		}
	}
	return 0, false
}

// within counts n values and reports whether the bounds are still met.
func (v Value) within(n int) bool {
	if v.doc.values > maxValues {
		return false // reported already
	}
	v.doc.values += n
	if v.doc.values > maxValues || v.depth > maxDepth {
		v.doc.values = maxValues + 1
		v.Errorf("too many or too deeply nested values: does an alias contain itself?")
		return false
	}
	return true
}

// Fields returns the fields of a mapping in the order of the file; what is the name of the mapping in a
// problem.
func (v Value) Fields(what string) []Field {
	var pairs []*ast.MappingValueNode
	switch n := v.target().(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		v.Want(what)
		return nil
	}
	if !v.within(len(pairs)) {
		return nil
	}
	given := map[string]int{}
	out := make([]Field, 0, len(pairs))
	for _, p := range pairs {
		key, at := p.Key.GetToken().Value, line(p.Key)
		path := strings.TrimPrefix(v.Path+"."+key, ".")
		f := Field{key, at, Value{doc: v.doc, Path: path, depth: v.depth + 1, node: p.Value}}
		before, twice := given[key]
		switch {
		case p.Key.IsMergeKey():
			f.Errorf("merge keys are not supported")
		case twice:
			f.errorAt(at, "given twice: line %d has it, too", before)
		default:
			given[key] = at
			out = append(out, f)
		}
	}
	return out
}

// Unknown reports an unknown key, because a misspelled field must not be ignored.
func (f Field) Unknown() { f.Errorf("unknown field %q", f.Key) }

// Items returns the items of a list; what is the name of the list in a problem.
func (v Value) Items(what string) []Value {
	n, ok := v.target().(*ast.SequenceNode)
	if !ok {
		v.Want(what)
		return nil
	}
	if !v.within(len(n.Values)) {
		return nil
	}
	out := make([]Value, 0, len(n.Values))
	for i, item := range n.Values {
		out = append(out, Value{doc: v.doc, Path: fmt.Sprintf("%s[%d]", v.Path, i), depth: v.depth + 1, node: item})
	}
	return out
}

// Scalar returns a text, a number, true or false as it was written, without quotes.
func (v Value) Scalar() (string, bool) {
	switch n := v.target().(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// Plain returns a scalar that is not a text: nil, bool, int64, uint64 or float64.
func (v Value) Plain() any {
	switch n := v.target().(type) {
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	}
	return nil
}

// Text returns a value that must be a text.
func (v Value) Text() string {
	if v.Kind() != Text {
		v.Want("a text")
		return ""
	}
	s, _ := v.Scalar()
	return s
}

// Texts returns a list of texts.
func (v Value) Texts() []string {
	var out []string
	for _, item := range v.Items("a list of texts") {
		out = append(out, item.Text())
	}
	return out
}

// Integer returns a whole number that must not be less than least.
func (v Value) Integer(least int) int {
	n, ok := v.target().(*ast.IntegerNode)
	if !ok {
		v.Want("a whole number")
		return 0
	}
	i, err := strconv.Atoi(fmt.Sprint(n.Value))
	if err != nil || i < least {
		v.Errorf("want a whole number from %d, found %v", least, n.Value)
	}
	return i
}

// Bool returns true or false.
func (v Value) Bool() bool {
	n, ok := v.target().(*ast.BoolNode)
	if !ok {
		v.Want("true or false")
		return false
	}
	return n.Value
}

// Duration reads "300ms", "2s", "1m30s".
func (v Value) Duration() time.Duration {
	d, err := time.ParseDuration(v.Text())
	if err != nil || d < 0 {
		v.Errorf("want a duration such as 300ms or 2s, found %q", v.Text())
	}
	return d
}
