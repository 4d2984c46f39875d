package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// terminal is a session of the real CLI, as a person opens one with the settings that `arbiter hook --settings`
// prints, with a server that answers its hooks as a run does.
type terminal struct {
	told  chan hooks.Effect
	model *rehearsal.Server
}

// openTerminal plays a script to its end in a window of 200,000 tokens.
func openTerminal(t *testing.T, policy hooks.Policy, steps string, args ...string) terminal {
	t.Helper()
	t.Parallel()
	claude := realClaude(t)
	if claude == "" {
		t.Skip("no claude: run scripts/setup")
	}
	sc, err := rehearsal.Parse("hooks.yaml", []byte("name: hooks\ntitle: Hooks\nactors:\n"+
		"  - name: subagent\n    match: {role: subagent}\n    steps:\n      - use: [{tool: Bash, input: {command: echo "+
		"deep}}]\n        usage: {context: 190000}\n      - {say: The depth is empty., usage: {context: 191000}}\n"+
		"  - name: worker\n    match: {role: main}\n    steps:\n"+steps))
	if err != nil {
		t.Fatal(err)
	}
	model, err := rehearsal.Start(sc, rehearsal.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	agent := host.HookSocketAgent{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Session: uuid.NewString(),
		Window: 200_000, Policy: policy}
	told := make(chan hooks.Effect, 100)
	// The session is a descendant of arbiter, like one in a terminal of the run: its hooks send the token that
	// they have from the CLI's environment.
	token := rand.Text()
	server, err := host.ServeHookSocket(shortDir(t), host.HookSocketService{
		Agent: func(session string) (host.HookSocketAgent, bool) { return agent, session == agent.Session },
		Token: func(session, secret string) bool { return session == agent.Session && secret == token },
		Report: func(_ bridge.AgentRef, o host.HookSocketOutcome) {
			for _, e := range o.Effects {
				told <- e
			}
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	arbiter, err := exec.LookPath("arbiter")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude,
		append(args, "-p", "--session-id", agent.Session, "--model", "claude-opus-5-5",
			"--setting-sources", "", "--strict-mcp-config", "--allowedTools=Bash(*)",
			"--settings", string(hooks.Settings(hookclient.CommandLine(arbiter, server.Path()))), "Go on.")...)
	cmd.Dir, cmd.WaitDelay = t.TempDir(), waitTimeout
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + model.Key(),
		"ANTHROPIC_BASE_URL=" + model.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", hookclient.TokenEnv + "=" + token,
	}
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "It is done." {
		t.Fatalf("claude: %v\n%s", err, out)
	}
	if p := model.Problems(); len(p) > 0 {
		t.Errorf("problems:\n%s", strings.Join(p, "\n"))
	}
	return terminal{told, model}
}

// effects returns the effects that were reported so far.
func (m terminal) effects() (list []hooks.Effect) {
	for {
		select {
		case e := <-m.told:
			list = append(list, e)
		default:
			return list
		}
	}
}

// first returns the index of the main thread's first request that contains a text, and how many times the last
// request contains it.
func (m terminal) first(text string) (at, times int) {
	at = -1
	main := slices.DeleteFunc(m.model.Requests(), func(r rehearsal.Request) bool {
		return r.Role != rehearsal.RoleMain
	})
	for i, r := range main {
		times = strings.Count(string(r.Messages), text)
		if at < 0 && times > 0 {
			at = i
		}
	}
	return at, times
}

// TestTerminalIsWarned: each warning level reaches the model once, with its next request.
func TestTerminalIsWarned(t *testing.T) {
	testkit.Long(t)
	m := openTerminal(t, hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85}, `
      - use: [{tool: Bash, input: {command: echo one}}]
        usage: {context: 138000}
      - use: [{tool: Agent, input: {description: deep, prompt: Look into the depth., subagent_type: general-purpose}}]
        usage: {context: 139000}
      - use: [{tool: Bash, input: {command: "false"}}]
        usage: {context: 142000}
      - use: [{tool: Bash, input: {command: "false"}}]
        usage: {context: 142000}
      - use: [{tool: Bash, input: {command: echo five}}]
        usage: {context: 171000}
      - use: [{tool: Bash, input: {command: echo six}}]
        usage: {context: 171000}
      - {say: It is done., usage: {context: 171500}}
`)
	for _, c := range []struct {
		text  string
		after int // the request whose answer reached the level
	}{
		{"warn: 71 % full, 142,000 of 200,000 tokens", 2},
		{"critical: 86 % full, 171,000 of 200,000 tokens", 4},
	} {
		if at, times := m.first(hooks.MarkContext + " " + c.text); at != c.after+1 || times != 1 {
			t.Errorf("%q is in request %d first, and %d times in the last; want request %d, and once", c.text, at,
				times, c.after+1)
		}
	}
	var levels []hooks.Level
	subagents := 0
	for _, e := range m.effects() {
		switch e := e.(type) {
		case hooks.LevelReported:
			levels = append(levels, e.Level)
		case hooks.SubagentStarted, hooks.SubagentEnded:
			subagents++
		default:
			t.Errorf("%T%+v", e, e)
		}
	}
	if !slices.Equal(levels, []hooks.Level{hooks.LevelWarn, hooks.LevelCritical}) || subagents != 2 {
		t.Errorf("told %v, %d ends of subagents", levels, subagents)
	}
}

// compacting uses, in mid-turn, more tokens than the CLI's threshold for compaction.
const compacting = `
      - use: [{tool: Bash, input: {command: echo one}}]
        usage: {context: 100000}
      - use: [{tool: Bash, input: {command: echo two}}]
        usage: {context: 176000}
      - use: [{tool: Bash, input: {command: echo three}}]
        usage: {context: 20000}
      - use: [{tool: Bash, input: {command: echo four}}]
        usage: {context: 20500}
      - {say: It is done., usage: {context: 21000}}
`

// TestTerminalIsNotCompacted: the compaction is blocked, and the model is notified with its next call.
func TestTerminalIsNotCompacted(t *testing.T) {
	m := openTerminal(t, hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 99, Critical: 99.5, KeepContext: true},
		compacting, "--autocompact", "200000")
	for _, r := range m.model.Requests() {
		if r.Role == rehearsal.RoleSide {
			t.Errorf("a summary was asked for: %.200s", r.Incoming)
		}
	}
	if at, _ := m.first("A compaction was held back"); at != 3 {
		t.Errorf("told with request %d, want 3", at)
	}
	list := m.effects()
	if !slices.Contains(list, hooks.Effect(hooks.CompactionBlocked{Trigger: hooks.TriggerAuto, Count: 1})) ||
		slices.ContainsFunc(list, func(e hooks.Effect) bool { _, ok := e.(hooks.Compacted); return ok }) {
		t.Errorf("effects %+v", list)
	}
}

// TestTerminalIsReminded: a compaction is reported once, and the reminder comes with the next request.
func TestTerminalIsReminded(t *testing.T) {
	testkit.Long(t)
	m := openTerminal(t, hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85,
		Reminder: "Edit no files yourself."}, compacting, "--autocompact", "200000")
	at, times := m.first(hooks.MarkReminder)
	if at != 2 || times != 1 {
		t.Errorf("reminded with request %d, %d times in the last", at, times)
	}
	var happened []hooks.Effect
	for _, e := range m.effects() {
		if _, told := e.(hooks.LevelReported); !told {
			happened = append(happened, e)
		}
	}
	want := []hooks.Effect{hooks.CompactionPassed{Trigger: hooks.TriggerAuto},
		hooks.Compacted{Trigger: hooks.TriggerAuto}, hooks.Reminded{}}
	if !slices.Equal(happened, want) {
		t.Errorf("effects %+v, want %+v", happened, want)
	}
}
