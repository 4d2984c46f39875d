package claude

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// liveConfined prepares a confined agent with a home of its own that contains secrets.
func liveConfined(t *testing.T, script ...reply) (s *stageOf, model *api, home string) {
	t.Helper()
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	s, model = liveAlone(t, script...)
	home = t.TempDir()
	state := filepath.Join(home, "state")
	for _, path := range []string{filepath.Join(home, ".ssh", "id_rsa"), filepath.Join(state, "journal")} {
		put(t, path, "PRIVATE")
	}
	s.cfg.Env["HOME"], s.cfg.Env["CLAUDE_CONFIG_DIR"] = home, filepath.Join(home, ".claude")
	s.cfg.Sandbox = &bridge.SandboxConfig{Program: program, Hide: []string{state}}
	return s, model, home
}

// TestLiveSandbox: what the CLI needs works, and what its tools must not do fails.
func TestLiveSandbox(t *testing.T) {
	tries := "env | grep -c -e API_KEY -e SHELL_PREFIX; echo in > here; echo out > ~/out; cat ~/.ssh/id_rsa; cat " +
		"~/state/journal; echo '{}' > ~/.claude/settings.json; umount ~/state; echo tried"
	s, model, home := liveConfined(t, runs(tries), reply{text: "done", usage: [3]int{1000, 0, 0}})
	s.launch()
	s.turn("go")
	last := model.lastRequest()
	testkit.Check(t, !strings.Contains(last, "PRIVATE") && strings.Contains(last, "tried") &&
		strings.Contains(last, `"0\n`), "the model was notified: %s", last)
	text, err := os.ReadFile(filepath.Join(s.dir, "here"))
	testkit.Check(t, err == nil && string(text) == "in\n", "the workspace has %q, %v", text, err)
	for _, name := range []string{"out", ".claude/settings.json"} {
		testkit.Fails(t, fmt.Sprintf("%s was written", name), testkit.Err(os.Lstat(filepath.Join(home, name))))
	}
	await[bridge.Context](s.host, 1, func(c bridge.Context) bool { return c.Tokens >= 1000 })
	p := s.agent.Probe(context.Background())
	testkit.Check(t, p.Processes >= 2 && p.RSSBytes >= 1<<20 && p.CPUMS != 0 && p.TranscriptBytes != 0 && p.Answered &&
		!p.Stopped, "probe: %+v", p)
	s.stopNow()
	s.checkNoProcesses()

	next := s.again().launch()
	testkit.Check(t, next.agent.Info().Resumed, "the session was not gone on with")
	next.turn("again")
	testkit.Includes(t, "the history was lost", model.lastRequest(), "tried", "again")
}

// TestLiveSandboxNetwork: the CLI reaches its API, and its tools what is listed; another host is a question by which
// it is refused or reached. Files that other processes named by their pids are left alone.
func TestLiveSandboxNetwork(t *testing.T) {
	serve := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	listed, other := serve("LIS"+"TED"), serve("OT"+"HER")
	get := func(url string) string {
		return `python3 -c 'import urllib.request as u; print(u.urlopen("` + url + `").read())'; `
	}
	tries := get("http://"+listed) + get("http://"+other) + get("http://no.invalid/") + get("http://yes.invalid/") +
		"ls ~/.claude/sessions; ls /proc | grep -c '^[0-9]'; touch .envrc; echo tried"
	s, model, home := liveConfined(t, runs(tries), reply{text: "done"})
	s.cfg.Sandbox.Hosts = []string{listed}
	session := filepath.Join(home, ".claude", "sessions", "2.json")
	put(t, session, "OUTSIDE")
	asked := make(chan string, 10)
	s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		if p.Tool != bridge.NetworkTool {
			return bridge.PermissionResult{Behavior: bridge.Allow}, nil
		}
		asked <- p.AgentRef.String() + " " + string(p.Input)
		if strings.Contains(string(p.Input), "yes.invalid") {
			return bridge.PermissionResult{Behavior: bridge.Allow}, nil
		}
		return bridge.PermissionResult{Behavior: bridge.Deny, Message: "not that one"}, nil
	}
	s.launch()
	s.turn("go")
	last := model.lastRequest()
	wants := []string{"LISTED", "tried", "403: Forbidden", "502: Bad Gateway", "2.json"}
	if slices.Contains(s.spec.Args, standInArg) {
		wants = wants[:4] // it notes no process in the sandbox's own directory of sessions
	}
	testkit.Includes(t, "the tools did not say", last, wants...)
	testkit.Excludes(t, "an unlisted service was reached", last, "OTHER")
	for _, host := range []string{"no", "yes"} {
		testkit.Same(t, "asked", `orch-1#1 {"host":"`+host+`.invalid","port":80}`, <-asked)
	}
	testkit.Check(t, len(asked) == 0, "asked again")
	text, err := os.ReadFile(session)
	testkit.Check(t, string(text) == "OUTSIDE", "the file of another process has %q, %v", text, err)
	s.stopNow()
	if !slices.ContainsFunc(of[bridge.Notice](s.host), func(n bridge.Notice) bool {
		return strings.Contains(n.Text, ".envrc appeared")
	}) {
		t.Error("a planted file was not reported")
	}
}

