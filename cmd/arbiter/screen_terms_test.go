package main

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// brief is a play that is over at once, with texts beyond ASCII.
var brief = playOf(arbiter(nil, object{"verdict": object{"decision": "COMPLETE", "reason": "r", "summary": "Naïve ✓",
	"message": "It is woven. 世界 é “well” …"}}))

// foreignDir creates a workspace whose name, which is part of the title, is beyond ASCII.
func foreignDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "wörk 世界")
	testkit.OK(t, os.Mkdir(dir, 0o700))
	return dir
}

// TestTerminals: on terminals of all kinds and in all locales, arbiter is readable and can be left, and sends
// no characters that the locale lacks. If it cannot show a screen, it says what to do instead.
func TestTerminals(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	script := scenarioFile(t, brief)
	for _, term := range []string{"xterm-256color", "xterm", "screen", "screen-256color", "tmux-256color", "linux",
		"vt100", "vt220", "dumb", "", "unknown-term"} {
		foremost := term == "xterm-256color" || testkit.AtNight()
		for _, lang := range []string{"C", "POSIX", "en_US.ISO-8859-1", "C.UTF-8"} {
			for _, colour := range [][]string{nil, {"NO_COLOR=1"}, {"COLORTERM=truecolor"},
				{"NO_COLOR=1", "COLORTERM=truecolor"}} {
				switch {
				case colour != nil && lang != "C.UTF-8":
					continue // colours do not depend on the locale
				case !foremost && (lang != "C" && lang != "C.UTF-8" || colour != nil):
					continue // all combinations on one terminal are enough for each change
				}
				t.Run(fmt.Sprintf("%s,%s,%s", term, lang, strings.Join(colour, "+")), func(t *testing.T) {
					t.Parallel()
					p := show(t, pty.Size{Columns: 90, Rows: 26}, foreignDir(t),
						append([]string{"LANG=" + lang, "TERM=" + term}, colour...), "--stand-in", "--scenario", script,
						"--task", "Wéave 世界")
					switch term {
					case "dumb", "":
						p.refused(contract.ExitUsage)
					case "unknown-term":
						p.refused(contract.ExitEnvironment)
					default:
						p.readable(lang == "C.UTF-8", strings.HasPrefix(term, "xterm"))
						p.coloured(len(colour) > 0 && colour[0] == "NO_COLOR=1", term == "xterm-256color" &&
							len(colour) == 1 && colour[0] == "COLORTERM=truecolor")
					}
				})
			}
		}
	}
}

// refused checks that arbiter does not start, and says what to do instead.
func (p *pane) refused(want contract.Exit) {
	p.t.Helper()
	state := testkit.Must(p.Exit(p.ctx))(p.t)
	text := p.Screen().Text()
	testkit.Check(p.t, state.ExitCode() == int(want) && strings.Contains(text, "--plain") &&
		strings.Contains(text, "TERM"), "%v, want exit status %d and what to do:\n%s", state, want, text)
	faults := pty.Lines.Check(p.Output())
	testkit.Check(p.t, faults == nil, "sent to a terminal that nothing is known of: %q", faults)
}

// readable checks that the screen can be read, and has only characters of the locale.
func (p *pane) readable(utf bool, modern bool) {
	p.t.Helper()
	s := p.await("THE WEAVING", "It is woven.", "It is done", "Speak again, or depart.")
	out := p.Output()
	switch i := bytes.IndexFunc(out, func(r rune) bool { return r >= utf8.RuneSelf }); {
	case !utf && i >= 0:
		p.t.Errorf("sent what the locale has no character for, at byte %d: %q", i,
			out[max(i-20, 0):min(i+20, len(out))])
	case !utf && (!s.Shows("> Speak") || !s.Shows(`"well" .`)):
		p.t.Errorf("not readable:\n%s", s.Text())
	case utf && (!utf8.Valid(out) || !s.Shows("世界 é “well” …") || !s.Shows("› Speak")):
		p.t.Errorf("not what the locale has:\n%s", s.Text())
	}
	if modern {
		faults := pty.FullScreen.Check(out)
		testkit.Check(p.t, faults == nil, "sent: %q", faults)
		want := map[bool]string{true: "wörk 世界", false: "w?rk ??"}[utf]
		testkit.Check(p.t, strings.HasSuffix(s.Title, want), "the title is %q", s.Title)
	}
	state := p.leave()
	testkit.Check(p.t, state.ExitCode() == 0, "left with %v", state)
	left := p.Screen().Leftovers()
	testkit.Check(p.t, !modern || left == nil, "left behind: %q", left)
}

