//go:build linux || darwin

package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// adderEnv makes the test binary add grants in a separate process: state directory, workspace and a name,
// separated by newlines.
const adderEnv = "GRANTS_TEST_ADDER"

func TestMain(m *testing.M) {
	if args := os.Getenv(adderEnv); args != "" {
		part := strings.Split(args, "\n")
		if err := addMany(part[0], part[1], part[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const perAdder = 10

func addMany(dir, cwd, name string) error {
	s, err := OpenGrants(dir, cwd)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range perAdder {
		if err := s.Add(Grant{Rule: fmt.Sprintf("Bash(%s %d)", name, i), Run: name}); err != nil {
			return err
		}
		if err := s.Add(Grant{Rule: "Bash(everybody adds this)"}); err != nil {
			return err
		}
	}
	return nil
}

func open(t *testing.T, dir, cwd string) *GrantStore {
	t.Helper()
	s := testkit.Must(OpenGrants(dir, cwd))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func load(t *testing.T, s *GrantStore) []Grant {
	t.Helper()
	list, problems, err := s.Load()
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return list
}

var (
	at     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	byRule = Grant{Rule: "Bash(git *)", Run: "r1", At: at}
	byHash = Grant{Action: strings.Repeat("0a", 32), Tool: "Write", Run: "r2", At: at}
)

func TestAddAndRemove(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	s := open(t, dir, cwd)
	got := load(t, s)
	testkit.Need(t, got == nil, "at first there are %v", got)
	again := byRule
	again.Run, again.At = "r9", at.Add(time.Hour)
	testkit.OK(t, s.Add(byRule), s.Add(byHash), s.Add(again))
	testkit.Same(t, "another store", []Grant{byRule, byHash}, load(t, open(t, dir, cwd)))
	got = load(t, open(t, dir, t.TempDir()))
	testkit.Check(t, got == nil, "another workspace has %v", got)
	removed, err := s.Remove(again)
	testkit.Check(t, removed && err == nil, "removed %v, %v", removed, err)
	removed, err = s.Remove(byRule)
	testkit.Check(t, !removed && err == nil, "removed %v again, %v", removed, err)
	testkit.Same(t, "after removal", []Grant{byHash}, load(t, s))
}

// TestOneWorkspaceByTwoNames: grants belong to the directory, not to its name.
func TestOneWorkspaceByTwoNames(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(cwd, link), open(t, dir, link).Add(byRule))
	got := load(t, open(t, dir, cwd+"/."))
	testkit.Check(t, len(got) == 1, "by its other name it has %v", got)
	testkit.Fails(t, "a workspace that is not there", testkit.Err(OpenGrants(dir, filepath.Join(cwd, "gone"))),
		fs.ErrNotExist)
}

func TestAddRefuses(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	for want, g := range map[string]Grant{
		"neither a rule nor an action": {},
		"a rule and an action":         {Rule: "Bash", Action: byHash.Action, Tool: "Write"},
		"which tool's":                 {Action: byHash.Action},
		"not a sha256":                 {Action: "0a", Tool: "Write"},
		"is not a sha256":              {Action: strings.Repeat("0A", 32), Tool: "Write"},
		"closing parenthesis":          {Rule: "Bash(git *"},
		"no longer needed":             {Rule: "Bash(" + strings.Repeat("x", maxBytes) + ")"},
	} {
		testkit.Fails(t, fmt.Sprintf("%.60v", g), s.Add(g), want)
	}
	got := load(t, s)
	testkit.Check(t, got == nil, "there are %v", got)
}

func TestModesUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		state := filepath.Join(t.TempDir(), "state")
		if umask == 0o777 {
			testkit.OK(t, os.Mkdir(state, 0o700)) // we could open it
		}
		cwd := t.TempDir()
		old := unix.Umask(umask)
		s, err := OpenGrants(state, cwd)
		if err == nil {
			err = s.Add(byRule)
			s.Close()
		}
		unix.Umask(old)
		testkit.OK(t, err)
		for name, want := range map[string]fs.FileMode{".": 0o700, "grants": 0o700, "grants/" + s.Name + ".json": 0o600,
			"grants/" + s.Name + ".lock": 0o600} {
			info := testkit.Must(os.Stat(filepath.Join(state, name)))(t)
			testkit.Same(t, fmt.Sprintf("umask %o: %s is", umask, name), want, info.Mode().Perm())
		}
	}
}

// TestUnsafeFiles: a file that somebody else may have put there is not accepted, not written to and not
// changed.
func TestUnsafeFiles(t *testing.T) {
	valid := func(s *GrantStore) []byte {
		testkit.OK(t, s.Add(byRule))
		return testkit.Must(os.ReadFile(s.Path()))(t)
	}
	outside := filepath.Join(t.TempDir(), "planted")
	for name, put := range map[string]func(path string, b []byte) error{
		"symlink": func(path string, b []byte) error {
			return errors.Join(os.WriteFile(outside, b, 0o600), os.Symlink(outside, path))
		},
		"dangling": func(path string, b []byte) error { return os.Symlink(outside+"x", path) },
		"hard link": func(path string, b []byte) error {
			return errors.Join(os.WriteFile(path+"2", b, 0o600), os.Link(path+"2", path))
		},
		"pipe":      func(path string, b []byte) error { return unix.Mkfifo(path, 0o600) },
		"directory": func(path string, b []byte) error { return os.Mkdir(path, 0o700) },
		"open to others": func(path string, b []byte) error {
			return errors.Join(os.WriteFile(path, b, 0o600), os.Chmod(path, 0o622))
		},
		"another's": func(path string, b []byte) error {
			if os.Geteuid() != 0 {
				return os.Symlink(outside, path) // cannot be tried
			}
			return errors.Join(os.WriteFile(path, b, 0o600), os.Chown(path, 4242, -1))
		},
	} {
		s := open(t, t.TempDir(), t.TempDir())
		b := valid(s)
		testkit.OK(t, os.Remove(s.Path()), put(s.Path(), b))
		before, _ := os.Lstat(s.Path())
		var unsafe *statedir.UnsafeError
		if list, _, err := s.Load(); list != nil || !errors.As(err, &unsafe) {
			t.Errorf("%s: loads %v, %v", name, list, err)
		}
		if err := s.Add(byHash); !errors.As(err, &unsafe) {
			t.Errorf("%s: add: %v", name, err)
		}
		if _, err := s.Remove(byRule); !errors.As(err, &unsafe) {
			t.Errorf("%s: remove: %v", name, err)
		}
		after, err := os.Lstat(s.Path())
		if testkit.OK(t, err); !os.SameFile(before, after) || before.Mode() != after.Mode() {
			t.Errorf("%s: it was %v and is %v", name, before.Mode(), after.Mode())
		}
		os.Remove(outside)
	}
	s := open(t, t.TempDir(), t.TempDir())
	valid(s)
	testkit.OK(t, os.Chmod(s.Path(), 0o644))
	got := load(t, s)
	testkit.Check(t, len(got) == 1, "readable by others: %v", got)
	info, err := os.Stat(s.Path())
	testkit.Check(t, err == nil && info.Mode().Perm() == 0o600, "it stays readable by others: %v %v", info.Mode(), err)
}

func TestUnsafeDirectories(t *testing.T) {
	cwd := t.TempDir()
	for _, where := range []string{"state", "state/grants"} {
		for name, put := range map[string]func(path string) error{
			"link": func(path string) error { return os.Symlink(t.TempDir(), path) },
			"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
			"another's": func(path string) error {
				return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 4242, -1))
			},
		} {
			if name == "another's" && os.Geteuid() != 0 {
				continue
			}
			dir := t.TempDir()
			path := filepath.Join(dir, where)
			testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), put(path))
			s, err := OpenGrants(filepath.Join(dir, "state"), cwd)
			if err == nil {
				s.Close()
			}
			_, ok := errors.AsType[*statedir.UnsafeError](err)
			testkit.Check(t, ok, "%s is a %s: %v", where, name, err)
		}
	}
	dir := t.TempDir()
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "grants"), 0o700), os.Chmod(filepath.Join(dir, "grants"), 0o777),
		os.Chmod(dir, 0o755))
	open(t, dir, cwd)
	for _, path := range []string{dir, filepath.Join(dir, "grants")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s stays open to others: %v %v", path, info.Mode(), err)
		}
	}
}

