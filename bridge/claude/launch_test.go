package claude

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite golden files")

const someSession = "0b1f1a6e-52c6-4f1c-9a57-3d1f4a0c9b11"

func TestLaunchPlan(t *testing.T) {
	full := bridge.AgentConfig{
		SessionID: someSession, CWD: "/w", Model: "opus", Effort: "high", SystemPrompt: "You are --the one.",
		Tools: []string{"Read", "Grep"}, DisallowedTools: []string{"Bash(rm *)"},
		AllowedTools: []string{"Bash(git log:*)"}, Rules: bridge.PermissionRules{Allow: []string{"Bash(git diff *)"}},
		PermissionMode: "acceptEdits", SettingSources: []string{"user", "project"}, StrictMCP: true,
		JSONSchema: json.RawMessage(`{"type":"object"}`), MCPTools: []bridge.ToolSpec{{Name: "status"}}, Partial: true,
		MaxBudgetUSD: 2.5, Judged: true, Hooks: &bridge.HookConfig{},
	}
	long := strings.Repeat("l", argLimit+1)
	for _, test := range []struct {
		name string
		cfg  bridge.AgentConfig
	}{
		{"full", full},
		{"least", bridge.AgentConfig{SessionID: someSession}},
		{"resume", bridge.AgentConfig{SessionID: someSession, Resume: true, AppendSystemPrompt: "Rules.",
			Tools: []string{}, Judged: true}},
		{"long", bridge.AgentConfig{SessionID: someSession, SystemPrompt: long, AppendSystemPrompt: long,
			JSONSchema: json.RawMessage(`"` + long + `"`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OK(t, check(test.cfg))
			p := launchPlan(test.cfg)
			init := testkit.Must(json.MarshalIndent(p.init, "", "  "))(t)
			got := strings.Join(p.args, "\n") + "\n\ninitialize " + strings.ReplaceAll(string(init), long, "LONG") +
				"\n"
			golden(t, "launch-"+test.name+".golden", got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testkit.OK(t, os.WriteFile(path, []byte(got), 0o644))
	}
	testkit.Same(t, name, string(testkit.Must(os.ReadFile(path))(t)), got)
}

func TestBadConfigurations(t *testing.T) {
	for name, change := range map[string]func(*bridge.AgentConfig){
		"session": func(c *bridge.AgentConfig) { c.SessionID = "me" },
		"rule":    func(c *bridge.AgentConfig) { c.AllowedTools = []string{"--dangerously-skip-permissions"} },
		"no rule": func(c *bridge.AgentConfig) { c.DisallowedTools = []string{""} },
		"source":  func(c *bridge.AgentConfig) { c.SettingSources = []string{"everywhere"} },
		"schema":  func(c *bridge.AgentConfig) { c.JSONSchema = json.RawMessage("{") },
		"NUL":     func(c *bridge.AgentConfig) { c.SystemPrompt = "a\x00b" },
		"tool type": func(c *bridge.AgentConfig) {
			c.MCPTools = []bridge.ToolSpec{{Name: "x", InputSchema: json.RawMessage(`{"type":"array"}`)}}
		},
		"tool name": func(c *bridge.AgentConfig) {
			c.MCPTools = []bridge.ToolSpec{{InputSchema: json.RawMessage(`{"type":"object"}`)}}
		},
		"no schema": func(c *bridge.AgentConfig) { c.MCPTools = []bridge.ToolSpec{{Name: "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t, fakeSpec(t, fakeGood), nil)
			change(&s.cfg)
			err := s.try()
			testkit.Check(t, errCode(err) == -32602, "got %v", err)
			s.checkNoProcesses()
		})
	}
}

func TestEnviron(t *testing.T) {
	inherited := []string{
		"HOME=/h", "PATH=/bin", "LC_ALL=C", "LANG=en", "SSH_AUTH_SOCK=/s", "HTTPS_PROXY=p", "https_proxy=q",
		"SSL_CERT_FILE=c", "ANTHROPIC_API_KEY=k", "AWS_SESSION_TOKEN=t", "GOOGLE_APPLICATION_CREDENTIALS=g",
		"CLOUD_ML_REGION=r", "VERTEX_REGION_X=v", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0",
		// Removed:
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_CODE_PARENT_SESSION_ID=s",
		"CLAUDE_CODE_MESSAGING_SOCKET=s", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_PID=1", "IS_SANDBOX=1", "GITHUB_TOKEN=t", "ARBITER_RUN=outer",
		"DATABASE_URL=d", "nonsense",
	}
	want := []string{
		"ANTHROPIC_API_KEY=k", "AWS_SESSION_TOKEN=t", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=0",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_TOTAL_TOKENS_REMINDER=off",
		"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/c", "CLOUD_ML_REGION=r", "DISABLE_AUTOUPDATER=1",
		"EXTRA=e", "GOOGLE_APPLICATION_CREDENTIALS=g", "HOME=/other", "HTTPS_PROXY=p", "LANG=en", "LC_ALL=C",
		"MAX_STRUCTURED_OUTPUT_RETRIES=2", "PATH=/bin", "SSH_AUTH_SOCK=/s", "SSL_CERT_FILE=c", "VERTEX_REGION_X=v",
		"https_proxy=q",
	}
	extra := map[string]string{"EXTRA": "e", "HOME": "/other", "DISABLE_AUTOUPDATER": "0",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "0", "CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off"}
	testkit.Same(t, "", want, environ(inherited, extra))
}

// countedCLI is a script that answers --version and counts its calls.
func countedCLI(t *testing.T, answer string) (path string, asked func() int) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "claude")
	script := "#!/bin/sh\necho x >> " + strconv.Quote(filepath.Join(dir, "count")) + "\necho '" + answer + "'\n"
	testkit.OK(t, os.WriteFile(path, []byte(script), 0o700))
	return path, func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "count"))
		return len(data) / 2
	}
}

