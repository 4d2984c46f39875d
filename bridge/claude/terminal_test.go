package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
)

// terminalUser is a person at a session's terminal.
type terminalUser struct {
	*stageOf
	host *testHost
	term bridge.Terminal
}

// openTerminal opens the stage's session in a terminal. The stage's own agent must have ended.
func (s *stageOf) openTerminal(change func(*bridge.PTYOpenParams)) *terminalUser {
	s.t.Helper()
	d := testkit.Must(s.tryOpenTerminal(change))(s.t)
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		testkit.Works(s.t, "stop", d.term.Stop(ctx, true))
		s.checkNoProcesses()
	})
	return d
}

func (s *stageOf) tryOpenTerminal(change func(*bridge.PTYOpenParams)) (*terminalUser, error) {
	d := &terminalUser{stageOf: s, host: newHost(s.t)}
	p := bridge.PTYOpenParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2}, Config: s.cfg, Cols: 100,
		Rows: 30}
	if change != nil {
		change(&p)
	}
	var err error
	d.term, err = s.l.OpenPTY(context.Background(), bridge.Owner{Run: s.run}, s.spec, p, d.host)
	return d, err
}

// shown returns all that the terminal has shown.
func (d *terminalUser) shown() string { return output(d.host) }

// sees waits until the terminal has shown a text; the CLI moves the cursor instead of writing blanks.
func (d *terminalUser) sees(text string) {
	d.t.Helper()
	d.seesAfter(0, text)
}

func (d *terminalUser) seesAfter(n int, text string) {
	d.t.Helper()
	deadline := time.After(waitTimeout)
	for {
		d.host.mu.Lock()
		change := d.host.change
		d.host.mu.Unlock()
		if s := d.shown(); len(s) >= n && strings.Contains(plain(s[n:]), strings.ReplaceAll(text, " ", "")) {
			return
		}
		select {
		case <-change:
		case <-deadline:
			d.t.Fatalf("waited in vain for %q; the terminal has shown:\n%s\n%s", text, plain(d.shown()), d.host.dump())
		}
	}
}

// plain returns the shown text, without control sequences and blanks.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x1b && i+1 < len(s) && s[i+1] == '[':
			for i += 2; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
		case c == 0x1b && i+1 < len(s) && s[i+1] == ']':
			for i += 2; i < len(s) && s[i] != 7 && s[i] != 0x1b; i++ {
			}
		case c > ' ':
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (d *terminalUser) types(text string) {
	d.t.Helper()
	err := d.term.Write(context.Background(), []byte(text))
	testkit.Need(d.t, err == nil, "type %q: %v", text, err)
}

func (d *terminalUser) done() bridge.Done {
	d.t.Helper()
	e := await[bridge.Done](d.host, 1, nil)
	testkit.Receive(d.t, "Done is closed after the event", d.term.Done())
	return e
}

// startDialogue is a stage whose session has one turn and no process, and whose CLI asks no questions.
func startDialogue(t *testing.T, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	return startDialogueAs(t, spec, func(*bridge.AgentConfig) {}, script...)
}

// startDialogueAs is startDialogue with a changed configuration of the agent.
func startDialogueAs(t *testing.T, spec bridge.ClaudeSpec, change func(*bridge.AgentConfig),
	script ...reply) (*stageOf, *api) {
	t.Helper()
	s, model := against(t, spec, append([]reply{{text: "I am the agent."}}, script...)...)
	s.cfg.Env["CLAUDE_CODE_SANDBOXED"] = "1"
	home := s.cfg.Env["HOME"]
	key := s.cfg.Env["ANTHROPIC_API_KEY"]
	known := testkit.Must(json.Marshal(map[string]any{"hasCompletedOnboarding": true,
		"customApiKeyResponses": map[string]any{"approved": []string{key[max(0, len(key)-20):]},
			"rejected": []string{}}}))(t)
	testkit.OK(t, os.WriteFile(filepath.Join(home, ".claude.json"), known, 0o600))
	s.cfg.AppendSystemPrompt = "You are Orchestrator I."
	change(&s.cfg)
	s.launch()
	s.turn("first word")
	testkit.OK(t, s.agent.Stop(context.Background(), false))
	return s, model
}

