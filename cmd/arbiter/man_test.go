package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// printed runs arbiter in this process and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	c := inProcess("", args...).ended(t, args, contract.ExitComplete)
	testkit.Same(t, args, "", c.errs)
	return c.out
}

// TestHelpOfEveryCommand: the help names the command, its arguments and all its flags, and fits into 80
// columns. Only lines that are to be typed as shown may be longer.
func TestHelpOfEveryCommand(t *testing.T) {
	all := command.All(env{}.app())
	testkit.Need(t, len(all) >= 20, "only %d commands", len(all))
	for _, c := range all {
		text := printed(t, append(strings.Fields(c.HelpName)[1:], "--help")...)
		testkit.Check(t, strings.HasPrefix(text, c.HelpName+" - ") && !strings.Contains(text, "GLOBAL"), "%s: %s",
			c.HelpName, text)
		for _, f := range command.Flags(c) {
			testkit.Includes(t, fmt.Sprintf("%s: --%s is missing", c.HelpName, f.Name), text, "\n  "+f.Term())
		}
		for line := range strings.Lines(text) {
			kept := strings.HasPrefix(line, "  ") && strings.Contains(c.Description, strings.TrimSpace(line))
			n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			testkit.Check(t, n <= 80 || kept, "%s: %d columns: %s", c.HelpName, n, line)
		}
		testkit.Check(t, c.Usage != "" && !strings.HasSuffix(c.Usage, "."), "%s: its usage is %q", c.HelpName, c.Usage)
	}
}

// kinds are the names for the kinds of values that flags and arguments take; completion uses them.
var kinds = strings.Fields(
	"TEXT N TIME RUN DIR FILE PATH REQUIREMENTS.md AGENT NAME SCENARIO RULE NUMBER MODEL RECORD WAYS KEY " +
		"REQUEST all OPTION NAME=VALUE MODEL=TOKENS DOLLARS PERCENT TOKENS MIB N,N COMMAND - -- RUN_FLAG ADDRESS:PORT URL " +
		"TEMPERATURE LIST HOST VARIABLE ISSUE COMMIT --at")

// TestEveryFlagIsDocumented: each flag has a text, a known kind of value, and the variable and heading that the
// table of settings gives it.
func TestEveryFlagIsDocumented(t *testing.T) {
	type form struct {
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
	}
	var schema struct {
		Properties map[string]struct {
			form
			AnyOf []form `json:"anyOf"` // of a setting that can also be a block; the first is its plain form
		} `json:"properties"`
	}
	testkit.OK(t, json.Unmarshal([]byte(printed(t, "schema", "config")), &schema))
	for _, c := range command.All(env{}.app()) {
		for _, f := range command.Flags(c) {
			where := c.HelpName + " --" + f.Name
			testkit.Check(t, f.About != "" && !strings.Contains(f.About, "`") && !strings.HasSuffix(f.About, "."),
				"%s: its text is %q", where, f.About)
			testkit.Check(t, f.Value == "" || command.Choices(f.Value) != nil || slices.Contains(kinds, f.Value),
				"%s takes %s, which nothing knows", where, f.Value)
			testkit.Check(t, c.HelpName != c.Name || f.Category != "", "%s is under no heading", where)
		}
		what, _, _ := strings.Cut(c.ArgsUsage, " | ")
		for arg := range strings.FieldsSeq(what) {
			arg = strings.Trim(arg, "[]…")
			for one := range strings.SplitSeq(arg, "|") {
				testkit.Check(t, command.Choices(arg) != nil || slices.Contains(kinds, one),
					"%s takes %s, which nothing knows", c.HelpName, one)
			}
		}
	}
	for i, f := range command.Flags(command.Root(env{}.app())) {
		s := settings.Table[i]
		property, known := schema.Properties[s.Name]
		if len(property.AnyOf) > 0 {
			property.form = property.AnyOf[0]
		}
		if s.Name == "hosts" {
			continue // in the file, hosts is the block that defines them
		}
		if f.Name != s.Name || known == s.Flagged ||
			known && (property.Description != f.About || !slices.Equal(property.Enum, command.Choices(f.Value))) {
			t.Errorf("--%s: the schema of the configuration says %+v", s.Name, property)
		}
		want := "ARBITER_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
		if s.Env == "-" || s.Kind == settings.KindList {
			want = ""
		}
		testkit.Same(t, fmt.Sprintf("--%s: its variable", s.Name), want, f.Env)
	}
}