func TestDetectRemembers(t *testing.T) {
	path, asked := countedCLI(t, "2.1.329 (Claude Code)")
	link := filepath.Join(t.TempDir(), "claude")
	testkit.OK(t, os.Symlink(path, link))
	cache := filepath.Join(t.TempDir(), "cache")
	detect := func(l *Launcher, wantAsked int) {
		t.Helper()
		info, err := l.Detect(context.Background(), bridge.ClaudeSpec{Path: link})
		testkit.Check(t, err == nil && info.Version == "2.1.329" && filepath.Base(info.Path) == "claude" &&
			info.Path != link && !info.StandIn, "got %+v, %v", info, err)
		testkit.Same(t, "asked times", wantAsked, asked())
	}
	l := NewLauncher(cache)
	detect(l, 1)
	detect(l, 1)                  // in the process
	detect(NewLauncher(cache), 1) // from the file
	file := filepath.Join(cache, "claude-builds.json")
	info, err := os.Stat(file)
	testkit.Check(t, err == nil && info.Mode().Perm() == 0o600, "cache file: %v, %v", info, err)
	testkit.OK(t, os.WriteFile(file, []byte(`[{"path":`), 0o600))
	detect(NewLauncher(cache), 2) // a corrupt file is a miss, and is repaired
	detect(NewLauncher(cache), 2)
	testkit.OK(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	detect(l, 3) // another build
}

func TestDetectStuck(t *testing.T) {
	stuck := filepath.Join(t.TempDir(), "claude")
	testkit.OK(t, os.WriteFile(stuck, []byte("#!/bin/sh\nsleep 1000\n"), 0o700))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := NewLauncher(t.TempDir()).Detect(ctx, bridge.ClaudeSpec{Path: stuck})
	testkit.Check(t, errCode(err) == bridge.CodeClaude, "got %v", err)
	// One that writes without end is not waited for, and its output is not kept.
	testkit.OK(t, os.WriteFile(stuck, []byte("#!/bin/sh\nexec yes\n"), 0o700))
	_, err = NewLauncher(t.TempDir()).Detect(context.Background(), bridge.ClaudeSpec{Path: stuck})
	testkit.Check(t, errCode(err) == bridge.CodeClaude && !strings.Contains(err.Error(), "no answer"), "a flood: %v", err)
}

// TestVersions: which CLIs the driver accepts, and what it reports about the others.
func TestVersions(t *testing.T) {
	for output, want := range map[string]struct {
		version string // "": it is refused
		words   []string
	}{
		oldest + " (Claude Code)":                       {oldest, nil},
		newest + " (Claude Code)":                       {newest, nil},
		newest + " (Claude Code stand-in)":              {newest, nil},
		"warning: a hint\n" + newest + " (Claude Code)": {newest, nil},
		"2.1.316 (Claude Code)": {"",
			[]string{"2.1.316", "too old", "needs " + oldest + " or later", "claude update"}},
		"1.0.2 (Claude Code)": {"", []string{"1.0.2", "too old"}},
		"2.1.99999 (Claude Code)": {"2.1.99999",
			[]string{"newer than any", oldest + " to " + newest, "--claude PATH"}},
		"3.0.0-beta.1 (Claude Code)":             {"3.0.0", []string{"3.0.0 is newer than any"}},
		"GNU bash, version 5.2.15(1)-release":    {"", []string{"is not the Claude CLI", "GNU bash", "--claude PATH"}},
		"5.2.15":                                 {"", []string{"is not the Claude CLI", "5.2.15"}},
		"":                                       {"", []string{"is not the Claude CLI"}},
		"99999999999999999999.1.1 (Claude Code)": {"", []string{"is not the Claude CLI"}},
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			path, _ := countedCLI(t, output)
			info, err := NewLauncher(t.TempDir()).Detect(context.Background(), bridge.ClaudeSpec{Path: path})
			testkit.Need(t, info.Version == want.version && (err == nil) == (want.version != "") &&
				info.StandIn == strings.Contains(output, "stand-in"), "got %+v, %v", info, err)
			warning := Untested(info.Version)
			if err != nil {
				warning = err.Error()
				rpc, ok := errors.AsType[*bridge.RPCError](err)
				testkit.Check(t, ok && rpc.Category == bridge.CatUnsupported, "got %+v", err)
			}
			testkit.Includes(t, "said, without", warning, want.words...)
			testkit.Check(t, len(want.words) != 0 || warning == "", "said %q", warning)
		})
	}
}

