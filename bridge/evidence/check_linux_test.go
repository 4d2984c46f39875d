package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestCheckResults(t *testing.T) {
	cases := []struct {
		name, command  string
		exit           int
		signal, output string
	}{
		{"success", "true", 0, "", ""},
		{"failure", "exit 3", 3, "", ""},
		{"no such command", "no-such-command 2>/dev/null", 127, "", ""},
		{"both outputs in order", "echo one; echo two >&2; echo three", 0, "", "one\ntwo\nthree\n"},
		{"ended by a signal", "echo before; kill -9 $$", -1, "killed", "before\n"},
		{"nothing on stdin", "cat; echo read", 0, "", "read\n"},
		{"no terminal", "(: < /dev/tty) 2> /dev/null || echo none", 0, "", "none\n"},
	}
	b := newBench(t)
	for _, c := range cases {
		r := b.check(bridge.CheckParams{Command: c.command})
		testkit.Check(t, r.Exit == c.exit && r.Signal == c.signal && r.Output == c.output && !r.TimedOut, "%s: %+v",
			c.name, r)
		testkit.Check(t, r.Bytes == int64(len(c.output)) && r.SHA256 == sum(c.output), "%s: %d bytes, hash %s", c.name,
			r.Bytes, r.SHA256)
	}
	where := testkit.Must(filepath.EvalSymlinks(b.cwd))(t)
	testkit.Same(t, "it ran in", where+"\n", b.check(bridge.CheckParams{Command: "pwd -P"}).Output)
}

// Of a large output the end is kept, as text that starts with a complete rune; the hash covers everything.
func TestLongOutput(t *testing.T) {
	b := newBench(t)
	euros := strings.Repeat("€", 3000) + "x"
	for _, c := range []struct{ command, all, want string }{
		{`i=0; while [ $i -lt 3000 ]; do printf '€'; i=$((i+1)); done; printf x`, euros,
			strings.ToValidUTF8(euros[len(euros)-bridge.CheckOutputCap:], "")},
		{`head -c 100000 /dev/zero | tr '\0' '\377'; printf 'end\n'`, strings.Repeat("\xff", 100000) + "end\n",
			"\uFFFDend\n"},
	} {
		r := b.check(bridge.CheckParams{Command: c.command})
		testkit.Check(t, r.Bytes == int64(len(c.all)) && r.SHA256 == sum(c.all), "%d bytes, hash %s", r.Bytes, r.SHA256)
		testkit.Same(t, c.command, c.want, r.Output)
	}
}

