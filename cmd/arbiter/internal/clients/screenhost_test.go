package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
)

// TestEditorPlace: each known editor gets the line in its own format; an unknown editor opens the file only.
func TestEditorPlace(t *testing.T) {
	for editor, want := range map[string][]string{
		"vi": {"+7", "/w/a b"}, "/usr/bin/nvim -p": {"+7", "/w/a b"}, "hx": {"/w/a b:7"},
		"code --wait": {"--goto", "/w/a b:7"}, "my-editor": {"/w/a b"}, "": {"/w/a b"},
	} {
		got := editorPlace(editor, "/w/a b", 7)
		testkit.Check(t, slices.Equal(got, want), "%q is given %q, want %q", editor, got, want)
	}
	testkit.Same(t, "at the beginning, vi is given", []string{"/w/a"}, editorPlace("vi", "/w/a", 1))
}

// TestConcurrentInputsAreKept: no input is lost when several are stored concurrently.
func TestConcurrentInputsAreKept(t *testing.T) {
	h := NewScreen(command.Env{}, settings.Choices{StateDir: t.TempDir()})
	var wg sync.WaitGroup
	var want []string
	for i := range 50 {
		word := fmt.Sprintf("word %02d\n\x1b \xff", i)
		want = append(want, word)
		wg.Go(func() { h.Remember(word) })
	}
	wg.Wait()
	got := h.Inputs()
	slices.Sort(got)
	testkit.Check(t, slices.Equal(got, want), "remembered are %q", got)
}

// TestFilesByTheirLetters: files in any directory are found by letters of their paths; files with the path prefix
// come first.
func TestFilesByTheirLetters(t *testing.T) {
	place := t.TempDir()
	for _, name := range []string{"header.go", "src/parse/header_test.go", "src/parse/.hidden/header.go", "src/Weft.go",
		"node_modules/header/index.js", "docs/how/two.md"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(place, filepath.Dir(name)), 0o755))
		testkit.OK(t, os.WriteFile(filepath.Join(place, name), nil, 0o600))
	}
	h := NewScreen(command.Env{}, settings.Choices{Place: place})
	given, up := context.WithCancel(t.Context())
	up()
	h.Files(given, "h") // another letter is typed at once: what was found until then is not all
	for prefix, want := range map[string][]string{
		"":         {"docs/", "header.go", "node_modules/", "src/"},
		"hea":      {"header.go", "src/parse/header_test.go"},
		"HDT":      {"src/parse/header_test.go"},
		"swft":     {"src/Weft.go"},
		"src/p":    {"src/parse/", "src/parse/header_test.go"},
		"./hea":    {"./header.go"},
		"nothing!": nil,
	} {
		got := h.Files(t.Context(), prefix)
		testkit.Check(t, slices.Equal(got, want), "%q: %q, want %q", prefix, got, want)
	}
}

// TestRunsInWords: each run is one line with the information needed to choose it, even with control characters in
// its title.
func TestRunsInWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text := RunsText([]tui.RunInfo{
		{ID: "0aaaaaaa-1", Status: "live", CWD: "/srv/loom", Title: "Teach\x1b[2J the\nloom", Live: true, CostUSD: 1.5,
			CostUnknown: true, LastActive: now.Add(-time.Hour)},
		{ID: "0bbbbbbb-2", Status: "complete", CWD: "/srv/\x1b]0;x\x07other", Title: "Mend",
			LastActive: now.Add(-2 * time.Hour)},
	}, " --state-dir /s", now)
	want := []string{"0aaaaaaa live, $1.50 + ?, in /srv/loom: Teach the loom",
		"0bbbbbbb complete, 2 h 00 min ago, in /srv/other: Mend"}
	lines := strings.Split(text, "\n")
	testkit.Check(t, len(lines) == 3 && lines[0] == want[0] && lines[1] == want[1] &&
		strings.Contains(lines[2], "arbiter report RUN --state-dir /s"), "got\n%s", text)
	testkit.Same(t, "without runs", "There are no runs yet.", RunsText(nil, "", now))
}