// coloured checks that no colours were sent if none are wanted, and 24-bit colours if the terminal offers them.
func (p *pane) coloured(none, all bool) {
	p.t.Helper()
	any, rgb := false, false
	for _, s := range pty.Sequences(p.Output()) {
		if s.Kind != pty.CSI || s.Name != "m" {
			continue
		}
		for _, n := range strings.Split(s.Data, ";") {
			any = any || len(n) == 2 && strings.Contains("34", n[:1]) && n != "39" && n != "49"
		}
		rgb = rgb || strings.Contains(s.Data, "38;2;")
	}
	testkit.Check(p.t, !none || !any, "colours, in spite of NO_COLOR")
	testkit.Check(p.t, !all || rgb, "the colours that COLORTERM offers are not used")
}

// TestPaddedTitle: a workspace's name may look like the padding of old terminals.
func TestPaddedTitle(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "$<99999999>x")
	testkit.OK(t, os.Mkdir(dir, 0o700))
	p := show(t, pty.Size{Columns: 90, Rows: 26}, dir, []string{"TERM=tmux-256color"}, "--stand-in", "--scenario",
		scenarioFile(t, brief), "--task", "Weave")
	p.await("It is woven.")
	p.until(func(s pty.Screen) bool { return strings.HasSuffix(s.Title, "$ <99999999>x") })
	p.leave()
}

// multiplexer is a tmux for this test alone, which runs arbiter.
type multiplexer struct {
	t      *testing.T
	path   string
	socket string
	ctx    context.Context
}

func (m *multiplexer) do(args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.ctx, m.path, append([]string{"-S", m.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(m.socket), "LANG=C.UTF-8",
		"TERM=xterm-256color", "SHELL=/bin/sh"}
	out, err := cmd.CombinedOutput()
	testkit.Need(m.t, err == nil, "tmux %v: %v\n%s", args, err, out)
	return string(out)
}

// await waits until the pane shows all of the texts.
func (m *multiplexer) await(texts ...string) string {
	m.t.Helper()
	return m.until(fmt.Sprintf("%q", texts), func(shown string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) })
	})
}

func (m *multiplexer) until(what string, ok func(shown string) bool) string {
	m.t.Helper()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		shown := m.do("capture-pane", "-p")
		if ok(shown) {
			return shown
		}
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			m.t.Fatalf("no %s on\n%s", what, shown)
		}
	}
}

