package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// refuser denies every request, and records them with what the CLI offers.
type refuser struct {
	mu   sync.Mutex
	list []string
}

func (r *refuser) permission(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := about(p.Input)
	if p.ReasonType == bridge.SafetyCheck {
		text += " !"
	}
	r.list = append(r.list, strings.TrimSpace(text+" "+strings.Join(p.Suggestions, " | ")))
	return bridge.PermissionResult{Behavior: bridge.Deny, Message: "NOBODY WANTS IT"}, nil
}

func (r *refuser) take() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, r.list = r.list, nil
	return list
}

func write(path string) call {
	return call{"Write", map[string]any{"file_path": path, "content": "x"}}
}

func made(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestLiveRules: the CLI judges by the rules that it is given, a rule for the workspace is the only one that edits
// need, and other rules take the place of all of the first ones while the agent runs.
func TestLiveRules(t *testing.T) {
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t)
		s := prepare(t, spec, model.env())
		dir, outside := s.dir, t.TempDir()
		model.then(
			reply{tools: []call{write(filepath.Join(dir, "a"))}}, reply{tools: []call{bash("echo x")}},
			reply{tools: []call{bash("touch denied")}}, reply{tools: []call{bash("touch asked")}},
			reply{tools: []call{bash("mkdir free")}}, reply{tools: []call{write(filepath.Join(outside, "b"))}},
			reply{tools: []call{write(filepath.Join(dir, ".git", "hooks", "h"))}}, reply{text: "first"},
			reply{tools: []call{bash("touch denied")}}, reply{tools: []call{bash("mkdir other")}},
			reply{tools: []call{write(filepath.Join(dir, "c"))}}, reply{text: "second"})
		s.cfg.Rules = bridge.PermissionRules{Allow: []string{"Edit(/" + dir + "/**)", "Bash(mkdir *)"},
			Deny: []string{"Bash(touch denied)"}, Ask: []string{"Bash(touch asked)"}}
		var r refuser
		s.host.permission = r.permission
		s.launch()
		s.turn("one")
		want := []string{"asked", "b Edit(/" + outside + "/**)", "h !"}
		testkit.Same(t, "asked at first", want, r.take())
		testkit.OK(t, s.agent.Configure(t.Context(), bridge.ConfigureParams{
			Rules: &bridge.PermissionRules{Allow: []string{"Bash(touch denied)"}}}))
		s.turn("two")
		testkit.Same(t, "asked later", []string{"other Bash(mkdir other *)", "c"}, r.take())
		testkit.Same(t, "files", []string{"a", "denied", "free"}, made(t, dir))
	})
}

// TestLiveRuleNotTaken: the CLI drops a rule that it cannot read without a word. Without a deny rule no agent starts;
// an allow rule is missed, and said.
func TestLiveRuleNotTaken(t *testing.T) {
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		for name, rules := range map[string]bridge.PermissionRules{
			"deny": {Deny: []string{"Bash(rm *)", "bash(ls)"}}, "ask": {Ask: []string{"Bash()"}}} {
			s := prepare(t, spec, startAPI(t).env())
			s.cfg.Rules = rules
			if err := s.try(); err == nil || !strings.Contains(err.Error(), "has not taken the "+name+" rule") {
				t.Errorf("%s: %v", name, err)
			}
			s.checkNoProcesses()
		}
		s := prepare(t, spec, startAPI(t).env())
		s.cfg.Rules = bridge.PermissionRules{
			Allow: []string{"Bash(a (b) *)", "Bash(*)", "Task", "bash(ls)"},
			Deny:  []string{`Bash(x\y)`},
		}
		s.launch()
		testkit.Same(t, "", []string{"bash(ls)"}, s.agent.Info().NotTaken)
	})
}

