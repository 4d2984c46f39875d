package yamldoc

import (
	"errors"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
		"a byte order mark":  {"\ufeffa: 1\nb: 2\n", "a", "3", "\ufeffa: 3\nb: 2\n", false},
		"braces":             {"{a: 1, b: 2}\n", "a", "3", "", true},
		"two documents":      {"a: 1\n---\nb: 2\n", "a", "3", "", true},
		"no mapping":         {"- a\n", "a", "3", "", true},
		"an anchor":          {"a: &x 1\nb: *x\n", "a", "3", "", true},
		"a value of lines":   {"a: 1\n", "a", "3\nb: 4", "", true},
	} {
		got, err := edit([]byte(c.src), c.key, c.value)
		testkit.Check(t, (err != nil) == c.fails && string(got) == c.want,
			"%s: %q, %v; want %q", name, got, err, c.want)
	}
	for key, value := range map[string]string{"model": "haiku", "max-cost": "7", "allow": "[Read]", "theme": "light",
		"new": "1"} {
		out, err := SetText([]byte(file), key, value)
		testkit.Need(t, err == nil, "%s: %v", key, err)
		testkit.Works(t, key, testkit.Err(RemoveText(out, key)))
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
		out, err := SetText([]byte(src), key, EditedText(value))
		if err != nil {
			return
		}
		m, err := meaning(out)
		testkit.Check(t, err == nil && m[key] == value, "%q: %q becomes %#v, %v", out, key, m[key], err)
		testkit.Check(t, !errors.Is(err, ErrForm), "%v", err)
	})
}