// TestCorruptFiles: they are refused with a reason, and never overwritten.
func TestCorruptFiles(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	testkit.OK(t, s.Add(byRule))
	good := testkit.Must(os.ReadFile(s.Path()))(t)
	for want, text := range map[string]string{
		"unexpected end":        "",
		"not a JSON object":     "\x00\xff garbage",
		"not a JSON object (":   "[]",
		"have version 1":        strings.Replace(string(good), `"v": 1`, `"v": 2`, 1),
		"not have version 1":    "{}",
		"not have version":      "null",
		"unknown field":         strings.Replace(string(good), `"v": 1`, `"v": 1, "also": 2`, 1),
		"for the workspace":     strings.Replace(string(good), s.CWD, "/elsewhere", 1),
		"after top-level":       string(good) + "{}",
		"it is over":            string(good) + strings.Repeat(" ", maxBytes),
		"not a JSON object (un": string(good[:len(good)/2]),
		"cannot unmarshal":      strings.Replace(string(good), `"grants": [`, `"grants": 7, "x": [`, 1),
	} {
		testkit.OK(t, os.WriteFile(s.Path(), []byte(text), 0o600))
		var corrupt *CorruptError
		list, _, err := s.Load()
		testkit.Check(t, list == nil && errors.As(err, &corrupt) && strings.Contains(err.Error(), want) &&
			strings.Contains(err.Error(), s.Path()), "%.40q loads %v, %v, want %q", text, list, err, want)
		err = s.Add(byHash)
		testkit.Check(t, errors.As(err, &corrupt), "%.40q: add: %v", text, err)
		testkit.Same(t, "string(b)", text, string(testkit.Must(os.ReadFile(s.Path()))(t)))
	}
}