// TestSupportedVersionsMatchTheTable: the measured versions are those of the table, and the bounds of the supported
// ones are the first and the last of them.
func TestSupportedVersionsMatchTheTable(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"drift.md", "claude-versions"} {
		raw := testkit.Must(os.ReadFile(filepath.Join("..", "..", "testdata", name)))(t)
		texts[i] = string(raw)
	}
	_, line, _ := strings.Cut(texts[0], "\n| behaviour | ")
	line, _, _ = strings.Cut(line, " |\n")
	versions := strings.Fields(texts[1])
	if n := len(versions); n < 5 || versions[0] != oldest || versions[n-1] != newest ||
		line != strings.Join(versions, " | ") {
		t.Errorf("shown are %q, measured %q, driven %s to %s: run scripts/drift", line, versions, oldest, newest)
	}
}

// TestLogin: the driver believes the CLI's answer with any exit code; what the answer does not contain
// stays unknown.
func TestLogin(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   Login
	}{
		"in": {`echo '{"loggedIn":true,"authMethod":"claude.ai","email":"a@b.example"}'`,
			Login{true, true, "claude.ai", "a@b.example"}},
		"out":     {`echo '{"loggedIn":false,"authMethod":"none"}'; exit 1`, Login{Known: true, Method: "none"}},
		"silent":  {`exit 0`, Login{}},
		"unknown": {`echo "error: unknown command 'auth'" >&2; exit 1`, Login{}},
		"prose":   {`echo 'Logged in.'`, Login{}},
	} {
		path := filepath.Join(t.TempDir(), "claude")
		testkit.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$*\" = 'auth status --json' ] || exit 9\n"+tt.script+"\n"),
			0o700))
		testkit.Same(t, name, tt.want,
			NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: path}))
	}
	got := NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: "/no/claude"})
	testkit.Check(t, !got.Known, "without a CLI: %+v", got)
}

