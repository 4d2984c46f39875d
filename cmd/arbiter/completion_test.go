package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// typist is a user at a shell, in a directory with a few files and one finished run.
type typist struct {
	t         *testing.T
	dir, run  string
	env       []string
	completed *bufio.Reader // what the shell reports about its line
}

func newTypist(t *testing.T) *typist {
	t.Helper()
	s := start(t, nil, "--json", "--no-input", "--stand-in", "--task", "Do it")
	s.finish(contract.ExitComplete)
	p := &typist{t: t, dir: s.cmd.Dir, run: command.ShortID(collect[contract.Session](s)[0].Session)}
	p.env = append(slices.Clone(s.cmd.Env), "FIFO="+filepath.Join(p.dir, ".fifo"), "HISTFILE=", "INPUTRC=/dev/null")
	for _, name := range []string{"sub/x", "such.md", "REQUIREMENTS.md", "run.audit"} {
		path := filepath.Join(p.dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, []byte("x\n"), 0o600))
	}
	return p
}

// shell returns the path of a shell. If it is missing, the test is skipped, or fails where CI could have
// installed it.
func shell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if _, apt := exec.LookPath("apt-get"); apt == nil && os.Geteuid() == 0 && os.Getenv("CI") != "" {
			t.Fatalf("no %s: run scripts/packages --install", name)
		}
		t.Skip(err)
	}
	return path
}

// sit opens a shell in a terminal and loads the completion into it. Ctrl+X P reports the line.
func (p *typist) sit(setup string, command ...string) *pty.Terminal {
	p.t.Helper()
	fifo := filepath.Join(p.dir, ".fifo")
	_ = os.Remove(fifo)
	testkit.OK(p.t, syscall.Mkfifo(fifo, 0o600))
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends, so that reading never ends
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { f.Close() })
	testkit.OK(p.t, f.SetReadDeadline(time.Now().Add(waitTimeout)))
	p.completed = bufio.NewReader(f)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	term := testkit.Must(pty.Start(cmd, pty.Size{Columns: 200, Rows: 50}))(p.t)
	p.t.Cleanup(term.Close)
	term.Type(setup + "\n")
	if got := p.shownText(term); got != "ready" {
		p.t.Fatalf("the shell says %q\n%s", got, term.Screen().Text())
	}
	return term
}

func (p *typist) shownText(term *pty.Terminal) string {
	p.t.Helper()
	line, err := p.completed.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the shell does not answer: %v\n%s", err, term.Screen().Text())
	}
	return strings.TrimSpace(line)
}

// halfLines are what is typed, and the line as each shell completes it, with all the possible words. RUN is the
// run.
var halfLines = []struct{ typed, want string }{
	{"arbiter sess", "arbiter sessions"},
	{"arbiter sessions ", "arbiter sessions ls show rm export import"},
	{"arbiter --sandbox-w", "arbiter --sandbox-write"},
	{"arbiter --permissions a", "arbiter --permissions ask accept-edits allow-all"},
	{"arbiter --theme=d", "arbiter --theme=dark"},
	{"arbiter --notify bell,f", "arbiter --notify bell,finished"},
	{"arbiter --cwd su", "arbiter --cwd sub/"},
	{"arbiter --config su", "arbiter --config sub/ such.md"},
	{"arbiter --config=suc", "arbiter --config=such.md"},
	{"arbiter REQ", "arbiter REQUIREMENTS.md"},
	{"arbiter logs RU", "arbiter logs RUN"},
	{"arbiter nonsense ", "arbiter nonsense"},
}