func TestTakeoverInATerminal(t *testing.T) {
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := startDialogue(t, spec, reply{text: "Nine-thousand-ninety it is."})
		mark := transcript.Length(s.record())
		d := s.openTerminal(func(p *bridge.PTYOpenParams) {
			p.Settings = `{"crossSessionInbound":"allow","env":{"SEEN":"1"}}`
		})
		testkit.Check(t, d.term.Info().PID > 0, "no pid")
		d.sees("I am the agent.")
		d.enters("use port 9090", "Nine-thousand-ninety")
		testkit.Includes(t, "the human's word went out without the history or the role", model.lastRequest(),
			"use port 9090", "first word", "You are Orchestrator I.")
		d.enters("/exit", "")
		e := d.done()
		testkit.Check(t, e.Exit.Code == 0 && !e.Exit.Expected && e.SessionID == s.cfg.SessionID, "done: %+v", e)
		since, err := transcript.ReadSince(context.Background(), s.record(), mark, time.Now(),
			transcript.DigestLimits{})
		testkit.Check(t, err == nil && since.Words == 1 && cmp.Equal(since.Typed, []string{"use port 9090"}) &&
			slices.Contains(since.Texts, "Nine-thousand-ninety it is."), "what the transcript has since: %+v, %v",
			since, err)
		// The next supervised process has the message in its history.
		s.cfg.Resume = true
		s.host = newHost(t)
		model.reset(reply{text: "so be it"})
		testkit.OK(t, s.try())
		t.Cleanup(s.stopNow)
		s.turn("go on")
		testkit.Includes(t, "the supervised turn does not know what the human said", model.lastRequest(),
			"use port 9090", "Nine-thousand-ninety", "go on")
	})
}

// enters types a line, and waits for the answer.
func (d *terminalUser) enters(line, answer string) {
	d.t.Helper()
	n := len(d.shown())
	d.types(line)
	d.seesAfter(n, line)
	d.types("\r")
	d.seesAfter(n, answer)
}

// record returns the path of the session's transcript.
func (s *stageOf) record() string {
	s.t.Helper()
	path, ok := transcript.Locate(filepath.Join(s.cfg.Env["HOME"], ".claude"), s.cfg.SessionID)
	testkit.Need(s.t, ok, "there is no transcript")
	return path
}

// TestTerminalIsClosed: after a close in order the CLI saves and leaves, and no process is left.
func TestTerminalIsClosed(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, _ := startDialogue(t, spec)
		d := s.openTerminal(nil)
		d.sees("I am the agent.")
		testkit.Works(t, "resize", d.term.Resize(60, 20))
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		testkit.OK(t, d.term.Stop(ctx, false))
		e := d.done()
		testkit.Check(t, e.Exit.Expected && e.Exit.Signal != "killed", "done: %+v", e)
		err := d.term.Write(ctx, []byte("x"))
		testkit.Check(t, errCode(err) == bridge.CodeEnded, "a write to what has ended: %v", err)
		err = d.term.Resize(10, 10)
		testkit.Check(t, errCode(err) == bridge.CodeEnded, "a resize of what has ended: %v", err)
	})
}

