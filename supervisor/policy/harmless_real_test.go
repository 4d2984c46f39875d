package policy

import (
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// helpOption finds an option in the output of --help: its letter, its name, and how it takes a value.
var helpOption = regexp.MustCompile(`^ +(?:-(\w)(?:[ =][A-Z]\S*)?)?(?:, +)?(?:--([\w-]+)(\[?=\S+)?)?(?:  |$)`)

// TestReadingOptionsAreDocumented compares the tables of options with the documentation of the installed tools:
// an option that takes a value must not be listed as one that takes none, otherwise the word after it would not
// be checked correctly.
func TestReadingOptionsAreDocumented(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tables are of GNU's tools")
	}
	checked := 0
	for name, use := range readingCommands {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, _ := exec.Command(path, "--help").CombinedOutput()
		if !strings.Contains(string(out), "--help") {
			continue // not the builtin's program, or not GNU's
		}
		for line := range strings.Lines(string(out)) {
			m := helpOption.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				continue
			}
			letter, long, value := m[1], m[2], m[3]
			optional := strings.HasPrefix(value, "[=")
			// =slash means the value itself
			needed := len(value) > 1 && value[0] == '=' && strings.ToUpper(value) == value
			checked++
			switch {
			case letter != "" && long != "" && needed && strings.Contains(use.short, letter):
				t.Errorf("%s -%s takes a value: %q", name, letter, line)
			case letter != "" && long != "" && !needed && strings.Contains(use.value, letter):
				t.Errorf("%s -%s takes no value, or need not: %q", name, letter, line)
			case long != "" && !needed && !optional && containsWord(use.long, long+"="):
				t.Errorf("%s --%s takes no value: %q", name, long, line)
			case long != "" && needed && containsWord(use.long, long):
				t.Errorf("%s --%s takes a value: %q", name, long, line)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d options were found documented", checked)
	}
}

// TestHarmlessChangesNothing runs harmless command lines with random options and operands, and checks that
// nothing has changed; for git also with options that write.
func TestHarmlessChangesNothing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "b.txt": "two\n", "src/c.txt": "x\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	before := tree(t, dir)
	p := Policy{CWD: dir, Home: dir}
	random, ran := rand.New(rand.NewPCG(3, 4)), map[string]int{}
	for range 6000 {
		words := randomReading(random)
		if !p.Harmless(Request{Tool: "Bash", Input: bashInput(strings.Join(words, " "))}) {
			continue
		}
		key := words[0]
		if key == "git" {
			key += " " + words[1]
		}
		if ran[key]++; ran[key] > 25 {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), lineLimit)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
		_ = cmd.Run()
		cancel()
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Fatalf("%q is called harmless; -before +after:\n%s", words, diff)
		}
	}
	for _, name := range []string{"git log", "git diff", "git show", "git status", "git blame", "grep", "sort", "uniq",
		"ls", "find"} {
		if ran[name] == 0 {
			t.Errorf("nothing was tried of %s: %v", name, slices.Sorted(maps.Keys(ran)))
		}
	}
}

// tree is all files of a directory, and their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// randomReading is a command that reads, with options from the tables and some that write.
func randomReading(r *rand.Rand) (words []string) {
	use := reading{}
	switch names := slices.Sorted(maps.Keys(readingCommands)); r.IntN(3) {
	case 0:
		name := names[r.IntN(len(names))]
		if name == "tail" || name == "sleep" {
			name = "sort" // they would wait
		}
		words, use = []string{name}, readingCommands[name]
	case 1:
		words = []string{"find"}
		use.long = "delete fprint exec ls"
	default:
		subs := slices.Sorted(maps.Keys(readingGit))
		sub := subs[r.IntN(len(subs))]
		words, use = []string{"git", sub}, readingGit[sub]
		if r.IntN(2) == 0 {
			words = append(words, "--no-textconv", "--no-ext-diff")[:2+r.IntN(3)]
		}
	}
	long := strings.Fields(use.long)
	letters := use.short + use.value + use.optional
	for range r.IntN(5) {
		switch n := r.IntN(10); {
		case n < 3 && len(long) > 0:
			w := "--" + long[r.IntN(len(long))]
			if strings.HasSuffix(w, "=") {
				w += []string{"1", "canary", "%H", "a.txt"}[r.IntN(4)]
			}
			words = append(words, w)
		case n < 6 && letters != "":
			words = append(words, "-"+letters[r.IntN(len(letters)):][:1]+[]string{"", "1", "canary"}[r.IntN(3)])
		case n < 7:
			words = append(words, []string{"--output=canary", "-ocanary", "-o", "-O", "--out=canary", "-fprint",
				"-delete", "-C", "--", "-name"}[r.IntN(10)])
		default:
			words = append(words, []string{"a.txt", "b.txt", "src", ".", "HEAD", "HEAD:a.txt", "canary", "1",
				"x"}[r.IntN(9)])
		}
	}
	return words
}