// A gigabyte costs time and no memory.
func TestFlood(t *testing.T) {
	testkit.Long(t)
	if testing.Short() {
		t.Skip("a gigabyte is hashed")
	}
	b := newBench(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := b.check(bridge.CheckParams{Command: "yes | head -c 1073741824"})
	runtime.ReadMemStats(&after)
	testkit.Check(t, r.Bytes == 1<<30 && r.Exit == 0 && len(r.Output) == bridge.CheckOutputCap,
		"%d bytes, %d kept, exit %d", r.Bytes, len(r.Output), r.Exit)
	grown := after.TotalAlloc - before.TotalAlloc
	testkit.Check(t, grown <= 64<<20, "%d bytes were allocated on the way", grown)
}

// A flood without an end is ended by the time limit.
func TestEndlessFlood(t *testing.T) {
	r := limited(bridge.CheckParams{Command: "yes"}, newBench(t).check,
		func(r bridge.CheckResult) bool { return len(r.Output) == bridge.CheckOutputCap })
	testkit.Check(t, r.TimedOut && r.Signal == "terminated" && r.Bytes != 0 && len(r.Output) == bridge.CheckOutputCap,
		"%+v", r)
}

// A child in a session of its own that ignores TERM, an orphan, and one that has also cleared its
// environment.
func TestTimeLimitReachesEscapedProcesses(t *testing.T) {
	b := newBench(t)
	r := limited(bridge.CheckParams{Command: `trap '' TERM
		setsid sh -c 'trap "" TERM; echo $$ > escaped; while :; do sleep 1; done' &
		env -i setsid sh -c 'echo $$ > bare; exec sleep 1000' &
		while :; do sleep 1; done`}, b.check,
		func(bridge.CheckResult) bool { return b.there("escaped") && b.there("bare") })
	testkit.Check(t, r.TimedOut && r.Exit == -1 && r.Signal == "killed", "%+v", r)
	b.gone("escaped")
	b.gone("bare")
}

// The limit ends a command with TERM, also on a copy.
func TestTimeLimitOfCommandThatEndsByTERM(t *testing.T) {
	ends := func(t *testing.T, b *bench, p bridge.CheckParams) {
		p.Command = `trap 'echo bye; exit 7' TERM; sleep 1000 & wait`
		r := limited(p, b.check, func(r bridge.CheckResult) bool { return r.Output != "" })
		testkit.Check(t, r.TimedOut && r.Exit == 7 && r.Output == "bye\n", "%+v", r)
	}
	ends(t, newBench(t), bridge.CheckParams{})
	p := newPlace(t)
	ends(t, p.bench, p.params)
}

// A daemon holds the pipe; the check ends when its command does.
func TestDaemonLeftBehind(t *testing.T) {
	b := newBench(t)
	r := b.check(bridge.CheckParams{
		Command: `setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while ! [ -s daemon ]; do :; done; echo up`})
	testkit.Check(t, r.Exit == 0 && r.Output == "up\n" && !r.TimedOut, "%+v", r)
	b.gone("daemon")
}

func TestCancelledInMidRun(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Each ignores TERM, also the one in a session of its own.
	over := b.start(ctx, bridge.CheckParams{Command: `trap '' TERM
		setsid sh -c 'trap "" TERM; echo $$ > escaped; while :; do sleep 1; done' & while :; do sleep 1; done`})
	b.up("escaped")
	cancel()
	testkit.Fails(t, "the check", b.ended(over), context.Canceled)
	b.checkNoProcesses()
	b.gone("escaped")
}

func TestTwoAtATime(t *testing.T) {
	b := newBench(t)
	hold := func(name string) <-chan error {
		return b.start(t.Context(),
			bridge.CheckParams{Command: "echo > up." + name + "; while ! [ -e go." + name + " ]; do sleep 0.01; done"})
	}
	one, two := hold("1"), hold("2")
	b.up("up.1")
	b.up("up.2")
	ctx, cancel := context.WithCancel(t.Context())
	given := b.start(ctx, bridge.CheckParams{Command: "echo > up.given"})
	three := hold("3")
	cancel()
	testkit.Fails(t, "one that was given up while it waited", b.ended(given), context.Canceled)
	testkit.Check(t, !b.there("up.3") && !b.there("up.given"), "three run at a time")
	b.touch("go.1")
	testkit.Works(t, "the check", b.ended(one))
	b.up("up.3")
	b.touch("go.2")
	b.touch("go.3")
	for _, over := range []<-chan error{two, three} {
		testkit.Works(t, "the check", b.ended(over))
	}
	testkit.Check(t, !b.there("up.given"), "what was given up ran all the same")
}

func TestChecksThatCannotStart(t *testing.T) {
	b := newBench(t)
	b.touch("file")
	for name, p := range map[string]bridge.CheckParams{
		"no directory": {Command: "true", CWD: filepath.Join(b.cwd, "gone")},
		"a file":       {Command: "true", CWD: filepath.Join(b.cwd, "file")},
	} {
		_, err := b.Check(t.Context(), bridge.Owner{Run: b.run}, p)
		var typed *bridge.RPCError
		testkit.Check(t, errors.As(err, &typed) && typed.Code == codeInvalidParams &&
			strings.Contains(err.Error(), p.CWD), "%s: %v", name, err)
	}
	b.shell = filepath.Join(b.cwd, "no-shell")
	_, err := b.Check(t.Context(), bridge.Owner{Run: b.run}, bridge.CheckParams{Command: "true", CWD: b.cwd})
	var typed *bridge.RPCError
	testkit.Check(t, errors.As(err, &typed) && typed.Code == bridge.CodeUnsupported &&
		strings.Contains(err.Error(), b.shell), "no shell: %v", err)
	testkit.Same(t, "places are free afterwards", maxChecks, cap(b.slots)-len(b.slots))
}

func TestCheckGetsNoCredentials(t *testing.T) {
	secrets := []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "GITHUB_TOKEN",
		"OPENAI_API_KEY", "my_token", "ARBITER_AGENT",
	}
	extra := map[string]string{"PLAIN": "yes"}
	for _, name := range secrets {
		if name != "my_token" { // my_token is only in the added variables
			t.Setenv(name, "secret")
		}
		extra[name] = "secret"
	}
	t.Setenv("LC_TEST", "kept")
	t.Setenv("UNHEARD_OF", "lost")
	b := newBench(t)
	for _, given := range []map[string]string{nil, extra} {
		r := b.check(bridge.CheckParams{Command: "env", Env: given})
		testkit.Excludes(t, "the environment", r.Output, "secret", "UNHEARD_OF")
		testkit.Includes(t, "the environment lacks something", r.Output, "LC_TEST=kept\n", "ARBITER_RUN="+b.run+"\n")
		testkit.Same(t, fmt.Sprintf("what was added:\n%s", r.Output), (given != nil),
			strings.Contains(r.Output, "PLAIN=yes\n"))
	}
}