func TestTerminalArguments(t *testing.T) {
	cfg := bridge.AgentConfig{
		SessionID: "3f6a1c0e-5d3b-4a52-9a77-0e4d4c1b2a10", CWD: "/w", Model: "opus", StrictMCP: true,
		SettingSources: []string{"user"}, Tools: []string{"Read", "Grep"}, DisallowedTools: []string{"Bash(rm *)"},
		AppendSystemPrompt: "role", JSONSchema: json.RawMessage(`{}`), Partial: true,
		MCPTools: []bridge.ToolSpec{{Name: "x"}}, Rules: bridge.PermissionRules{Ask: []string{"Bash"}},
	}
	args := testkit.Must(terminalArgs(bridge.PTYOpenParams{Config: cfg,
		Settings: `{"hooks":{"Stop":[]},"crossSessionInbound":"allow"}`}))(t)
	want := append([]string{
		"--system-prompt-snapshot", "off", "--setting-sources", "user",
		"--settings", `{"crossSessionInbound":"refuse","hooks":{"Stop":[]},"permissions":{"ask":["Bash"],` +
			`"disableAutoMode":"disable","disableBypassPermissionsMode":"disable"},"useAutoModeDuringPlan":false}`,
		"--resume", cfg.SessionID, "--strict-mcp-config", "--model", "opus", "--permission-mode", "default",
		"--tools", "Read,Grep", "--append-system-prompt", "role", "--disallowedTools",
	}, append(slices.Clone(offForAll), "Bash(rm *)")...)
	testkit.Same(t, "", want, args)
	for name, change := range map[string]func(*bridge.PTYOpenParams){
		"settings that are none": func(p *bridge.PTYOpenParams) { p.Settings = `[1]` },
		"null settings":          func(p *bridge.PTYOpenParams) { p.Settings = `null` },
		"a prompt too long": func(p *bridge.PTYOpenParams) {
			p.Config.AppendSystemPrompt = strings.Repeat("x", argLimit+1)
		},
		"a mode that asks nobody": func(p *bridge.PTYOpenParams) { p.Config.PermissionMode = "bypassPermissions" },
		"no session":              func(p *bridge.PTYOpenParams) { p.Config.SessionID = "--help" },
	} {
		p := bridge.PTYOpenParams{Config: cfg}
		change(&p)
		testkit.Fails(t, fmt.Sprintf("%s: accepted", name), testkit.Err(terminalArgs(p)))
	}
	env := terminalEnv(environ([]string{"TERM=dumb", "HOME=/h", "SECRET=1"}, map[string]string{"LINES": "3", "A": "b"}),
		"")
	for _, entry := range []string{"TERM=xterm-256color", "HOME=/h", "A=b"} {
		testkit.Check(t, slices.Contains(env, entry), "the environment lacks %s: %v", entry, env)
	}
	testkit.Excludes(t, fmt.Sprintf("the environment has too much: %v", env), fmt.Sprint(env), "SECRET", "LINES",
		"dumb")
}

// TestTerminalOfASessionWithoutAHistory: there is nothing to resume.
func TestTerminalOfASessionWithoutAHistory(t *testing.T) {
	s := prepare(t, standInSpec(t), nil)
	testkit.Fails(t, "s.tryOpenTerminal", testkit.Err(s.tryOpenTerminal(nil)), "no history")
	testkit.Same(t, "events of a terminal that is not there", 0, len(s.host.all()))
}

// atShell starts a shell in a terminal, for things that no CLI would do.
func atShell(t *testing.T, script string) (*terminal, *testHost, string) {
	t.Helper()
	run := "run-" + uuid.NewString()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env, cmd.Dir = terminalEnv(environ(nil, map[string]string{"PATH": "/usr/bin:/bin"}), "xterm"), t.TempDir()
	host := newHost(t)
	term := testkit.Must(startTerminal(cmd, bridge.Owner{Run: run}, bridge.PTYOpenParams{Cols: 80, Rows: 24,
		Config: bridge.AgentConfig{SessionID: "s"}}, host, ""))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		testkit.Works(t, "Stop", term.Stop(ctx, true))
		testkit.Empty(t, "left over", proctree.Survivors(run))
	})
	return term, host, cmd.Dir
}

func output(h *testHost) string {
	var b bytes.Buffer
	for _, p := range of[bridge.PTY](h) {
		b.Write(p.Data)
	}
	return b.String()
}