// TestLiveStop: the ladder reaches a running tool, a daemon in a session of its own, and one that hides its mark, which
// is ready once its parent has ended: until then it is found as a child.
func TestLiveStop(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*testing.T, ...reply) *stageOf
		now     bool
		outcome string
		left    int // of those that hide their mark
	}{
		"in order": {plainly, false, bridge.TurnInterrupted, 1},
		"now":      {plainly, true, bridge.TurnLost, 1},
		// Their PID namespace ends with the CLI: the kernel kills all.
		"confined": {confined, false, bridge.TurnInterrupted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onlyLinux(t) // orphans are found there alone
			if name != "in order" {
				realAtNight(t)
			}
			s := c.prepare(t, runs("(setsid sh -c ': > far; exec sleep 1000' >/dev/null 2>&1 &); "+
				"(p=$BASHPID; setsid env -i P=$p sh -c 'while kill -0 $P; do :; done; : > hidden; exec sleep 1001' >/dev/null "+
				"2>&1 &); "+
				"until [ -e far ] && [ -e hidden ]; do :; done; touch ready; python3 -c 'import time; time.sleep(100)'"))
			s.launch()
			id := s.send("go")
			waitFile(t, filepath.Join(s.dir, "ready"))
			testkit.OK(t, s.agent.Stop(context.Background(), c.now))
			s.checkNoProcesses()
			testkit.Same(t, "outcome", c.outcome, s.turnOf(id).Outcome)
			done := await[bridge.Done](s.host, 1, nil)
			// What its process group has not ended yet is swept, too.
			testkit.Check(t, done.Exit.Expected && (done.Exit.Swept >= 1 || c.left == 0) && done.SessionID == s.cfg.SessionID,
				"done: %+v", done)
			testkit.Same(t, "the last sweep found", c.left, s.l.Sweep(bridge.Owner{Run: s.run})) // its run was not known before
		})
	}
}

func plainly(t *testing.T, script ...reply) *stageOf {
	s, _ := liveAlone(t, script...)
	return s
}

func confined(t *testing.T, script ...reply) *stageOf {
	s, _, _ := liveConfined(t, script...)
	return s
}

// TestLiveCrash: a signal that ends the CLI is reported as one, and no process is left, neither of a tool nor of a
// killed monitor.
func TestLiveCrash(t *testing.T) {
	realAtNight(t)
	for name, c := range map[string]struct {
		prepare func(*testing.T, ...reply) *stageOf
		signal  string // that its tool sends
	}{"the CLI": {plainly, ""}, "a confined one": {confined, "kill -9 $CLAUDE_PID"}, "its monitor": {confined, ""}} {
		t.Run(name, func(t *testing.T) {
			s := c.prepare(t, runs(c.signal+"\ntouch ready; python3 -c 'import time; time.sleep(100)'"))
			s.launch()
			id := s.send("go")
			if c.signal == "" {
				waitFile(t, filepath.Join(s.dir, "ready"))
				testkit.OK(t, syscall.Kill(s.agent.Info().PID, syscall.SIGKILL))
			}
			testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnLost, Category: bridge.CatCrash}, s.turnOf(id))
			done := await[bridge.Done](s.host, 1, nil)
			testkit.Check(t, !done.Exit.Expected && done.Exit.Signal == "killed", "done: %+v", done.Exit)
			testkit.Check(t, name != "the CLI" || done.Exit.Code == -1 && (done.Exit.Swept != 0 || runtime.GOOS != "linux"),
				"the Bash tool's tree was not swept: %+v", done.Exit)
			s.checkNoProcesses()
		})
	}
}