// TestRunsHaveTheirCost: the list of runs has what an interrupted run has cost by all of its events, as reports have.
func TestRunsHaveTheirCost(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-spends", CWD: root}, journal.Options{}))(t)
	for i, b := range []contract.Body{contract.Session{Session: "aaaa1111-spends"},
		contract.Cost{CostUSD: 0.5, RunCostUSD: 0.5}, contract.Turn{CostUSD: 1, Outcome: "done"},
		contract.Turn{Unknown: true}, contract.Decision{CostUSD: 0.25}} {
		line := testkit.Must(contract.EncodeLine(nil, uint64(i+1), time.Now(), contract.Event{ID: "orch-1", Body: b}))(t)
		testkit.OK(t, run.AppendEvents(journal.LogContent{At: time.Now(), Line: line}))
	}
	testkit.OK(t, run.Close())
	h := &ScreenHost{choices: settings.Choices{StateDir: root}}
	list := testkit.Must(h.Runs(t.Context()))(t)
	testkit.Need(t, len(list) == 1, "runs: %+v", list)
	testkit.Check(t, list[0].CostUSD == 1.25 && list[0].CostUnknown, "it has cost: %+v", list[0])
}

// ending is a run that takes no more commands.
type ending struct{ control.Service }

func (ending) Status() any { return runstore.LiveStatus{} }

func (ending) Command(context.Context, json.RawMessage) (control.CommandResult, error) {
	return control.CommandResult{Message: "the run is ending"}, nil
}

// TestTextForARunThatEnds: a text that a run gets with --resume, and no longer takes, is an error.
func TestTextForARunThatEnds(t *testing.T) {
	root, id := t.TempDir(), "aaaa1111-ends"
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: id, CWD: root}, journal.Options{}))(t)
	defer run.Close()
	line := testkit.Must(contract.EncodeLine(nil, 1, time.Now(), contract.Event{Body: contract.Session{Session: id}}))(t)
	testkit.OK(t, run.AppendEvents(journal.LogContent{At: time.Now(), Line: line}))
	socket := testkit.Must(host.Listen(run.Dir(), control.SocketName))(t)
	server := control.Serve(socket.UnixListener, ending{}, slog.New(slog.DiscardHandler))
	defer server.Close()
	h := NewScreen(command.Env{}, settings.Choices{StateDir: root})
	_, err := h.Begin(t.Context(), tui.Begin{Resume: id, Task: "and the hem"}, func(time.Time, contract.Event) {})
	testkit.Fails(t, "the text", err, "run aaaa1111 did not take the text: the run is ending")
	exit, _ := errors.AsType[*command.Error](err)
	testkit.Check(t, exit != nil && exit.Code == contract.ExitFailed, "exits with %+v", exit)
}

// deaf is a run that does not answer.
type deaf struct {
	ending
	asked chan bool
}

func (d deaf) Put(ctx context.Context, _ control.PutParams) error {
	d.asked <- true
	<-ctx.Done()
	return ctx.Err()
}

func (deaf) Halt(context.Context, control.HaltParams) control.HaltResult {
	return control.HaltResult{Halted: true}
}

// TestLeavingARunThatHangs: a command that the run has not taken keeps neither a halt nor the frontend.
func TestLeavingARunThatHangs(t *testing.T) {
	socket := testkit.Must(host.Listen(t.TempDir(), control.SocketName))(t)
	d := deaf{asked: make(chan bool)}
	server := control.Serve(socket.UnixListener, d, slog.New(slog.DiscardHandler))
	defer server.Close()
	client, _, err := control.Dial[runstore.LiveStatus](t.Context(), socket.Path, nil)
	testkit.OK(t, err)
	defer client.Close()
	s := &ScreenSession{}
	s.left, s.leave = context.WithCancel(t.Context())
	s.client.Store(client)
	taken := make(chan bool)
	go func() { taken <- s.Put(t.Context(), contract.Command{Body: contract.Pause{}}) }()
	<-d.asked
	testkit.Same(t, "halt", "All is still. /continue wakes them.", s.Halt())
	s.Leave()
	testkit.Check(t, !<-taken, "it was taken")
}