// TestChoicesAreTaken: a flag accepts the values that its help lists, and no others.
func TestChoicesAreTaken(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	for _, f := range command.Flags(command.Root(env{}.app())) {
		words := command.Choices(f.Value)
		if words == nil {
			continue
		}
		for _, word := range append(words, "nonsense") {
			// Without a terminal the screen is refused, but only after all flags were read.
			c := inProcess("", "--i-accept-the-risk", "--"+f.Name, word)
			refused := strings.Contains(c.errs, fmt.Sprintf("--%s %q", f.Name, word))
			testkit.Check(t, (c.code == contract.ExitUsage || c.code == contract.ExitEnvironment) &&
				refused == (word == "nonsense"), "--%s %s: exit code %d, %s", f.Name, word, c.code, c.errs)
		}
	}
}

// TestManualPage: the page has every command and flag, and groff and mandoc report nothing about it.
func TestManualPage(t *testing.T) {
	page := printed(t, "man")
	if i := strings.IndexFunc(page, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		t.Errorf("not ASCII, which groff needs: %.40q", page[i:])
	}
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(ti`, "~", `\(ha`, "^", `\(ga`, "`", `\e`, `\`, `\fB`, "",
		`\fR`, "").Replace(page)
	for _, c := range command.All(env{}.app()) {
		testkit.Check(t, c.HelpName == c.Name || strings.Contains(plain, ".SS \""+c.HelpName+"\"\n"), "%s is missing",
			c.HelpName)
		for _, f := range command.Flags(c) {
			testkit.Includes(t, fmt.Sprintf("%s --%s is missing", c.HelpName, f.Name), plain, "\n"+f.Term()+"\n")
		}
	}
	for _, want := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "SIGNALS",
		"ENVIRONMENT", "FILES", "EXAMPLES"} {
		testkit.Includes(t, "the page", page, ".SH \""+want+"\"\n")
	}
	for _, tool := range [][]string{
		{"groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z"},
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			continue
		}
		cmd := exec.Command(path, tool[1:]...)
		cmd.Stdin = strings.NewReader(page)
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// The page has no date, so that the same source gives the same program on every day.
			testkit.Includes(t, tool[0], line, "missing date")
		}
	}
}

// TestStatusIsDocumented: the help of status and ps names each field of their JSON.
func TestStatusIsDocumented(t *testing.T) {
	app := env{}.app()
	text := app.Command("status").Description + app.Command("ps").Description
	for _, of := range []reflect.Type{reflect.TypeFor[runstore.LiveReport](), reflect.TypeFor[runstore.AgentStatus](),
		reflect.TypeFor[supervisor.InboxItem](), reflect.TypeFor[journal.Fork]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			testkit.Includes(t, of.Name(), text, strconv.Quote(name))
		}
	}
}

// TestExitCodesAreDocumented: the help has all exit codes of the contract, and no others.
func TestExitCodesAreDocumented(t *testing.T) {
	codes := map[string]bool{}
	for _, e := range preface.Exits {
		codes[e.Term] = true
	}
	for code := range contract.Exit(256) {
		known := !strings.HasPrefix(code.String(), "exit code")
		testkit.Same(t, fmt.Sprintf("exit code %d: told in the contract", code), known, codes[strconv.Itoa(int(code))])
	}
}