// moreLines are completed by the program itself; want is its answer for what follows the last space.
var moreLines = []struct{ typed, want string }{
	{"arbiter sessions sh", "show"},
	{"arbiter help gra", "grants"},
	{"arbiter help sessions ", "ls show rm export import"},
	{"arbiter --sandbox ", "off auto on"},
	{"arbiter --sandbox=", "off auto on"},
	{"arbiter --decider st", "stateless"},
	{"arbiter --decider-effort ", "low medium high xhigh max"},
	{"arbiter --scenario dia", "dialogue :files"},
	{"arbiter --session ", "RUN"},
	{"arbiter --session=", "RUN"},
	{"arbiter --model s", "sonnet"},
	{"arbiter logs RUN --ver", "--verify"},
	{"arbiter logs --verify ru", ":files"},
	{"arbiter replay --decider ru", "rules"},
	{"arbiter replay RUN ", ""},
	{"arbiter sessions rm RUN ", ""},
	{"arbiter sessions show ", "RUN"},
	{"arbiter halt ", ""},
	{"arbiter attach ", ""},
	{"arbiter status ", ""},
	{"arbiter send --to ", ""},
	{"arbiter send --strength st", "steer stop"},
	{"arbiter allow ", ""},
	{"arbiter deny --for ", "once run"},
	{"arbiter allow --for ", "once run always"},
	{"arbiter choose RUN ", ""},
	{"arbiter attach --session ", ""},
	{"arbiter agents show pl", "planner"},
	{"arbiter agents check ", ":files"},
	{"arbiter schema mach", "machine"},
	{"arbiter schema machine --format m", "mermaid"},
	{"arbiter scenarios gen", "generations"},
	{"arbiter decide --template se", "select.md"},
	{"arbiter decide --at l", "last"},
	{"arbiter completion f", "fish"},
	{"arbiter REQUIREMENTS.md --", ""},
	{"arbiter --sandbox-write ", ":files"},
	{"arbiter --state-dir ", ":dirs"},
	{"arbiter --notify ", "bell desktop finished ntfy: webhook: off"},
	{"arbiter __", ":files"},
}

// TestCompletionOfEachKind asks the program itself.
func TestCompletionOfEachKind(t *testing.T) {
	p := newTypist(t)
	p.move()
	for _, c := range moreLines {
		if got, want := offers(t, p.filled(c.typed)), p.filled(c.want); got != want {
			t.Errorf("%q: %q, want %q", c.typed, got, want)
		}
	}
}

// move gives this process the typist's home and directory.
func (p *typist) move() {
	for _, v := range p.env {
		if name, value, _ := strings.Cut(v, "="); name == "HOME" {
			p.t.Setenv(name, value)
		}
	}
	p.t.Setenv("XDG_STATE_HOME", "")
	p.t.Setenv("ARBITER_STATE_DIR", "")
	p.t.Chdir(p.dir)
}

func (p *typist) filled(text string) string {
	return strings.NewReplacer("RUN", p.run, "RU", p.run[:2]).Replace(text)
}

// compare types each line, presses keys, and compares the completed line. The order of the words does not
// matter.
func (p *typist) compare(term *pty.Terminal, keys string) {
	p.t.Helper()
	for _, c := range halfLines {
		term.Send(p.filled(c.typed) + keys + "\x18p")
		got := sortedWords(p.shownText(term))
		if want := sortedWords(p.filled(c.want)); got != want {
			p.t.Errorf("%q becomes %q, want %q", c.typed, got, want)
		}
		term.Send("\x15")
	}
	// Completion in the middle of a line keeps what follows.
	term.Send("arbiter --the dark" + strings.Repeat("\x02", 5) + "\t\x18p")
	testkit.Same(p.t, "in the middle", "arbiter --theme dark", strings.Join(strings.Fields(p.shownText(term)), " "))
}