// TestLiveLogin: the real CLI reports that a private home is not logged in without a key, and is logged in
// with one.
func TestLiveLogin(t *testing.T) {
	spec := realSpec(t)
	if len(spec.Args) > 0 {
		t.Skip("the stand-in plays sessions, and has no logins")
	}
	for _, key := range []string{"", "sk-ant-rehearsal-0000"} {
		dir := t.TempDir()
		script := "#!/bin/sh\nexec env -i HOME=" + strconv.Quote(dir) + " PATH=\"$PATH\" ANTHROPIC_API_KEY=" +
			strconv.Quote(key) + " " + strconv.Quote(spec.Path) + ` "$@"` + "\n"
		path := filepath.Join(dir, "claude")
		testkit.OK(t, os.WriteFile(path, []byte(script), 0o700))
		got := NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: path})
		testkit.Check(t, got.Known && got.LoggedIn == (key != ""), "key %q: %+v", key, got)
	}
}

// wrapped is a CLI that is a script around the fake one, so that it can be replaced.
func wrapped(t *testing.T, mark string) bridge.ClaudeSpec {
	t.Helper()
	spec := bridge.ClaudeSpec{Path: filepath.Join(t.TempDir(), "claude"), Args: []string{fakeArg, fakeGood}}
	replaceCLI(t, spec.Path, mark)
	return spec
}

