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

const file = `# my settings

model: opus   # the large one
max-cost: 5
allow:
  - Bash(git *)
  - Edit(src/**)
# deciders
decider:
  kind: hybrid

theme: "dark" # at night
`

// TestEdit: one setting changes, and everything else stays the same, byte for byte.
func TestEdit(t *testing.T) {
	for name, c := range map[string]struct {
		src, key, value, want string
		fails                 bool
	}{
		"a value with a comment": {"model: opus   # large\nmax-cost: 5\n", "model", "haiku",
			"model: haiku   # large\nmax-cost: 5\n", false},
		"a new key":      {"model: opus\n", "max-cost", "2.5", "model: opus\nmax-cost: 2.5\n", false},
		"no end of line": {"model: opus", "max-cost", "2.5", "model: opus\nmax-cost: 2.5\n", false},
		"an empty file":  {"", "theme", "dark", "theme: dark\n", false},
		"only comments":  {"# mine\n", "theme", "dark", "# mine\ntheme: dark\n", false},
		"a list of lines": {"a: 1\nallow:\n  - Bash(git *)\n  - Edit\n\n# why\nb: 2\n", "allow", `["Read"]`,
			"a: 1\nallow: [\"Read\"]\n\n# why\nb: 2\n", false},
		"removed":            {"a: 1\nallow:\n  - Bash(git *)\n\n# why\nb: 2\n", "allow", "", "a: 1\n\n# why\nb: 2\n", false},
		"the last, removed":  {"a: 1\nb: 2\n", "b", "", "a: 1\n", false},
		"not there, removed": {"a: 1\n", "b", "", "a: 1\n", false},
		"CRLF":               {"a: 1\r\nb: 2\r\n", "a", "3", "a: 3\r\nb: 2\r\n", false},
		"a text over lines":  {"a: |\n  one\n  two\nb: 2\n", "a", `"x"`, "a: \"x\"\nb: 2\n", false},
		"a hash in a text":   {"a: \"x # y\"\nb: 2\n", "a", "z", "a: z\nb: 2\n", false},
		"a hash, and quotes": {"a: \"x # y\"  # it's mine\n", "a", "z", "a: z  # it's mine\n", false},
		"a byte order mark":  {"\ufeffa: 1\nb: 2\n", "a", "3", "\ufeffa: 3\nb: 2\n", false},
		"braces":             {"{a: 1, b: 2}\n", "a", "3", "", true},
		"two documents":      {"a: 1\n---\nb: 2\n", "a", "3", "", true},
		"no mapping":         {"- a\n", "a", "3", "", true},
		"an anchor":          {"a: &x 1\nb: *x\n", "a", "3", "", true},
		"a value of lines":   {"a: 1\n", "a", "3\nb: 4", "", true},
	} {
		got, err := Edit([]byte(c.src), c.key, c.value)
		testkit.Check(t, (err != nil) == c.fails && string(got) == c.want,
			"%s: %q, %v; want %q", name, got, err, c.want)
	}
	for key, value := range map[string]string{"model": "haiku", "max-cost": "7", "allow": "[Read]", "theme": "light",
		"new": "1"} {
		out, err := Edit([]byte(file), key, value)
		testkit.Need(t, err == nil, "%s: %v", key, err)
		testkit.Works(t, key, testkit.Err(Edit(out, key, "")))
	}
}

// TestText: every text becomes one line of YAML that decodes to it.
func TestText(t *testing.T) {
	for _, text := range []string{"", "a", "true", "1", "a: b", "# a", "\"q\"", "it's", "a\nb\tc\x00", "ü世", "- x", "*a",
		"&a"} {
		m, err := meaning([]byte("k: " + EditedText(text) + "\n"))
		testkit.Check(t, err == nil && m["k"] == text,
			"%q is written as %s, which means %#v, %v", text, EditedText(text), m["k"], err)
	}
}

func FuzzSet(f *testing.F) {
	f.Add(file, "model", "haiku")
	f.Add("a: [1,\n 2] # x\n'b': 2", "a", "x")
	f.Fuzz(func(t *testing.T, src, key, value string) {
		out, err := Edit([]byte(src), key, EditedText(value))
		if err != nil {
			return
		}
		m, err := meaning(out)
		testkit.Check(t, err == nil && m[key] == value, "%q: %q becomes %#v, %v", out, key, m[key], err)
		testkit.Check(t, !errors.Is(err, ErrForm), "%v", err)
	})
}