// TestEntriesNotBelieved: they are reported, allow nothing, and stay in the file.
func TestEntriesNotBelieved(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	bad := []string{`7`, `{}`, `{"rule":"Bash(","by":"human"}`, `{"rule":"Bash"}`, `{"rule":"Bash","by":"arbiter"}`,
		`{"rule":"Bash","by":"human","also":1}`, `{"action":"00","tool":"Bash","by":"human"}`, `null`}
	cwd, err := json.Marshal(s.CWD)
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(s.Path(), fmt.Appendf(nil, `{"v":1,"cwd":%s,"grants":[%s,{"rule":"Bash(ls *)","by":"human"}]}`,
		cwd, strings.Join(bad, ",")), 0o600))
	testkit.OK(t, s.Add(byRule))
	list, problems, err := s.Load()
	testkit.OK(t, err)
	testkit.Need(t, len(list) == 2 && list[0].Rule == "Bash(ls *)" && list[1] == byRule && len(problems) == len(bad),
		"%v, %v", list, problems)
	for i, p := range problems {
		testkit.Check(t, p.Entry == i+1 && p.Reason != "" &&
			strings.HasPrefix(p.String(), fmt.Sprintf("entry %d: ", i+1)), "problem %d is %v", i, p)
	}
	if removed, err := s.Remove(byRule); !removed || err != nil {
		t.Error(removed, err)
	}
	b := testkit.Must(os.ReadFile(s.Path()))(t)
	var flat bytes.Buffer
	testkit.OK(t, json.Compact(&flat, b))
	testkit.Includes(t, "what was not understood was dropped", flat.String(), strings.Join(bad, ","))
}

// TestLeftovers: a process that was killed while writing left a partial file, which nothing reads.
func TestLeftovers(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	testkit.OK(t, s.Add(byRule))
	temp := strings.TrimSuffix(s.Path(), ".json") + ".tmp"
	target := filepath.Join(t.TempDir(), "target")
	testkit.OK(t, os.WriteFile(target, []byte("mine"), 0o600), os.Symlink(target, temp), s.Add(byHash))
	got := load(t, s)
	testkit.Check(t, len(got) == 2, "%v", got)
	b, err := os.ReadFile(target)
	testkit.Check(t, err == nil && string(b) == "mine", "it wrote through a link: %q %v", b, err)
	testkit.Fails(t, "the piece is still there", testkit.Err(os.Lstat(temp)), fs.ErrNotExist)
}

// TestManyAddAtOnce: goroutines and processes do not lose each other's grants.
func TestManyAddAtOnce(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	const each = 3
	var wg sync.WaitGroup
	for i := range each {
		wg.Go(func() {
			testkit.Works(t, "addMany", addMany(dir, cwd, fmt.Sprintf("goroutine%d", i)))
		})
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), adderEnv+"="+strings.Join([]string{dir, cwd, fmt.Sprintf("process%d", i)},
				"\n"))
			out, err := cmd.CombinedOutput()
			testkit.Check(t, err == nil, "%v: %s", err, out)
		})
	}
	wg.Wait()
	testkit.Same(t, "grants were kept", 2*each*perAdder+1, len(load(t, open(t, dir, cwd))))
}

// TestLockIsNotWaitedForForever: a process that holds the lock and hangs does not block others for long.
func TestLockIsNotWaitedForForever(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	unlock := testkit.Must(s.Dir.Lock(s.Name+".lock", 0))(t)
	testkit.Fails(t, "Lock", testkit.Err(s.Dir.Lock(s.Name+".lock", 20*time.Millisecond)), unix.EWOULDBLOCK)
	unlock()
	testkit.OK(t, s.Add(byRule))
}