func sortedWords(line string) string {
	words := strings.Fields(line)
	for i := range words {
		words[i] = strings.TrimSuffix(words[i], "/") // some shells add the slash later than others
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// TestCompletionInShells: each shell completes the lines as expected.
func TestCompletionInShells(t *testing.T) {
	testkit.Long(t)
	p := newTypist(t)
	for name, try := range map[string]func(*typist, string){"bash": (*typist).bash, "zsh": (*typist).zsh,
		"fish": (*typist).fish} {
		t.Run(name, func(t *testing.T) {
			path := shell(t, name)
			own := *p
			own.t = t
			try(&own, path)
		})
	}
}

// bash lets readline insert all completions into the line.
func (p *typist) bash(path string) {
	p.compare(p.sit(`bind 'set enable-bracketed-paste off'; bind -x '"\C-xp": printf "%s\n" "$READLINE_LINE" > "$FIFO"'; source <(arbiter completion bash); echo ready > "$FIFO"`,
		path, "--norc", "--noprofile", "-i"), "\x1b*")
}

// zsh does the same with a widget.
func (p *typist) zsh(path string) {
	p.compare(p.sit(`autoload -Uz compinit; compinit -u -D; source <(arbiter completion zsh); told() { print -r -- "$BUFFER" > $FIFO }; zle -N told; bindkey -e; bindkey '^Xp' told; `+
		`zle -C all complete-word _generic; bindkey '^Xa' all; zstyle ':completion:all::::' completer _all_matches _complete; zstyle ':completion:all:*' insert true; unset zle_bracketed_paste; echo ready > $FIFO`,
		path, "-f", "-i"), "\x18a")
}

// fish reports what its engine would offer.
func (p *typist) fish(path string) {
	script := "arbiter completion fish | source\n"
	for _, c := range halfLines {
		script += fmt.Sprintf("complete -C '%s' | string replace -r '\\t.*' ''\necho ---\n", p.filled(c.typed))
	}
	cmd := exec.Command(path, "--no-config", "-c", script)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	answers := strings.Split(string(out), "---\n")
	if len(answers) != len(halfLines)+1 {
		p.t.Fatalf("%d answers: %s", len(answers), out)
	}
	for i, c := range halfLines {
		before := c.typed[:strings.LastIndexByte(c.typed, ' ')+1]
		if got, want := sortedWords(p.filled(before)+answers[i]), sortedWords(p.filled(c.want)); got != want {
			p.t.Errorf("%q becomes %q, want %q", c.typed, got, want)
		}
	}
}

// offers asks the program for completions as Bash does.
func offers(t *testing.T, line string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := run([]string{"arbiter", command.Ask, "bash", line, "=:"}, strings.NewReader(""), &out,
		&errs); code != 0 || errs.String() != "" {
		t.Errorf("%s: exit code %d, %s", line, code, errs.String())
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestCompletionIsSilent: completion prints no error and creates no file, however incomplete the line is.
func TestCompletionIsSilent(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("ARBITER_STATE_DIR", "")
	t.Chdir(home)
	for _, line := range []string{
		"", "arbiter", "arbiter logs ", "arbiter --state-dir /nowhere logs ", "arbiter --state-dir ~/x sessions rm ",
		"arbiter attach ", "arbiter grants rm ", "arbiter agents show --cwd /nowhere ", "arbiter --cwd \x00 x",
		"arbiter '", "arbiter --session=", "arbiter attach --session nobody ",
	} {
		offers(t, line)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	if got := offers(t, "arbiter --allow Ba"); got != "Bash" {
		t.Error(got)
	}
}

// TestCompletionKnowsTheLiving: completion offers live runs to commands that stop them, and their agents to
// attach.
func TestCompletionKnowsTheLiving(t *testing.T) {
	b := atWork(t, players(t)[0])
	(&typist{t: t, dir: t.TempDir(), env: b.cmd.Env}).move()
	for line, want := range map[string]string{
		"arbiter halt ":                           command.ShortID(b.run),
		"arbiter halt " + b.run[:12]:              b.run,
		"arbiter attach --session ":               command.ShortID(b.run),
		"arbiter attach --session " + b.run + " ": command.ShortID(b.run) + " arbiter orch-1",
		"arbiter attach ":                         command.ShortID(b.run), // the run plays in another directory
	} {
		testkit.Same(t, line, want, offers(t, line))
	}
	t.Chdir(b.cmd.Dir)
	testkit.Same(t, "where it plays", "orch-1", offers(t, "arbiter attach o"))
	b.send(contract.Cancel{})
	b.finish(contract.ExitFailed)
}
