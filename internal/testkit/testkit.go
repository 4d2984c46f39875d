// Package testkit is for tests: it ends one at an error, compares what it got with what it wants, starts other hosts on
// this machine (an sshd, a Slurm, a relay that breaks connections), and says how much a test does. A change is tested
// in minutes; what shows the same thing again, with more cases, with the real CLI or under the race detector, runs at
// night, when ARBITER_LONG is set.
package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// AtNight reports whether tests run in full length, as scripts/nightly runs them.
func AtNight() bool { return os.Getenv("ARBITER_LONG") != "" }

// Long skips a test or a case that needs long, and that others resemble.
func Long(t testing.TB) {
	t.Helper()
	if !AtNight() {
		t.Skip("long: ARBITER_LONG=1 runs it")
	}
}

// WithoutRace skips a test in builds with the race detector, which makes it much slower and has nothing to find: the
// test has one goroutine, or others show the detector what runs in it.
func WithoutRace(t testing.TB) {
	t.Helper()
	if Race && !AtNight() {
		t.Skip("long with the race detector: ARBITER_LONG=1 runs it")
	}
}

// OK ends a test at errors.
func OK(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Must returns the result of a call, or ends the test at its error: testkit.Must(os.ReadFile(name))(t).
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Same reports how what a test got differs from what it wants. The name says which of its values this is, and may be
// empty.
func Same[T any](t testing.TB, name any, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%v (-want +got):\n%s", name, diff)
	}
}

// waitTimeout is how long tests wait for something that must happen. It bounds failures, and measures nothing.
const waitTimeout = 2 * time.Minute

// Await polls until a condition holds, of a program that does not notify.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, waitTimeout)
		}
	}
}

// Receive returns what comes from a channel, and the zero value when it is closed.
func Receive[T any](t testing.TB, what any, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(waitTimeout):
		t.Fatalf("%v: not within %s", what, waitTimeout)
		panic("unreachable")
	}
}

// ShortDir returns a new directory whose path is short enough for a socket in it, unlike that of t.TempDir.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir := Must(os.MkdirTemp("/tmp", "s"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Append adds a text to a file, which it makes if there is none.
func Append[T string | []byte](t testing.TB, path string, text T) {
	t.Helper()
	f := Must(os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(t)
	OK(t, Err(f.Write([]byte(text))), f.Close())
}

// Buffer is an output that can be read while it is being written, such as by a process.
type Buffer struct {
	mu   sync.Mutex
	text []byte
	had  int // by Take
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// Take returns what was written since its last call.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := b.had
	b.had = len(b.text)
	return string(b.text[from:])
}

// Chromium returns the path of the smallest browser that is installed. Without one, the test is skipped.
func Chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium here; scripts/packages says what to install")
	return ""
}

// Overlays skips a test where a shell cannot mount an overlay either.
func Overlays(t testing.TB) {
	t.Helper()
	cmd := exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs x /dev/shm && cd /dev/shm && mkdir l u w m &&
		mount -t overlay -o lowerdir=l,upperdir=u,workdir=w$1 x m && mkdir m/a && rm -r m/a && mkdir m/a`, "sh")
	if os.Getuid() != 0 {
		cmd.Args = append(append([]string{"unshare", "-Ur"}, cmd.Args[1:]...), ",userxattr")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no overlay can be mounted: %v: %s", err, out)
	}
}

// FoldJSON formats a value for a golden file: whatever fits into a line of width bytes is one line.
func FoldJSON(t testing.TB, value []byte, width int) string {
	t.Helper()
	var b strings.Builder
	foldJSON(t, &b, value, "", width)
	return b.String()
}

func foldJSON(t testing.TB, to *strings.Builder, value []byte, indent string, width int) {
	t.Helper()
	var compact bytes.Buffer
	OK(t, json.Compact(&compact, value))
	if first := compact.Bytes()[0]; compact.Len() <= width || first != '{' && first != '[' {
		to.Write(compact.Bytes())
		return
	}
	d := json.NewDecoder(&compact)
	open := Must(d.Token())(t)
	fmt.Fprint(to, open)
	for separator := ""; d.More(); separator = "," {
		fmt.Fprintf(to, "%s\n%s ", separator, indent)
		if open == json.Delim('{') {
			fmt.Fprintf(to, "%q: ", Must(d.Token())(t))
		}
		var member json.RawMessage
		OK(t, d.Decode(&member))
		foldJSON(t, to, member, indent+" ", width)
	}
	fmt.Fprintf(to, "\n%s%s", indent, Must(d.Token())(t))
}

// Run returns the id of a run that is this test's alone. The tests of another clone may run at the same time, and
// sweeps end whatever bears the mark of their run.
func Run(t testing.TB) string {
	name := strings.NewReplacer("/", "-", ",", "-", " ", "-", "_", "-").Replace(t.Name())
	return name + "-" + strconv.Itoa(os.Getpid())
}

// Includes reports the parts that a text lacks. what says which text it is.
func Includes(t testing.TB, what any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%v: no %q in:\n%s", what, part, text)
		}
	}
}

// Excludes reports the parts that a text has. what says what is wrong then.
func Excludes(t testing.TB, what any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%v: %q is in:\n%s", what, part, text)
		}
	}
}

// Check reports what is wrong unless a condition holds.
func Check(t testing.TB, holds bool, wrong string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(wrong, args...)
	}
}

// Need is a Check without which the rest of the test makes no sense: it ends the test.
func Need(t testing.TB, holds bool, wrong string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(wrong, args...)
	}
}

// Like reports the fields that want sets and that got has otherwise.
func Like[T any](t testing.TB, name any, want, got T) {
	t.Helper()
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		if f := w.Field(i); !f.IsZero() && !reflect.DeepEqual(f.Interface(), g.Field(i).Interface()) {
			t.Errorf("%v: %s is %#v, want %#v, in %+v", name, w.Type().Field(i).Name, g.Field(i), f, got)
		}
	}
}

// Empty reports what a list or a map has that is to have nothing.
func Empty(t testing.TB, what, list any) {
	t.Helper()
	if n := reflect.ValueOf(list).Len(); n > 0 {
		t.Errorf("%v: there are %d: %+v", what, n, list)
	}
}

// Err is the error of a call with one result.
func Err[T any](_ T, err error) error { return err }

// Works reports an error of what has to work, and lets the test go on.
func Works(t testing.TB, what any, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%v: %v", what, err)
	}
}

// Fails reports an error that is missing, or is not the one that is wanted: a text is in it, an error is what
// errors.Is finds.
func Fails(t testing.TB, what any, err error, want ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error %v", what, want)
		return
	}
	for _, w := range want {
		target, is := w.(error)
		if is && !errors.Is(err, target) || !is && !strings.Contains(err.Error(), fmt.Sprint(w)) {
			t.Errorf("%v: %v; want %v", what, err, w)
		}
	}
}

// Each is what f makes of each element of a list, Only the elements that are wanted, and Count their number.
func Each[T, U any](list []T, f func(T) U) (made []U) {
	for _, v := range list {
		made = append(made, f(v))
	}
	return made
}

func Only[T any](list []T, wanted func(T) bool) (found []T) {
	for _, v := range list {
		if wanted(v) {
			found = append(found, v)
		}
	}
	return found
}

func Count[T any](list []T, wanted func(T) bool) int { return len(Only(list, wanted)) }