func replaceCLI(t *testing.T, path, mark string) {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	fresh := path + ".new"
	testkit.OK(t, os.WriteFile(fresh, []byte("#!/bin/sh\n# "+mark+"\nexec '"+self+"' \"$@\"\n"), 0o700))
	testkit.OK(t, os.Rename(fresh, path))
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	b := testkit.Must(os.ReadFile(path))(t)
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// secondAgent launches another agent of the same launcher, with a host of its own.
func (s *stageOf) secondAgent() *stageOf {
	s.t.Helper()
	next := prepare(s.t, s.spec, nil)
	next.l, next.run = s.l, s.run
	return next.launch()
}

// TestProgramReplaced: if the CLI is another file than the one that the run began with, that is reported
// once, with versions and hashes; the run continues.
func TestProgramReplaced(t *testing.T) {
	s := prepare(t, wrapped(t, "one"), nil).launch()
	first := sumOf(t, s.spec.Path)
	replaceCLI(t, s.spec.Path, "two")
	second := s.secondAgent()
	e := await[bridge.Error](second.host, 1, nil)
	for _, want := range []string{"replaced", first, sumOf(t, s.spec.Path), "2.1.329"} {
		testkit.Check(t, e.Category == bridge.CatStart && strings.Contains(e.Message, want), "%q is not in %+v", want,
			e)
	}
	third := s.secondAgent()
	testkit.Same(t, fmt.Sprintf("the hash is not told: %+v", third.agent.Info()), sumOf(t, s.spec.Path),
		third.agent.Info().ClaudeSHA256)
	for _, stage := range []*stageOf{s, third} {
		testkit.Empty(t, "told without need", of[bridge.Error](stage.host))
	}
}

// TestSumIsRemembered: a build is hashed once; the next process has the hash at once.
func TestSumIsRemembered(t *testing.T) {
	cache := t.TempDir()
	path, _ := countedCLI(t, "2.1.329 (Claude Code)")
	info, err := NewLauncher(cache).Detect(t.Context(), bridge.ClaudeSpec{Path: path})
	testkit.Need(t, err == nil && info.SHA256 == "" && strings.Count(info.Identity, ":") == 3, "%+v, %v", info, err)
	l := NewLauncher(cache)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	testkit.Same(t, "it goes on behind its end", "", l.builds.sum(stopped, build{nil, info}))
	testkit.Same(t, "sum", sumOf(t, path), l.builds.sum(t.Context(), build{nil, info}))
	l = NewLauncher(cache)
	if info, err := l.Detect(t.Context(), bridge.ClaudeSpec{Path: path}); err != nil || info.SHA256 != sumOf(t, path) {
		t.Errorf("%+v, %v", info, err)
	}
	info.Identity = "1:2:3:4" // a file that was replaced before it was read
	testkit.Same(t, "the hash of another file", "", l.builds.sum(t.Context(), build{nil, info}))
}

// TestStartIsRecorded: the arguments with which an agent was started are reported, without values of its
// environment and without overlong values.
func TestStartIsRecorded(t *testing.T) {
	s := prepare(t, fakeSpec(t, fakeGood), map[string]string{"SOME_TOKEN": "tok-1234567890"})
	s.cfg.Model, s.cfg.AppendSystemPrompt = "a tok-1234567890 model", strings.Repeat("x", 300)
	s.launch()
	info := s.agent.Info()
	after := func(flag string) string { return info.Argv[slices.Index(info.Argv, flag)+1] }
	testkit.Check(t, info.Argv[0] == s.spec.Path && info.Argv[1] == fakeArg &&
		after("--session-id") == s.cfg.SessionID && info.CWD == s.dir && info.PermissionMode == "default" &&
		!info.Sandbox && info.PID != 0, "%+v", info)
	testkit.Same(t, "a long argument", fmt.Sprintf("sha256:%x (300 bytes)",
		sha256.Sum256([]byte(s.cfg.AppendSystemPrompt))), after("--append-system-prompt"))
	testkit.Same(t, "a secret", "[the value of SOME_TOKEN]", after("--model"))
	testkit.Check(t, slices.Contains(info.Env, "SOME_TOKEN") && slices.IsSorted(info.Env) &&
		!strings.Contains(strings.Join(info.Env, " "), "="), "environment: %v", info.Env)
}

// TestCapOfALargeWindow: the CLI marks the name of a model with a large window; the API omits the mark. A
// cap for that model holds in both cases, no matter which message names it.
func TestCapOfALargeWindow(t *testing.T) {
	const plain = "claude-sonnet-4-5"
	marked := plain + large
	for _, text := range []string{marked, plain} {
		g := newGauge(bridge.AgentConfig{Model: marked, ContextCap: 300_000,
			ContextCaps: map[string]int{marked: 500_000}})
		for range 2 {
			g.learn(contextUsage{Model: text, RawMaxTokens: 1_000_000})
			testkit.Same(t, fmt.Sprintf("%s: by the CLI's word", text), 500_000, g.now().Window)
			s := messageOf("m1", 10_000)
			s.Model = plain
			g.sample(s, fromStream)
			testkit.Same(t, fmt.Sprintf("%s: after a message", text), 500_000, g.now().Window)
		}
		g.turnEnded(map[string]modelUsage{text: {ContextWindow: 400_000}})
		testkit.Same(t, fmt.Sprintf("%s: after a result", text), 400_000, g.now().Window)
	}
	// The cap of one model does not apply to another.
	g := newGauge(bridge.AgentConfig{Model: marked, ContextCap: 300_000, ContextCaps: map[string]int{marked: 500_000}})
	g.sample(messageOf("m1", 10_000), fromStream)
	testkit.Same(t, "for another model", 300_000, g.now().Window)
}