// settingsHost returns a host that was started with some flags, and the user's configuration file.
func settingsHost(t *testing.T, config string, args ...string) (h *ScreenHost, file string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("ARBITER_THEME", "light")
	t.Chdir(t.TempDir())
	file = filepath.Join(home, "config", "arbiter", "config.yaml")
	if config != "" {
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(config), 0o600))
	}
	var c settings.Choices
	testkit.OK(t, settings.Parsed(args, func(ctx *cli.Context) (err error) {
		c, err = settings.ReadChoices(ctx)
		return err
	}))
	return NewScreen(command.Env{}, c), file
}

// TestTrustHoldsAtTheNextStart: what is trusted on the screen is found again, also if a configuration moves the runs.
func TestTrustHoldsAtTheNextStart(t *testing.T) {
	h, _ := settingsHost(t, "state-dir: "+t.TempDir()+"\n")
	testkit.OK(t, h.Trust(t.Context()))
	testkit.OK(t, settings.Parsed(nil, func(ctx *cli.Context) error {
		c, err := settings.ReadChoices(ctx)
		testkit.Check(t, c.Trusting.Trusted, "it is not trusted: %+v", c.Trusting)
		return err
	}))
}

func (h *ScreenHost) settingNow(t *testing.T, name string) tui.Setting {
	t.Helper()
	list, _, err := h.Settings(context.Background())
	testkit.OK(t, err)
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no setting %s", name)
	return tui.Setting{}
}

// TestSettingsAreListed: the settings are listed with their values and the places of these values.
func TestSettingsAreListed(t *testing.T) {
	h, file := settingsHost(t, "# mine\nmax-cost: 5 # enough\nallow: [\"Bash(git *)\"]\nenv: [KEY=secret]\n",
		"--model=opus", "--allow=Edit")
	for name, want := range map[string][2]string{
		"model": {"opus", "--model"}, "max-cost": {"5", file + ":2: max-cost"}, "theme": {"light", "$ARBITER_THEME"},
		"allow": {"[Edit]", "--allow"}, "permissions": {"ask", ""}, "env": {`["KEY=…"]`, file + ":4: env"},
		"debug": {"false", ""}, "quiet-after": {"5m0s", ""},
	} {
		if s := h.settingNow(t, name); s.Value != want[0] || s.Source != want[1] || s.About == "" || s.When == "" {
			t.Errorf("%s is reported as %+v, want %q", name, s, want)
		}
	}
}

// TestSettingsAreWritten: the file keeps its comments and order, and values that the program would refuse are not
// written.
func TestSettingsAreWritten(t *testing.T) {
	const before = "# mine\nmax-cost: 5 # enough\n\n# rules\nallow:\n  - Bash(git *)\n"
	h, file := settingsHost(t, before)
	set := func(name, value, problem string) {
		t.Helper()
		message, err := h.ChangeSetting(context.Background(), name, value)
		switch {
		case problem == "" && (err != nil || !strings.Contains(message, file)):
			t.Errorf("%s %s: %q, %v", name, value, message, err)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%s %s: error %v, want %q", name, value, err, problem)
		}
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		testkit.Check(t, err == nil && string(got) == want, "the file holds %q, %v; want %q", got, err, want)
	}
	for _, wrong := range [][3]string{
		{"max-cost", "much", "is not a number"}, {"permissions", "all", "not one of ask"}, {"task", "x", "no setting"},
		{"max-cost", "-1", "max-cost"}, {"permissions", "allow-all", "risk"}, {"allow", "[Bash(", "YAML"},
		{"quiet-after", "soon", "such as 90s"}, {"debug", "maybe", "true or false"}, {"env", `["KEY=…"]`, "in full"},
	} {
		set(wrong[0], wrong[1], wrong[2])
		holds(before)
	}
	set("max-cost", "7.5", "")
	holds("# mine\nmax-cost: 7.5 # enough\n\n# rules\nallow:\n  - Bash(git *)\n")
	set("allow", `["Bash(git *)", Edit]`, "")
	set("model", "claude: odd #name", "")
	holds("# mine\nmax-cost: 7.5 # enough\n\n# rules\nallow: [\"Bash(git *)\", Edit]\nmodel: \"claude: odd #name\"\n")
	s := h.settingNow(t, "model")
	testkit.Check(t, s.Value == "claude: odd #name" && s.Source == file+":6: model", "%+v", s)
	set("max-cost", "", "")
	set("model", "", "")
	holds("# mine\n\n# rules\nallow: [\"Bash(git *)\", Edit]\n")
	info, err := os.Stat(file)
	testkit.Check(t, err == nil && info.Mode().Perm() == 0o600, "%v, %v", info.Mode(), err)
}

