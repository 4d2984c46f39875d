// Package yamldoc reads YAML strictly, as values with their position. It reads the syntax tree and not
// through struct tags, because the library's decoder coerces (a number into a text, a text into a number)
// and names Go types, where an author needs a line and the name of a field.
//
// Problems are collected in the document, so that a reader can report all of them at once.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is one problem and its place.
type Error struct {
	File   string
	Line   int
	Column int    // of a syntax error; 0: unknown
	Path   string // the fields that lead to the value; empty at the top
	Text   string
}

func (e *Error) Error() string {
	where := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Column > 0 {
		where += fmt.Sprintf(":%d", e.Column)
	}
	if e.Path != "" {
		where += ": " + e.Path
	}
	return where + ": " + e.Text
}

// Document is one file: its values, and the problems found so far.
type Document struct {
	file    string
	bodies  []ast.Node
	anchors map[string]ast.Node
	values  int // seen so far; aliases count as their targets
	errs    []*Error
}

// mark is the byte order mark with which some editors begin a file.
var mark = []byte("\ufeff")

// Parse reads the syntax of a file. The error is an [*Error].
func Parse(file string, src []byte) (d *Document, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser has panicked on hostile input before
			d, err = nil, &Error{File: file, Line: 1, Text: "this is not YAML"}
		}
	}()
	// A field that is given twice is reported by Fields, like any other problem.
	tree, err := parser.ParseBytes(bytes.TrimPrefix(src, mark), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(file, err)
	}
	d = &Document{file: file, anchors: map[string]ast.Node{}}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			d.bodies = append(d.bodies, doc.Body)
			ast.Walk(anchors(d.anchors), doc.Body)
		}
	}
	return d, nil
}

func syntaxError(file string, err error) *Error {
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
		p := at.GetToken().Position
		text := "not valid YAML: " + at.GetMessage()
		if strings.Contains(text, "character '\t'") {
			text = "not valid YAML: indent with spaces, not with a tab"
		}
		return &Error{File: file, Line: p.Line, Column: p.Column, Text: text}
	}
	return &Error{File: file, Line: 1, Text: err.Error()}
}

// anchors collects the anchors by name.
type anchors map[string]ast.Node

func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// Values returns the documents of the file that are not empty.
func (d *Document) Values() []Value {
	list := make([]Value, len(d.bodies))
	for i, body := range d.bodies {
		list[i] = Value{doc: d, node: body}
	}
	return list
}

// Problems returns the problems found so far, in the order in which they were found.
func (d *Document) Problems() []*Error { return d.errs }

// Err joins the problems.
func (d *Document) Err() error {
	errs := make([]error, len(d.errs))
	for i, e := range d.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}
