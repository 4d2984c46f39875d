package policy

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

var (
	diffLines = flag.Int("lines", 1000, "how many random lines are tried against real shells")
	diffSeed  = flag.Uint64("seed", 7, "what the random lines are made from")
)

// TestAgainstShells compares the parsing of command lines with real shells. In random lines "good" may run and
// "evil" may not; both are programs that record how they were called.
//
//   - What a line without a doubt runs is among the parsed commands, word by word, and what it writes among the
//     redirections: in bash and in dash.
//   - What a rule for good allows runs nothing else and writes nothing.
//   - What runs evil is denied by a rule against it, or asked about.
//   - The same lines with echo instead of good change nothing if they are harmless.
//
// scripts/fuzz tries a million lines.
func TestAgainstShells(t *testing.T) {
	judge := newShellJudge(t)
	var (
		lines = make(chan string)
		crew  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		crew.Go(func() {
			for line := range lines {
				judge.try(line)
			}
		})
	}
	random := rand.New(rand.NewPCG(*diffSeed, 11))
	for i := range *diffLines {
		if i%2 == 0 {
			lines <- randomLine(random)
		} else {
			lines <- generatedLine(random)
		}
	}
	close(lines)
	crew.Wait()
	t.Log(&judge.tally)
	for what, n := range map[string]int{"allowed": judge.tally.allowed, "harmless": judge.tally.harmless,
		"read": judge.tally.read, "ran evil": judge.tally.ranEvil} {
		if n < *diffLines/200 {
			t.Errorf("only %d of %d lines were %s: too little was tried", n, *diffLines, what)
		}
	}
}

// shellJudge runs lines, and compares the results with the predictions.
type shellJudge struct {
	t                     testing.TB
	dir                   string
	shells                map[string]shell.Dialect // by path
	allow, deny, harmless Policy

	mu    sync.Mutex
	tally diffTally
}

type diffTally struct{ lines, read, allowed, harmless, ranEvil int }

func (d *diffTally) String() string {
	return fmt.Sprintf("%d lines: %d read without a doubt, %d allowed, %d harmless, %d ran evil", d.lines, d.read,
		d.allowed, d.harmless, d.ranEvil)
}

