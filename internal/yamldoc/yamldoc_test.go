package yamldoc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func parsed(t *testing.T, src string) (*Document, Value) {
	t.Helper()
	doc := testkit.Must(Parse("f.yaml", []byte(src)))(t)
	return doc, doc.Values()[0]
}

// TestStrict: an unexpected value is reported with its place, and nothing is coerced.
func TestStrict(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1":                    "f.yaml:1: a: want a text, found a number",
		"a: [x, {b: 1}]":          "f.yaml:1: a: want a text, found a list",
		"b: x\na: x\nb: y":        "f.yaml:3: b: given twice: line 1 has it, too",
		"<<: {a: x}":              "f.yaml:1: <<: merge keys are not supported",
		"a: *none":                "f.yaml:1: a: want a text, found an alias without an anchor",
		"- a":                     "f.yaml:1: want a mapping, found a list",
		"a: 2026-01-01\nb: 'x'":   "",
		"b: &t x\na: *t":          "",
		"a: |\n  x\n  y\nb: ''\n": "",
	} {
		doc, root := parsed(t, src)
		for _, f := range root.Fields("a mapping") {
			f.Text()
		}
		got := ""
		if err := doc.Err(); err != nil {
			got = err.Error()
		}
		testkit.Same(t, src, want, got)
	}
}

func TestSyntax(t *testing.T) {
	_, err := Parse("f.yaml", []byte("a: x\nb: [1, 2"))
	var at *Error
	testkit.Check(t, errors.As(err, &at) && at.Line == 2 && at.Column != 0 &&
		strings.HasPrefix(err.Error(), "f.yaml:2:"), "%v", err)
}

func TestValues(t *testing.T) {
	doc, root := parsed(t, "n: 3\nf: 2.50\ny: true\nd: 1m30s\nl: [x, y]\nz: ~\n")
	fields := root.Fields("a mapping")
	var scalars []string
	for _, f := range fields {
		s, _ := f.Scalar()
		scalars = append(scalars, s)
	}
	testkit.Same(t, "", []string{"3", "2.50", "true", "1m30s", "", ""}, scalars)
	n, y, d := fields[0].Integer(1), fields[2].Bool(), fields[3].Duration()
	testkit.Check(t, n == 3 && y && d.Seconds() == 90, "%d, %v, %v", n, y, d)
	diff := cmp.Diff([]string{"x", "y"}, fields[4].Texts())
	testkit.Check(t, diff == "" && fields[5].Kind() == Nothing, "%s, %s", diff, fields[5].Kind())
	testkit.Works(t, "Err", doc.Err())
	if fields[0].Integer(4); doc.Err() == nil {
		t.Error("3 is not from 4")
	}
}

// TestByteOrderMark: an editor's mark at the beginning of a file is not part of its first key.
func TestByteOrderMark(t *testing.T) {
	d := testkit.Must(Parse("f", []byte("\ufeffa: 1\n")))(t)
	fields := d.Values()[0].Fields("a mapping")
	testkit.Check(t, len(fields) == 1 && fields[0].Key == "a", "%+v", fields)
}

// TestBounds: visiting an alias inside its own anchor ends.
func TestBounds(t *testing.T) {
	doc, root := parsed(t, "a: &x [*x, *x, *x]")
	var visit func(v Value)
	visit = func(v Value) {
		for _, item := range v.Items("a list") {
			visit(item)
		}
	}
	visit(root.Fields("a mapping")[0].Value)
	testkit.Fails(t, "Err", doc.Err(), "does an alias contain itself?")
}
