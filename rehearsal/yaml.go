package rehearsal

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The scenario is read from the syntax tree, not through struct tags: the
// library's decoder coerces (a number into a text, a text into a number) and
// names Go types, where an author needs a line and the name of a field.

// document is one YAML file being read: where problems are collected, and the
// anchors that aliases refer to.
type document struct {
	file    string
	anchors map[string]ast.Node
	values  int // seen so far, aliases counted as what they stand for
	errs    []error
}

// An alias may stand inside its own anchor, or make a small file unfold into
// a huge one: both ends of that are bounded, far above what anybody writes.
const (
	maxValues = 20_000
	maxDepth  = 64
)

// cursor is one value of the document, with the path that leads to it.
type cursor struct {
	doc   *document
	path  string
	depth int
	node  ast.Node
}

// within counts n values and reports whether the bounds still hold.
func (c cursor) within(n int) bool {
	if c.doc.values > maxValues {
		return false // reported already
	}
	if c.doc.values += n; c.doc.values > maxValues || c.depth > maxDepth {
		c.doc.values = maxValues + 1
		c.errorf("too many or too deeply nested values: does an alias contain itself?")
		return false
	}
	return true
}

func parseYAML(file string, src []byte) (*document, cursor, error) {
	doc := &document{file: file, anchors: map[string]ast.Node{}}
	tree, err := parser.ParseBytes(src, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, cursor{}, fmt.Errorf("%s:%d: %s", file, at.GetToken().Position.Line, at.GetMessage())
		}
		return nil, cursor{}, fmt.Errorf("%s: %w", file, err)
	}
	var bodies []ast.Node
	for _, d := range tree.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	if len(bodies) != 1 {
		return nil, cursor{}, fmt.Errorf("%s:1: want one YAML document, found %d", file, len(bodies))
	}
	ast.Walk(doc, bodies[0])
	return doc, cursor{doc: doc, node: bodies[0]}, nil
}

// Visit collects the anchors (ast.Visitor).
func (d *document) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		d.anchors[a.Name.GetToken().Value] = a.Value
	}
	return d
}

func (d *document) err() error { return errors.Join(d.errs...) }

func (c cursor) line() int {
	if t := c.node.GetToken(); t != nil {
		return t.Position.Line
	}
	return 0
}

func (c cursor) errorf(format string, args ...any) {
	where := fmt.Sprintf("%s:%d: ", c.doc.file, c.line())
	if c.path != "" {
		where += c.path + ": "
	}
	c.doc.errs = append(c.doc.errs, fmt.Errorf(where+format, args...))
}

// value is the node without anchors and aliases. An alias that stands for
// itself would never end: eight levels are plenty.
func (c cursor) value() ast.Node {
	n := c.node
	for range 8 {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			target, ok := c.doc.anchors[v.Value.GetToken().Value]
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

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "nothing"
	case *ast.AliasNode:
		return "an alias without an anchor"
	}
	return n.Type().String()
}

func (c cursor) want(what string) {
	c.errorf("want %s, found %s", what, kindOf(c.value()))
}

// field is one key of a mapping.
type field struct {
	key string
	cursor
}

// fields lists a mapping in the order it was written.
func (c cursor) fields(what string) []field {
	var pairs []*ast.MappingValueNode
	switch n := c.value().(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		c.want(what)
		return nil
	}
	if !c.within(len(pairs)) {
		return nil
	}
	out := make([]field, 0, len(pairs))
	for _, p := range pairs {
		key := p.Key.GetToken().Value
		at := cursor{doc: c.doc, path: join(c.path, key), depth: c.depth + 1, node: p.Value}
		if p.Key.IsMergeKey() {
			at.errorf("merge keys are not supported")
			continue
		}
		out = append(out, field{key, at})
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (c cursor) items(what string) []cursor {
	n, ok := c.value().(*ast.SequenceNode)
	if !ok {
		c.want(what)
		return nil
	}
	if !c.within(len(n.Values)) {
		return nil
	}
	out := make([]cursor, 0, len(n.Values))
	for i, v := range n.Values {
		out = append(out, cursor{doc: c.doc, path: fmt.Sprintf("%s[%d]", c.path, i), depth: c.depth + 1, node: v})
	}
	return out
}

// unknown reports a key nobody reads: a misspelt field must not be silence.
func (f field) unknown() { f.errorf("unknown field %q", f.key) }

func (c cursor) text() string {
	s, ok := plainText(c.value())
	if !ok {
		c.want("a text")
	}
	return s
}

func plainText(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	return "", false
}

func (c cursor) integer(least int) int {
	n, ok := c.value().(*ast.IntegerNode)
	if !ok {
		c.want("a whole number")
		return 0
	}
	i, err := strconv.Atoi(fmt.Sprint(n.Value))
	if err != nil || i < least {
		c.errorf("want a whole number from %d, found %v", least, n.Value)
	}
	return i
}

func (c cursor) truth() bool {
	n, ok := c.value().(*ast.BoolNode)
	if !ok {
		c.want("true or false")
		return false
	}
	return n.Value
}

// duration reads "300ms", "2s", "1m30s".
func (c cursor) duration() time.Duration {
	d, err := time.ParseDuration(c.text())
	if err != nil || d < 0 {
		c.errorf("want a duration such as 300ms or 2s, found %q", c.text())
	}
	return d
}

// count reads the times a step is repeated: a number from 1, or "forever".
func (c cursor) count() int {
	if s, ok := plainText(c.value()); ok {
		if s == "forever" {
			return math.MaxInt
		}
		c.errorf("want a number or \"forever\", found %q", s)
		return 1
	}
	return c.integer(1)
}

func (c cursor) pattern() *regexp.Regexp {
	re, err := regexp.Compile(c.text())
	if err != nil {
		c.errorf("bad regular expression: %v", err)
		return nil
	}
	return re
}

func (c cursor) texts() []string {
	var out []string
	for _, it := range c.items("a list of texts") {
		out = append(out, it.text())
	}
	return out
}