// TestTerminalOutputIsWhole: a flood arrives in pieces of bounded size, completely before the end.
func TestTerminalOutputIsWhole(t *testing.T) {
	t.Parallel()
	_, h, _ := atShell(t, `stty raw; head -c 1000000 /dev/zero | tr '\0' x; printf end`)
	done := await[bridge.Done](h, 1, nil)
	testkit.Check(t, done.Exit.Code == 0 && !done.Exit.Expected, "%+v", done)
	text := output(h)
	if n := strings.Count(text, "x"); n != 1_000_000 || !strings.HasSuffix(text, "end") {
		t.Errorf("%d of 1000000 bytes, and %q", n, text[max(0, len(text)-10):])
	}
	for _, p := range of[bridge.PTY](h) {
		testkit.Check(t, len(p.Data) <= bridge.PTYChunk && len(p.Data) != 0, "a piece of %d bytes", len(p.Data))
	}
}

// TestTerminalReportsWhyItEnded: the last output of a program before it failed explains why. A program that
// ended well, or was asked to end, needs no explanation.
func TestTerminalReportsWhyItEnded(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`printf '\033[31mNo conversation found\033[0m\n\nwith session ID: s\n'; exit 1`: "\x1b[31mNo conversation found\x1b[0m\nwith session ID: s",
		`seq 1000; printf '\033[2J\033[5;1H'; echo last; exit 2`:                        "999\n1000\n\x1b[2J\x1b[5;1Hlast",
		`echo fine`: "",
		`exit 1`:    "",
	} {
		_, h, _ := atShell(t, script)
		testkit.Same(t, script, want, await[bridge.Done](h, 1, nil).Exit.Stderr)
	}
}

// TestTerminalIsResized: the program gets a signal, and reads the new size.
func TestTerminalIsResized(t *testing.T) {
	t.Parallel()
	term, h, _ := atShell(t, `trap 'stty size; exit 3' WINCH; stty size; while :; do read -r _; done`)
	await(h, 1, func(p bridge.PTY) bool { return bytes.Contains(p.Data, []byte("24 80")) })
	testkit.OK(t, term.Resize(132, 43))
	// some shells run traps only after a read; the end may come first
	_ = term.Write(context.Background(), []byte("\r"))
	done := await[bridge.Done](h, 1, nil)
	testkit.Check(t, done.Exit.Code == 3 && strings.Contains(output(h), "43 132"), "%+v %q", done, output(h))
}

// TestTerminalOfAStubbornProgram: it ignores requests to end, and has a daemon of its own. No process
// remains.
func TestTerminalOfAStubbornProgram(t *testing.T) {
	t.Parallel()
	term, h, dir := atShell(
		t, `trap '' HUP TERM INT; setsid sh -c 'trap "" HUP TERM; : >daemon; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & 
while [ ! -e daemon ]; do sleep 0.01; done; printf ready; while :; do sleep 1; done`)
	await(h, 1, func(p bridge.PTY) bool { return bytes.Contains(p.Data, []byte("ready")) })
	waitFile(t, filepath.Join(dir, "daemon"))
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	testkit.OK(t, term.Stop(ctx, true))
	done := await[bridge.Done](h, 1, nil)
	testkit.Check(t, done.Exit.Signal == "killed" && done.Exit.Expected && done.Exit.Swept != 0, "%+v", done)
}

// TestTerminalThatDoesNotRead: input waits, and anyone who types may cancel it.
func TestTerminalThatDoesNotRead(t *testing.T) {
	t.Parallel()
	term, h, _ := atShell(t, `stty raw -echo; printf ready; sleep 60`)
	await(h, 1, func(p bridge.PTY) bool { return bytes.Contains(p.Data, []byte("ready")) })
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err := term.Write(ctx, bytes.Repeat([]byte("x"), 200_000))
	testkit.Check(t, errCode(err) == bridge.CodeTimeout && strings.Contains(err.Error(), "does not read"), "%v", err)
}
