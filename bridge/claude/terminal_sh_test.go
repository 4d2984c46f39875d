package claude

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// atShell starts a shell in a terminal, for things that no CLI would do.
func atShell(t *testing.T, script string) (*terminal, *testHost, string) {
	t.Helper()
	run := "run-" + uuid.NewString()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env, cmd.Dir = terminalEnv(environ(nil, map[string]string{"PATH": "/usr/bin:/bin"}), "xterm"), t.TempDir()
	host := newHost(t)
	term := testkit.Must(startTerminal(cmd, proctree.Mark{Run: run, Agent: "orch-1.2"},
		bridge.PTYOpenParams{Cols: 80, Rows: 24, Config: bridge.AgentConfig{SessionID: "s"}}, host, nil))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if err := term.Stop(ctx, true); err != nil {
			t.Error(err)
		}
		if left := proctree.Survivors(run); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
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
	if done.Exit.Code != 0 || done.Exit.Expected {
		t.Errorf("%+v", done)
	}
	text := output(h)
	if n := strings.Count(text, "x"); n != 1_000_000 || !strings.HasSuffix(text, "end") {
		t.Errorf("%d of 1000000 bytes, and %q", n, text[max(0, len(text)-10):])
	}
	for _, p := range of[bridge.PTY](h) {
		if len(p.Data) > bridge.PTYChunk || len(p.Data) == 0 {
			t.Errorf("a piece of %d bytes", len(p.Data))
		}
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
		if done := await[bridge.Done](h, 1, nil); done.Exit.Stderr != want {
			t.Errorf("%s: %q, want %q", script, done.Exit.Stderr, want)
		}
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
	if done := await[bridge.Done](h, 1, nil); done.Exit.Code != 3 || !strings.Contains(output(h), "43 132") {
		t.Errorf("%+v %q", done, output(h))
	}
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
	if done.Exit.Signal != "killed" || !done.Exit.Expected || done.Exit.Swept == 0 {
		t.Errorf("%+v", done)
	}
}

// TestTerminalThatDoesNotRead: input waits, and anyone who types may cancel it.
func TestTerminalThatDoesNotRead(t *testing.T) {
	t.Parallel()
	term, h, _ := atShell(t, `stty raw -echo; printf ready; sleep 60`)
	await(h, 1, func(p bridge.PTY) bool { return bytes.Contains(p.Data, []byte("ready")) })
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err := term.Write(ctx, bytes.Repeat([]byte("x"), 200_000))
	if errCode(err) != bridge.CodeTimeout || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("%v", err)
	}
}