func newShellJudge(t *testing.T) *shellJudge {
	t.Helper()
	j := &shellJudge{t: t, dir: t.TempDir(), shells: map[string]shell.Dialect{}}
	for name, dialect := range map[string]shell.Dialect{"bash": shell.Bash, "dash": shell.POSIX} {
		if path, err := exec.LookPath(name); err == nil {
			j.shells[path] = dialect
		}
	}
	if len(j.shells) == 0 {
		t.Skip("neither bash nor dash is on PATH")
	}
	bin := filepath.Join(j.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	const program = "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" '\x01' >>\"$LEDGER\"\n"
	for _, name := range []string{"good", "evil", "x"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j.allow = Policy{Mode: ModeAsk, CWD: "/w", Allow: mustRules(t, "Bash(good *)")}
	j.deny = Policy{Mode: ModeAllowAll, CWD: "/w", Deny: mustRules(t, "Bash(evil *)")}
	j.harmless = Policy{CWD: j.dir}
	return j
}

// try judges a line, and runs it if the run can prove something.
func (j *shellJudge) try(line string) {
	if forks.MatchString(line) {
		return
	}
	allowed := decideBash(j.allow, line) == Allow
	stopped := decideBash(j.deny, line) != Allow
	var seen diffTally
	seen.lines = 1
	for path, dialect := range j.shells {
		read := shell.Parse(line, dialect)
		sure := len(read.Doubts) == 0 && !read.Broken && knownPrograms(read)
		if !sure && !allowed && stopped && dialect == shell.POSIX {
			continue
		}
		did := j.run(path, line)
		if sure {
			seen.read++
			j.compare(path, line, read, did)
		}
		if dialect != shell.Bash {
			continue
		}
		if allowed {
			seen.allowed++
			if did.evil() || len(did.files) > 0 {
				j.t.Errorf("%q is allowed; it ran %q and wrote %v", line, did.calls, did.files)
			}
		}
		if did.evil() {
			seen.ranEvil++
			if !stopped {
				j.t.Errorf("%q is neither denied nor asked for, and ran evil: %q", line, did.calls)
			}
		}
		innocent := strings.ReplaceAll(line, "good", "echo")
		if j.harmless.Harmless(Request{Tool: "Bash", Input: bashInput(innocent)}) {
			seen.harmless++
			if did := j.run(path, innocent); did.evil() || len(did.files) > 0 {
				j.t.Errorf("%q is called harmless; it ran %q and wrote %v", innocent, did.calls, did.files)
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tally.lines++
	j.tally.read += seen.read
	j.tally.allowed += seen.allowed
	j.tally.harmless += seen.harmless
	j.tally.ranEvil += seen.ranEvil
}

// forks finds lines that could run for ever, or fork without end.
var forks = regexp.MustCompile(`\(\s*\)|function|while|until|for *\(\(`)

// knownPrograms reports whether the program of each command is known, and does not itself run other programs:
// the grammar cannot show that.
func knownPrograms(l shell.Line) bool {
	for _, c := range l.Commands {
		if len(c.Words) == 0 {
			continue
		}
		name := c.Words[0].Text
		if !c.Words[0].Known() || doubtful[name] != nil || wrappers.has(name) || shells.has(name) || evaluators.has(name) ||
			strings.Contains(name, "/") {
			return false
		}
		for _, a := range c.Assigns {
			if isInterpreted(a.Name) {
				return false
			}
		}
	}
	return true
}

// compare compares what a shell did with what was parsed.
func (j *shellJudge) compare(path, line string, read shell.Line, did deeds) {
	for _, call := range did.calls {
		found := false
		for _, c := range read.Commands {
			found = found || len(c.Words) > 0 && mayCall(c.Words, call)
		}
		if !found {
			j.t.Errorf("%s: %q called %q; read were %s", filepath.Base(path), line, call, commandsOf(read))
		}
	}
	for _, name := range did.files {
		found := false
		for _, r := range read.Redirects {
			found = found || r.Writes && wildcard(strings.ReplaceAll(r.File.Text, string(hole), "*"), name) ||
				r.Writes && filepath.Clean(r.File.Text) == name
		}
		if !found {
			j.t.Errorf("%s: %q wrote %q; read were %v", filepath.Base(path), line, name, read.Redirects)
		}
	}
}

func commandsOf(l shell.Line) string {
	var b strings.Builder
	for _, c := range l.Commands {
		fmt.Fprintf(&b, "%q ", exact(c.Words))
	}
	return b.String()
}

// mayCall reports whether parsed words may be the words of a call.
func mayCall(words []shell.Word, call []string) bool {
	if len(words) == 0 {
		return len(call) == 0
	}
	w := words[0]
	if w.Splits {
		for n := range len(call) + 1 {
			if mayCall(words[1:], call[n:]) && (w.Text == string(hole) || n > 0) {
				return true
			}
		}
		return false
	}
	if len(call) == 0 {
		return false
	}
	text := w.Text
	if w.Tilde {
		text = string(hole)
	}
	return (call[0] == text || strings.IndexByte(text, hole) >= 0 && meet(call[0], text)) &&
		mayCall(words[1:], call[1:])
}

// deeds are what a line did.
type deeds struct {
	calls [][]string
	files []string
}

func (d deeds) evil() bool {
	for _, c := range d.calls {
		if c[0] == "evil" {
			return true
		}
	}
	return false
}

// lineLimit ends a line that waits, which should not happen.
const lineLimit = 2 * time.Minute

// run lets a shell run a line in a directory of its own.
func (j *shellJudge) run(path, line string) deeds {
	work, err := os.MkdirTemp(j.dir, "work")
	if err != nil {
		j.t.Error(err)
		return deeds{}
	}
	defer os.RemoveAll(work)
	inside, ledger := filepath.Join(work, "in"), filepath.Join(work, "ledger")
	if err := os.Mkdir(inside, 0o700); err != nil {
		j.t.Error(err)
		return deeds{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lineLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", `eval "$1"`, "sh", line) // as the CLI does
	cmd.Dir, cmd.WaitDelay = inside, time.Second
	cmd.Env = []string{"PATH=" + filepath.Join(j.dir, "bin"), "LEDGER=" + ledger, "HOME=" + inside, "X=x",
		"FUNCNEST=20"}
	_ = cmd.Run() // most lines are errors to the shell
	var did deeds
	raw, _ := os.ReadFile(ledger)
	for record := range bytes.SplitSeq(raw, []byte("\x01\x00")) {
		if len(record) > 0 {
			did.calls = append(did.calls, strings.Split(strings.TrimSuffix(string(record), "\x00"), "\x00"))
		}
	}
	entries, err := os.ReadDir(inside)
	if err != nil {
		j.t.Error(err)
	}
	for _, e := range entries {
		did.files = append(did.files, e.Name())
	}
	return did
}