// TestTypingErrors: an error names the mistyped word, and suggests what was probably meant. TestWrongInvocations has
// more of them.
func TestTypingErrors(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Chdir(home)
	for line, want := range map[string]string{
		"sesions":                    "did you mean sessions?\nTry: arbiter --help",
		"resume":                     "\"resume\" is neither a command nor a requirements file; did you mean --resume?",
		"-j":                         "unknown flag -j",
		"sessions show --jsn RUN":    "did you mean --json?\nTry: arbiter sessions show --help",
		"attach orch-1 --session":    "--session needs a value: RUN\nTry: arbiter attach --help",
		"--max-iterations 1.5":       "--max-iterations \"1.5\": use a whole number",
		"--json=maybe":               "--json \"maybe\": use true or false",
		"sessions show --bad --help": "",
	} {
		c, code := inProcess("", strings.Fields(line)...), contract.ExitUsage
		if want == "" {
			code = contract.ExitComplete
		} else {
			testkit.Same(t, line, "", c.out)
		}
		c.ended(t, line, code, want)
	}
}

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
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x\n"), 0o600))
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
	testkit.OK(p.t, err)
	p.t.Cleanup(func() { f.Close() })
	testkit.OK(p.t, f.SetReadDeadline(time.Now().Add(waitTimeout)))
	p.completed = bufio.NewReader(f)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	term := testkit.Must(pty.Start(cmd, pty.Size{Columns: 200, Rows: 50}))(p.t)
	p.t.Cleanup(term.Close)
	term.Type(setup + "\n")
	got := p.shownText(term)
	testkit.Need(p.t, got == "ready", "the shell says %q\n%s", got, term.Screen().Text())
	return term
}

func (p *typist) shownText(term *pty.Terminal) string {
	p.t.Helper()
	line, err := p.completed.ReadString('\n')
	testkit.Need(p.t, err == nil, "the shell does not answer: %v\n%s", err, term.Screen().Text())
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
	{"arbiter halt ", ""},
	{"arbiter send --to ", ""},
	{"arbiter send --strength st", "steer stop"},
	{"arbiter deny --for ", "once run"},
	{"arbiter allow --for ", "once run always"},
	{"arbiter agents show pl", "planner"},
	{"arbiter schema mach", "machine"},
	{"arbiter schema machine --format m", "mermaid"},
	{"arbiter scenarios gen", "generations"},
	{"arbiter decide --template se", "select.md"},
	{"arbiter decide --at l", "last"},
	{"arbiter grants rm ", "1 Bash Read Edit Write WebFetch WebSearch Agent"},
	{"arbiter memory rm ", ""},
	{"arbiter hosts add x --slots ", ""},
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
	grants := testkit.Must(trust.OpenGrants(testkit.Must(command.StatePath(""))(t), p.dir))(t)
	testkit.OK(t, grants.Add(trust.Grant{Rule: "Bash(git *)", At: time.Now()}), grants.Close())
	for _, c := range moreLines {
		got, want := offers(t, p.filled(c.typed)), p.filled(c.want)
		testkit.Check(t, got == want, "%q: %q, want %q", c.typed, got, want)
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
		testkit.Same(p.t, fmt.Sprintf("%q becomes", c.typed), sortedWords(p.filled(c.want)), got)
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
	testkit.Need(p.t, err == nil, "%v: %s", err, out)
	answers := strings.Split(string(out), "---\n")
	testkit.Need(p.t, len(answers) == len(halfLines)+1, "%d answers: %s", len(answers), out)
	for i, c := range halfLines {
		before := c.typed[:strings.LastIndexByte(c.typed, ' ')+1]
		got, want := sortedWords(p.filled(before)+answers[i]), sortedWords(p.filled(c.want))
		testkit.Check(p.t, got == want, "%q becomes %q, want %q", c.typed, got, want)
	}
}

// offers asks the program for completions as Bash does.
func offers(t *testing.T, line string) string {
	t.Helper()
	return strings.Join(strings.Fields(printed(t, command.Ask, "bash", line, "=:")), " ")
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
	left, err := os.ReadDir(home)
	testkit.Check(t, err == nil && len(left) == 0, "it made %v, %v", left, err)
	testkit.Same(t, "", "Bash", offers(t, "arbiter --allow Ba"))
}
