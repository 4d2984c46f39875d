package hosts

import (
	"errors"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

var added = Host{Name: "new", Command: []string{"ssh", "-p", "2222", "me@new", `a "b"`}, Dir: "~/w", Slots: 2,
	End: []string{"true"}, PassEnv: []string{"KEY"}}

const addedLines = `  new:
    command: [ssh, -p, "2222", me@new, "a \"b\""]
    dir: ~/w
    slots: 2
    end: ["true"]
    pass_env: [KEY]
`

// TestAdd: the host is written after the others, and nothing else changes.
func TestAdd(t *testing.T) {
	const host = "  box:\n    command: [ssh, box]\n"
	inline := `new: {command: [ssh, -p, "2222", me@new, "a \"b\""], dir: ~/w, slots: 2, end: ["true"], pass_env: [KEY]}`
	for src, want := range map[string]string{
		"":                      "hosts:\n" + addedLines,
		"# only a comment":      "# only a comment\nhosts:\n" + addedLines,
		"model: opus # mine":    "model: opus # mine\nhosts:\n" + addedLines,
		"hosts:\nmodel: opus\n": "hosts:\n" + addedLines + "model: opus\n",
		"hosts: # all\n" + host: "hosts: # all\n" + host + addedLines,
		"hosts:\n" + host + "\n# about models\nmodel: opus\n": "hosts:\n" + host + addedLines +
			"\n# about models\nmodel: opus\n",
		"hosts:\n    a: {command: [x]} # that\n\nmodel: opus": "hosts:\n    a: {command: [x]} # that\n" +
			strings.ReplaceAll("  "+strings.TrimSuffix(addedLines, "\n"), "\n", "\n  ") + "\n\nmodel: opus",
		"hosts: {}\n":                           "hosts: {" + inline + "}\n",
		"hosts: {é: x}\n":                       "",
		"hosts: {a: {command: [ä]}} # ü\n":      "hosts: {a: {command: [ä]}, " + inline + "} # ü\n",
		"hosts: {\n a: {command: [x]}\n}\nx: 1": "hosts: {\n a: {command: [x]}, " + inline + "\n}\nx: 1",
	} {
		out, err := Add("f.yaml", []byte(src), added)
		testkit.Check(t, (string(out) == want || want == "") && (err != nil) == (want == ""),
			"%q: %v\ngot:\n%s\nwant:\n%s", src, err, out, want)
	}
	for src, want := range map[string]string{
		"hosts: {new: {command: [x]}}":                        `there is a host or pool "new" already`,
		"hosts: {a: {command: [x]}}\npools: {new: [a]}":       `there is a host or pool "new" already`,
		"hosts: {a: {command: x}}":                            "want a list of words",
		"{hosts: {a: {command: [x]}}}":                        yamldoc.ErrForm.Error(),
		"hosts: &a\n  b: {command: [x]}\n":                    yamldoc.ErrForm.Error(),
		"---\nhosts: {a: {command: [x]}}\n---\nmodel: opus\n": yamldoc.ErrForm.Error(),
	} {
		if _, err := Add("f.yaml", []byte(src), added); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

// TestRemove: the host and its comments are removed, and nothing else changes.
func TestRemove(t *testing.T) {
	const a, b = "  # first\n  a:\n    command: [x]\n    # inside\n    slots: 2\n", "  # second\n  b: {command: [y]} # b\n"
	for _, x := range []struct{ src, name, want string }{
		{"hosts:\n" + a + "\n" + b + "model: x\n", "a", "hosts:\n\n" + b + "model: x\n"},
		{"hosts:\n" + a + "\n" + b + "\n# about\nmodel: x\n", "b", "hosts:\n" + a + "\n\n# about\nmodel: x\n"},
		{"hosts:\n" + b, "b", "hosts:\n"},
		{"model: x\nhosts:\n" + a + strings.TrimSuffix(b, "\n"), "b", "model: x\nhosts:\n" + a},
		{"hosts: {a: {command: [x]}, b: {command: [y]}}\n", "a", "hosts: {b: {command: [y]}}\n"},
		{"hosts: {a: {command: [x]}, b: {command: [y]}}\n", "b", "hosts: {a: {command: [x]}}\n"},
		{"hosts: {a: {command: [ü]}} # c\n", "a", "hosts: {} # c\n"},
	} {
		out, err := Remove("f.yaml", []byte(x.src), x.name)
		testkit.Check(t, err == nil && string(out) == x.want,
			"%s of %q: %v\n%s\nwant:\n%s", x.name, x.src, err, out, x.want)
	}
	src := []byte("hosts: {a: {command: [x]}}\npools: {p: [a]}\n")
	for name, want := range map[string]string{
		"a": "the pool p names a", "b": `there is no host "b" in f.yaml; arbiter hosts lists them`,
		Here: "it cannot be removed",
	} {
		if _, err := Remove("f.yaml", src, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// FuzzEdit: what was added can be removed again, and then the file is as before except for white space.
func FuzzEdit(f *testing.F) {
	f.Add(good, "ssh", "box")
	f.Add("hosts: {}\n", "a b", `"\'`)
	f.Add("hosts:\n  a: {command: [x]}\n  # end\n", "ä", "#: {}[]")
	f.Fuzz(func(t *testing.T, src, one, two string) {
		h := Host{Name: "new", Command: []string{one, two}, Slots: DefaultSlots}
		with, err := Add("f.yaml", []byte(src), h)
		if errors.Is(err, yamldoc.ErrForm) || err != nil {
			return
		}
		c, err := Read("f.yaml", with)
		testkit.Need(t, err == nil && len(c.Hosts) != 0, "what was written cannot be read: %v\n%s", err, with)
		got, ok := c.Find("new")
		testkit.Need(t, ok && got.Command[0] == one && got.Command[1] == two, "%q, want %q %q", got.Command, one, two)
		if _, err := Remove("f.yaml", with, "new"); err != nil && !errors.Is(err, yamldoc.ErrForm) {
			t.Fatalf("it cannot be removed: %v\n%s", err, with)
		}
	})
}