// TestSettingsFileIsMade: the configuration file is created if it does not exist.
func TestSettingsFileIsMade(t *testing.T) {
	h, file := settingsHost(t, "")
	testkit.Must(h.ChangeSetting(context.Background(), "theme", "dark"))(t)
	got, err := os.ReadFile(file)
	testkit.Check(t, err == nil && string(got) == "theme: dark\n", "%q, %v", got, err)
	values := map[string]string{"model": "opus", "max-cost": "7", "max-iterations": "9", "memory": "off",
		"permissions": "rules"}
	var all sync.WaitGroup // other terminals change it, too: nothing gets lost
	for name, value := range values {
		all.Go(func() {
			_, err := h.ChangeSetting(context.Background(), name, value)
			testkit.Check(t, err == nil, "%v", err)
		})
	}
	all.Wait()
	for name, value := range values {
		testkit.Same(t, name, value, h.settingNow(t, name).Value)
	}
}

// TestShell: a line runs in its directory with the user's shell and environment, without a terminal.
func TestShell(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	t.Setenv("OF_THE_USER", "is kept")
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	out := &testkit.Buffer{}
	code, err := NewScreen(command.Env{}, settings.Choices{}).Shell(t.Context(), dir,
		`pwd; echo "$OF_THE_USER" >&2; read line; (: </dev/tty) 2>/dev/null || echo no terminal; exit 3`, out)
	if want := dir + "\nis kept\nno terminal\n"; err != nil || code != 3 || out.String() != want {
		t.Errorf("exit code %d, %v, said %q, want %q", code, err, out.String(), want)
	}
	_, err = NewScreen(command.Env{}, settings.Choices{}).Shell(t.Context(), filepath.Join(dir, "gone"), "true", out)
	testkit.Check(t, err != nil, "a line ran in a directory that is not there")
}

// TestTerminalOfAnotherProgram: while another program has the terminal, only that program receives Ctrl+C. Other
// signals still end this program, and so does Ctrl+C if its terminal was never lent.
func TestTerminalOfAnotherProgram(t *testing.T) {
	h := NewScreen(command.Env{}, settings.Choices{})
	calls, left := 0, 0
	leave := func() { left++ }
	back := h.withTerminal(func() { calls++ })
	testkit.Check(t, !h.handles("INT", leave) && calls == 1 && left == 0 && h.signal == "",
		"told %d, left %d, signal %q", calls, left, h.signal)
	testkit.Check(t, h.handles("TERM", leave) && calls == 1 && left == 1 && h.signal == "TERM",
		"told %d, left %d, signal %q", calls, left, h.signal)
	back()
	testkit.Check(t, h.awayUntil.Load() != 0, "a signal that is under way is ours at once")
	h = NewScreen(command.Env{}, settings.Choices{})
	testkit.Check(t, h.handles("INT", leave) && left == 2 && h.signal == "INT", "left %d, signal %q", left, h.signal)
}