// TestLiveKeys: the Bash tool runs bash for any shell of the user. The CLI's credentials are not in the environment of
// its tools, nor in that of hooks; quotes and the shell's directory are preserved, and the judge is told the directory.
func TestLiveKeys(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "reads no settings, and its shell forgets its directory")
	s, _ := live(t,
		runs(`env | grep -c -e API_KEY -e SHELL_PREFIX; echo "it's $ANTHROPIC_BASE_URL"; `+
			`echo "version: ${BASH_VERSION:-none}"; mkdir sub; cd sub`),
		runs("pwd -P"), reply{text: "done"})
	hook := filepath.Join(s.dir, "hook.txt")
	s.userSettings(`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"env > ` + hook + `"}]}]}}`)
	s.l.Self(testkit.Must(os.Executable())(t))
	s.cfg.Judged = true
	s.cfg.Env["SHELL"] = "/bin/zsh"
	judged := make(chan string, 10)
	s.host.judge = func(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
		judged <- p.CWD
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	s.launch()
	s.turn("go")
	results := of[bridge.ToolResult](s.host)
	testkit.Need(t, len(results) == 2, "results: %+v of %+v", results, s.host.all())
	testkit.Includes(t, "the first call said", results[0].Text, "0\nit's http://127.0.0.1", "version: ")
	testkit.Excludes(t, "it ran in another shell", results[0].Text, "version: none")
	dir := testkit.Must(filepath.EvalSymlinks(s.dir))(t)
	testkit.Same(t, "the second call ran in", filepath.Join(dir, "sub"), strings.TrimSpace(results[1].Text))
	for _, place := range []string{dir, filepath.Join(dir, "sub")} {
		testkit.Same(t, "the call was judged in", place, testkit.Receive(t, "a call", judged))
	}
	testkit.Check(t, len(judged) == 0, "more calls were judged")
	text, err := os.ReadFile(hook)
	testkit.Check(t, err == nil && !strings.Contains(string(text), "API_KEY") &&
		strings.Contains(string(text), "ANTHROPIC_BASE_URL"), "the hook had %s, %v", text, err)
}

// TestSandboxedStart: a process that cannot be confined does not start.
func TestSandboxedStart(t *testing.T) {
	onlyLinux(t)
	cmd := exec.Command("/bin/true")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir()}
	cfg := &bridge.SandboxConfig{Program: "/nowhere/bwrap"}
	_, _, err := sandbox.Start(cmd, proctree.Mark{}, cfg, nil)
	testkit.Need(t, err != nil, "started")
}

// TestTakeoverInASandbox: a person's terminal is confined like the agent: it works, hidden files are not
// there, and the next supervised process knows what was said.
func TestTakeoverInASandbox(t *testing.T) {
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	t.Parallel()
	hidden := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(hidden, "journal"), []byte("PRIVATE"), 0o600))
	s, model := startDialogueAs(t, standInSpec(t), func(c *bridge.AgentConfig) {
		c.Sandbox = &bridge.SandboxConfig{Program: program, Hide: []string{hidden}}
		c.AllowedTools = []string{"Bash"}
	}, runs("cat "+filepath.Join(hidden, "journal")+
		"; echo x > ~/out; echo in > here; echo tried"), reply{text: "Nine-thousand-ninety it is."})
	d := s.openTerminal(nil)
	d.sees("I am the agent.")
	d.enters("look around", "Nine-thousand-ninety")
	if sent := model.lastRequest(); strings.Contains(sent, "PRIVATE") || !strings.Contains(sent, "tried") {
		t.Errorf("in the terminal a tool said: %.3000s", sent)
	}
	testkit.Fails(t, "the home was written", testkit.Err(os.Lstat(filepath.Join(s.cfg.Env["HOME"], "out"))))
	text, err := os.ReadFile(filepath.Join(s.dir, "here"))
	testkit.Check(t, err == nil && string(text) == "in\n", "the workspace has %q, %v", text, err)
	d.enters("/exit", "")
	e := d.done()
	testkit.Check(t, e.Exit.Code == 0, "done: %+v", e)
	s.checkNoProcesses()
	s.cfg.Resume, s.host = true, newHost(t)
	model.reset(reply{text: "so be it"})
	testkit.OK(t, s.try())
	t.Cleanup(s.stopNow)
	s.turn("go on")
	testkit.Includes(t, "the supervised turn does not know what the human said", model.lastRequest(), "look around",
		"go on")
}
