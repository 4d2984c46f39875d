package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
)

const hookEventText = `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_response":{"stdout":"x"}}`

// answering returns the path of a socket on which f serves each connection.
func answering(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hook") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		os.RemoveAll(dir)
	})
	return socket
}

// saying answers every request with a text.
func saying(t *testing.T, text string) string {
	return answering(t, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn)
		_, _ = io.WriteString(conn, text)
	})
}

// endless is a stdin that never ends.
type endless struct{ quit chan struct{} }

func (e endless) Read([]byte) (int, error) {
	<-e.quit
	return 0, io.EOF
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a broken reader") }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

// TestHookFailsSafe: after any error of the hook, a session continues as it would without the hook.
func TestHookFailsSafe(t *testing.T) {
	testkit.Long(t)
	quit := make(chan struct{})
	event := func() io.Reader { return strings.NewReader(hookEventText) }
	silent := func(conn net.Conn) { <-quit }
	refusing := filepath.Join(t.TempDir(), "refusing")
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: refusing, Net: "unix"}); err == nil {
		l.SetUnlinkOnClose(false) // as a killed arbiter leaves it
		l.Close()
	}
	cases := map[string]struct {
		args   []string
		stdin  io.Reader
		reason string // on stderr with --debug; empty: no message
	}{
		"no socket":             {nil, event(), "no socket"},
		"nothing there":         {[]string{"--socket", "/nowhere/s"}, event(), "no such file"},
		"no value":              {[]string{"--socket"}, event(), "no socket"},
		"refused":               {[]string{"--socket", refusing}, event(), "refused"},
		"mute":                  {[]string{"--socket=" + answering(t, silent)}, event(), "arbiter hook:"},
		"stdin never ends":      {[]string{"--socket", saying(t, "{}")}, endless{quit}, "no answer within 2s"},
		"stdin torn":            {[]string{"--socket", saying(t, "{}")}, failing{}, "torn"},
		"stdin too large":       {[]string{"--socket", saying(t, "{}")}, io.LimitReader(zeroes{}, 16<<20+1), "larger than"},
		"stdin is not an event": {[]string{"--socket", saying(t, "{}")}, strings.NewReader("x"), "read hook event"},
		"a panic of arbiter":    {[]string{"--socket", saying(t, "{}")}, panicking{}, "bug in arbiter"},
		"cut at once":           {[]string{"--socket", answering(t, func(net.Conn) {})}, event(), "arbiter"},
		"answer is empty":       {[]string{"--socket", saying(t, "")}, event(), "not a JSON object"},
		"answer is prose":       {[]string{"--socket", saying(t, "Speak, mortal.")}, event(), "not a JSON object"},
		"answer is null":        {[]string{"--socket", saying(t, "null")}, event(), "not a JSON object"},
		"answer is a list":      {[]string{"--socket", saying(t, "[]")}, event(), "not a JSON object"},
		"answer is cut":         {[]string{"--socket", saying(t, `{"decision":"blo`)}, event(), "not a JSON object"},
		"answer too large": {[]string{"--socket", saying(t, `{"a":"`+strings.Repeat("x", 256<<10)+`"}`)}, event(),
			"larger than"},
		"nothing to say": {[]string{"--socket", saying(t, "{}\n"), "--what-is-this", "x"}, event(), ""},
	}
	t.Cleanup(func() { close(quit) }) // before the sockets end, which wait for those they serve
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := hookclient.Answer(append([]string{"--debug"}, c.args...), c.stdin, &out, &errs); code != 0 {
				t.Errorf("exit %d", code)
			}
			if out.Len() > 0 {
				t.Errorf("stdout %q", out.String())
			}
			if output := errs.String(); (c.reason == "") != (output == "") || !strings.Contains(output, c.reason) ||
				strings.Count(output, "\n") > 1 {
				t.Errorf("stderr %q, want one line with %q", output, c.reason)
			}
		})
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestHookIsSilentWithoutDebug(t *testing.T) {
	var out, errs bytes.Buffer
	code := hookclient.Answer([]string{"--socket", "/nowhere/s"}, strings.NewReader(hookEventText), &out, &errs)
	if code != 0 || out.Len()+errs.Len() > 0 {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

// TestHookPassesAnswersOn: what arbiter says reaches stdout as one line of JSON, and
// what was asked holds nothing of what tools were given and answered.
func TestHookPassesAnswersOn(t *testing.T) {
	asked := make(chan string, 2)
	const want = `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"[arbiter: context] x"}}`
	socket := answering(t, func(conn net.Conn) {
		raw, _ := io.ReadAll(conn)
		asked <- string(raw)
		_, _ = io.WriteString(conn, want+"\n")
	})
	size := 1 << 20
	if underRace { // which reads it ten times slower, and the hook gives up after its deadline
		size = 1 << 16
	}
	event := strings.Replace(hookEventText, "stdout\":\"x", "stdout\":\""+strings.Repeat("secret", size), 1)
	for _, env := range []bool{false, true} {
		cmd := exec.Command("arbiter", "hook", "--socket", socket)
		if env {
			cmd = exec.Command("arbiter", "hook")
			cmd.Env = []string{hookclient.PathEnv + "=" + socket}
		}
		cmd.Stdin = strings.NewReader(event)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want+"\n" {
			t.Fatalf("%v, %q", err, out)
		}
		if got := <-asked; got != `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash"}` {
			t.Errorf("asked %.200q", got)
		}
	}
}

// TestHookSettings: the printed settings work as they are, for any path of the program and any path of
// the socket.
func TestHookSettings(t *testing.T) {
	var out, errs bytes.Buffer
	socket := saying(t, `{"decision":"block"}`)
	if code := run([]string{"arbiter", "hook", "--settings", "--socket", socket}, nil, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if want := string(hooks.Settings(hookclient.CommandLine(self, socket))) + "\n"; out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
	arbiter, err := exec.LookPath("arbiter")
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), `it's "$(x)" \ here`)
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(arbiter, filepath.Join(odd, "arbiter")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", hookclient.CommandLine(filepath.Join(odd, "arbiter"), socket))
	cmd.Stdin = strings.NewReader(hookEventText)
	if got, err := cmd.CombinedOutput(); err != nil || string(got) != `{"decision":"block"}`+"\n" {
		t.Errorf("%v, %q", err, got)
	}
}

func TestHookSettingsWithoutArbiter(t *testing.T) {
	t.Setenv("ARBITER_STATE_DIR", t.TempDir())
	for _, args := range []string{"--settings", "--settings --session 1234", "--settings --socket /nowhere/s",
		"--settings x", "--settings --no-such"} {
		var out, errs bytes.Buffer
		if code := run(append([]string{"arbiter", "hook"}, strings.Fields(args)...), nil, &out, &errs); code != 2 ||
			out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", args, code, out.String(), errs.String())
		}
	}
}