// TestInsideTmux: inside tmux, arbiter starts, works, follows the window's size and can be left.
func TestInsideTmux(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux here")
	}
	dir, err := os.MkdirTemp("", "mux") // a short path for a socket
	testkit.OK(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	m := &multiplexer{t: t, path: path, socket: filepath.Join(dir, "s"), ctx: ctx}
	t.Cleanup(func() {
		cancel()
		_ = exec.Command(path, "-S", m.socket, "kill-server").Run() // the server is gone if all went well
		os.RemoveAll(dir)
	})
	m.do("new-session", "-d", "-x", "100", "-y", "30", "-e", "XDG_CACHE_HOME="+host.CacheHome(),
		"-e", "TMPDIR="+t.TempDir(),
		"arbiter --stand-in --scenario "+scenarioFile(t, brief)+"; echo ended with $?; read wait")
	m.await("Speak, mortal.", "OF WHAT WAS")
	m.do("send-keys", "Weave", "Enter")
	m.await("THE WEAVING", "It is woven. 世界 é “well” …", "› Speak again, or depart.", "a rehearsal")
	testkit.Includes(t, "the title", m.do("display-message", "-p", "#{pane_title}"), "arbiter – it is done")
	for _, size := range [][2]int{{60, 15}, {20, 5}, {140, 40}, {90, 26}} {
		m.do("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
	}
	shown := m.until("a screen of 90 columns and 26 rows", func(shown string) bool {
		rows := strings.Split(strings.TrimRight(shown, "\n"), "\n")
		return len(rows) == 26 && strings.HasPrefix(rows[0], "THE WEAVING  Weave") && len(rows[25]) > 80 &&
			strings.HasSuffix(rows[25], "F1 help")
	})
	testkit.Includes(t, "after the resizes", shown, "\n▌ ✓ It is done. ", "\n▌ It is woven. 世界 é “well” …")
	m.do("set-buffer", "a\x1b[201;1~/quit\nb")
	m.do("paste-buffer", "-p")
	m.await("› a/quit", "  b")
	m.do("send-keys", "C-c")
	m.await("› Speak again, or depart.")
	m.do("send-keys", "C-c")
	testkit.Excludes(t, "the screen is left behind", m.await("ended with 0", "To resume"), "THE WEAVING")
}

// TestColoursFollowTheTerminal: a terminal that reports a light background gets colours for it, and its answer
// is not treated as typed text.
func TestColoursFollowTheTerminal(t *testing.T) {
	t.Parallel()
	// The answer comes at some time; until then the title has the colours for a dark background.
	title := func(set string, fits func(color.Color) bool) color.Color {
		// A script sets the terminal's background before it starts arbiter.
		script := program(t, "start", "printf '"+set+"'\nexec arbiter \"$@\"\n")
		p := showProgram(t, script, pty.Size{Columns: 90, Rows: 30}, foreignDir(t), []string{"COLORFGBG="},
			"--stand-in", "--rehearse")
		var seen color.Color
		p.until(func(s pty.Screen) bool {
			x, y, ok := s.Find("T H E")
			if ok {
				seen = s.Cells[y][x].Style.Fg
			}
			return ok && fits(seen) && s.Shows("a stand-in plays")
		})
		answer := string(p.Answers())
		testkit.Check(t, answer != "", "the terminal was not asked")
		p.press("x")
		s := p.await("› x")
		testkit.Check(t, !s.Shows("rgb:"), "the answer was typed:\n%s", s.Text())
		return seen
	}
	dark := title(`\033]11;#101010\033\\`, func(color.Color) bool { return true })
	title(`\033]11;#fafafa\033\\`, func(c color.Color) bool { return c != dark })
}

// pouring returns the arguments of an arbiter in which three agents write as much as they can.
func pouring(t testing.TB) []string {
	words := strings.Repeat("more words, and more, \x1b[31mand\x1b[0m more of them\n", 10<<10)
	torrent := allowing([]string{"Bash(*)"}, arbiter(summons("Pour.", "Pour.", "Pour."), patience),
		orchestrator("orchestrator", "", []object{{"say": words, "use": bash("true")["use"], "repeat": "forever",
			"usage": object{"context": 1000, "output": 10}}}))
	return []string{"--stand-in", "--scenario", scenarioFile(t, torrent), "--task", "Pour"}
}

// BenchmarkKeyInFlood measures the time from a key to the screen in the same flood, and on the oracle's screen,
// where nothing happens.
func BenchmarkKeyInFlood(b *testing.B) {
	for b.Loop() {
		for name, args := range map[string][]string{"rest": {"--stand-in"}, "flood": pouring(b)} {
			w := watch(b, screenCommand(b, "arbiter", args...))
			if name == "rest" {
				w.until(b, firstWord)
			} else {
				w.until(b, "Orchestrator III")
			}
			keys := w.keys(b)
			b.ReportMetric(ms(quantile(keys, 0.5)), name+"-p50-ms")
			b.ReportMetric(ms(quantile(keys, 1)), name+"-worst-ms")
			w.end()
		}
	}
}