// TestLiveBypass: in the mode that asks for nothing deny rules and hooks still hold, and what the CLI says of its
// mode is what is reported.
func TestLiveBypass(t *testing.T) {
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s := prepare(
			t,
			spec,
			startAPI(t, reply{tools: []call{bash("touch free")}}, reply{tools: []call{bash("touch denied")}},
				reply{tools: []call{bash("touch denied-by-hook")}}, reply{text: "done"}).env(),
		)
		s.cfg.PermissionMode, s.cfg.Judged = bridge.BypassPermissions, true
		s.cfg.Rules = bridge.PermissionRules{Deny: []string{"Bash(touch denied)"}}
		var c court
		var r refuser
		s.host.permission, s.host.judge = r.permission, c.judge
		s.launch()
		if got := s.agent.Info().PermissionMode; got != bridge.BypassPermissions {
			t.Errorf("in mode %s", got)
		}
		s.turn("go")
		if diff := cmp.Diff([]string{"free"}, made(t, s.dir)); diff != "" || len(r.list) > 0 {
			t.Errorf("asked %q; files, -want +got:\n%s", r.list, diff)
		}
	})
}

// TestLiveChangedInput: a hook of the user's settings allows every call and makes another one of it. What ran is
// reported, and the rules hold for it.
func TestLiveChangedInput(t *testing.T) {
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s := prepare(t, spec, startAPI(t, reply{tools: []call{bash("printf 1")}}, reply{tools: []call{bash("printf 2")}},
			reply{tools: []call{bash("printf 3; exit 1")}}, reply{tools: []call{bash("echo 4")}}, reply{text: "done"}).env())
		s.cfg.Judged, s.cfg.SettingSources, s.cfg.Env["HOME"] = true, []string{"user"}, t.TempDir()
		s.cfg.Hooks = &bridge.HookConfig{Role: "orchestrator", Warn: 90, Critical: 95}
		s.cfg.Rules = bridge.PermissionRules{Deny: []string{"Bash(touch denied)"}}
		hook := filepath.Join(s.cfg.Env["HOME"], "hook.sh")
		settings := `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"sh ` + hook + `"}]}]}}`
		script := `read -r call
answer() {
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",' \
    '"updatedInput":{"command":"'"$1"'"}}}'
}
case $call in
*"printf 1"*) answer "touch ran" ;;
*"printf 2"*) answer "touch denied" ;;
*"printf 3"*) answer "touch failed; exit 1" ;;
esac
`
		for path, text := range map[string]string{filepath.Join(s.cfg.Env["HOME"], ".claude", "settings.json"): settings,
			hook: script} {
			testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		}
		s.launch()
		s.turn("go")
		testkit.Same(t, "files", []string{"failed", "ran"}, made(t, s.dir))
		var ran []string
		for _, e := range of[bridge.ToolRan](s.host) {
			ran = append(ran, e.Tool+" "+string(e.Input))
		}
		want := []string{`Bash {"command":"touch ran"}`, `Bash {"command":"touch failed; exit 1"}`}
		testkit.Same(t, "reported", want, ran)
	})
}

// TestLiveSkillLines: a command line of a skill passes the judge like a call. A CLI that shows such lines to no hook
// runs none of them where a rule says more than its own reading of it.
func TestLiveSkillLines(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, reply{tools: []call{{"Skill", map[string]any{"skill": "probe"}}}}, reply{text: "done"})
		s := prepare(t, spec, model.env())
		s.cfg.Judged, s.cfg.SettingSources, s.cfg.NoSkillCommands = true, []string{"user", "project"}, true
		skill := filepath.Join(s.dir, ".claude", "skills", "probe", "SKILL.md")
		testkit.OK(t, os.MkdirAll(filepath.Dir(skill), 0o700))
		testkit.OK(t, os.WriteFile(skill, []byte("---\nname: probe\ndescription: A probe.\n"+
			"allowed-tools: Bash(touch *), Bash(bash *)\n"+
			"---\nProbe.\n!`touch free`\n!`bash -c 'touch denied'`\n!`touch asked`\n"), 0o600))
		var c court
		s.host.judge = c.judge
		s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
			return bridge.PermissionResult{Behavior: bridge.Allow}, nil
		}
		s.launch()
		s.turn("go")
		var want []string
		if !numbers(strings.Split(s.agent.Info().ClaudeVersion, ".")).before(skillHooks) {
			want = []string{"free"}
		}
		if diff := cmp.Diff(want, made(t, s.dir)); diff != "" {
			t.Errorf("files, -want +got:\n%s\njudged %q\n%s", diff, c.list, model.lastRequest())
		}
	})
}
