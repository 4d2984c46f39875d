package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestRehearsalIsAlone: no variable or configuration of the user reaches a rehearsal, not even the agents'
// shells.
func TestRehearsalIsAlone(t *testing.T) {
	testkit.Long(t)
	path := scenarioFile(t, allowing([]string{"Bash(*)"}, arbiter(append(summons("Look."), complete("s"))),
		orchestrator("orchestrator", "", []object{bash("env > env.txt"), handsOff("done", "seen", []string{"the end"})})))
	user := t.TempDir()
	hostile := []string{
		"ANTHROPIC_API_KEY=sk-ant-secret-1", "ANTHROPIC_AUTH_TOKEN=secret-2", "ANTHROPIC_BASE_URL=http://127.0.0.1:9",
		"CLAUDE_CODE_OAUTH_TOKEN=secret-3", "AWS_SECRET_ACCESS_KEY=secret-4", "CLAUDE_CODE_USE_BEDROCK=1",
		"GOOGLE_API_KEY=secret-5", "GITHUB_TOKEN=secret-6", "CLAUDE_CONFIG_DIR=" + user,
		"HTTPS_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		"NODE_OPTIONS=--require=/nowhere", "LD_PRELOAD=", "BASH_ENV=/nowhere",
	}
	eachPlayer(t, func(t *testing.T, p player) {
		p.env = hostile
		s := p.plays(t, path, "Look", "--no-input", "--env", "ANTHROPIC_API_KEY=sk-ant-secret-7")
		s.finish(contract.ExitComplete)
		env := testkit.Must(os.ReadFile(filepath.Join(collect[contract.Session](s)[0].CWD, "env.txt")))(t)
		testkit.Excludes(t, "the shell of an agent sees", string(env), "secret", user, "HTTPS_PROXY=http", "http_proxy=http",
			"NODE_OPTIONS", "BASH_ENV", "USE_BEDROCK")
		entries, err := os.ReadDir(user)
		testkit.Check(t, err == nil && len(entries) == 0, "the user's configuration was written to: %v %v", entries, err)
	})
}

// eachHailed runs a test with the CLI of each player, and with the variables with which it asks a model that
// answers a greeting.
func eachHailed(t *testing.T, test func(t *testing.T, claude bridge.ClaudeSpec, env []string)) {
	model := serve(t, playOf(actor("anybody", object{"role": "any"},
		[]object{with(on("hello", object{"verdict": object{"word": "hail"}}), "repeat", "forever")})))
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			claude := bridge.ClaudeSpec{Path: p.args[len(p.args)-1]}
			if !p.real {
				claude = bridge.ClaudeSpec{Path: arbiterProgram(t), Args: []string{host.StandInCommand}}
			}
			test(t, claude, host.StageEnviron(t.TempDir(), model))
		})
	}
}

// TestBridgeFromOutside drives `arbiter bridge` as a program in any language can: it writes and reads lines,
// without arbiter's client.
func TestBridgeFromOutside(t *testing.T) {
	eachHailed(t, func(t *testing.T, claude bridge.ClaudeSpec, env []string) {
		work := t.TempDir()
		o := outside(t, env)
		run := uuid.NewString()
		o.call("initialize", map[string]any{"protocol_version": bridge.ProtocolVersion, "client": "a test", "run": run,
			"claude": claude})
		o.write("this is not JSON")
		o.refused("spawn", map[string]any{"id": 7}, -32602)
		o.refused("no_such_method", map[string]any{}, -32601)
		o.refused("message", map[string]any{"id": "a", "generation": 1, "message_id": uuid.NewString(),
			"content": "x"}, bridge.CodeUnknownAgent)
		o.call("spawn", map[string]any{"id": "a", "generation": 1, "config": map[string]any{
			"session_id": uuid.NewString(), "cwd": work, "setting_sources": []string{},
			"json_schema": json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		}})
		id := uuid.NewString()
		o.call("message", map[string]any{"id": "a", "generation": 1, "message_id": id, "content": "hello"})
		turn := o.event("turn")
		v, _ := turn["verdict"].(map[string]any)
		testkit.Check(t, v["word"] == "hail" && slices.Equal(turn["message_ids"].([]any), []any{id}), "turn %v", turn)
		o.call("kill", map[string]any{"id": "a", "generation": 1})
		done := o.event("done")
		testkit.Check(t, done["exit"] != nil, "done %v", done)
		_ = o.stdin.Close()
		testkit.Works(t, "the bridge ended", o.cmd.Wait())
		awaitGone(t, run)
	})
}

// outsider is the other end of a bridge's connection, without arbiter's client.
type outsider struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  interface{ Close() error }
	write  func(line string)
	lines  *bufio.Reader
	id     int
	events []map[string]any
}

func outside(t *testing.T, env []string) *outsider {
	t.Helper()
	cmd := exec.Command("arbiter", "bridge")
	cmd.Env = append(env, "TMPDIR="+t.TempDir()) // the CLI leaves directories there
	in := testkit.Must(cmd.StdinPipe())(t)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &outsider{t: t, cmd: cmd, stdin: in, lines: bufio.NewReaderSize(out, 1<<20), write: func(line string) {
		testkit.Must(in.Write([]byte(line + "\n")))(t)
	}}
}

// read returns the next line.
func (o *outsider) read() map[string]any {
	o.t.Helper()
	line, err := o.lines.ReadBytes('\n')
	testkit.Need(o.t, err == nil, "the bridge's output ended: %v", err)
	var m map[string]any
	err = json.Unmarshal(line, &m)
	testkit.Need(o.t, err == nil, "a line that is not an object: %s", line)
	testkit.Check(o.t, m["jsonrpc"] == "2.0", "no JSON-RPC 2.0: %s", line)
	return m
}

func (o *outsider) answer(method string, params any) map[string]any {
	o.t.Helper()
	o.id++
	id := "r" + string(rune('0'+o.id))
	raw := testkit.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))(o.t)
	o.write(string(raw))
	for {
		m := o.read()
		if m["method"] == "event" {
			o.events = append(o.events, m["params"].(map[string]any))
			continue
		}
		if m["id"] == id {
			return m
		}
	}
}

func (o *outsider) call(method string, params any) {
	o.t.Helper()
	m := o.answer(method, params)
	testkit.Need(o.t, m["error"] == nil, "%s: %v", method, m["error"])
}

func (o *outsider) refused(method string, params any, code int) {
	o.t.Helper()
	e, _ := o.answer(method, params)["error"].(map[string]any)
	testkit.Check(o.t, e != nil && e["code"] == float64(code), "%s: %v, want code %d", method, e, code)
}

// event waits for the first event with a name.
func (o *outsider) event(name string) map[string]any {
	o.t.Helper()
	for at := 0; ; at++ {
		for at >= len(o.events) {
			if m := o.read(); m["method"] == "event" {
				o.events = append(o.events, m["params"].(map[string]any))
			}
		}
		if o.events[at]["event"] == name {
			return o.events[at]
		}
	}
}

// turnsOf is a handler that waits for the end of a turn.
type turnsOf struct {
	host.NoHandler
	turns chan bridge.Turn
}

func (h turnsOf) Event(ev bridge.Event) {
	if turn, ok := ev.Body.(bridge.Turn); ok {
		h.turns <- turn
	}
}

// TestRemoteBridge drives `arbiter bridge --remote` with real CLIs: the agent gets the variables that are
// passed to it and none that lead back to the user's machine, checks get neither, and no secret is an argument
// of a process.
func TestRemoteBridge(t *testing.T) {
	testkit.Long(t)
	eachHailed(t, func(t *testing.T, claude bridge.ClaudeSpec, env []string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		work, run, secret := t.TempDir(), uuid.NewString(), "npm_"+uuid.NewString()
		cmd := exec.Command("arbiter", "bridge", "--remote")
		cmd.Env = append(env, "SSH_AUTH_SOCK=/tmp/no-agent.sock")
		h := turnsOf{turns: make(chan bridge.Turn, 1)}
		c := testkit.Must(bridge.StartProcess(ctx, cmd, h, nil, proctree.Keep))(t)
		defer c.Close()
		hello := testkit.Must(c.Initialize(ctx, bridge.InitializeParams{Client: "a test", Run: run, Bridge: "box",
			Claude: claude, Remote: &bridge.RemoteParams{Version: command.Version(), LeaseMS: 60_000,
				Dir: filepath.Join(work, "agents"), PassEnv: map[string]string{"NPM_TOKEN": secret}}}))(t)
		ref := bridge.AgentRef{ID: "orch-1", Generation: 1}
		spawned := testkit.Must(c.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: bridge.AgentConfig{
			SessionID: uuid.NewString(), CWD: work, SettingSources: []string{},
			JSONSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`)}}))(t)
		testkit.Check(t, slices.Contains(spawned.Env, "NPM_TOKEN") && !slices.Contains(spawned.Env, "SSH_AUTH_SOCK") &&
			slices.Contains(spawned.Env, proctree.EnvBridge), "the agent's variables: %v", spawned.Env)
		testkit.OK(t, c.Message(ctx, bridge.MessageParams{AgentRef: ref, MessageID: uuid.NewString(), Content: "hello"}))
		turn := <-h.turns
		testkit.Check(t, strings.Contains(string(turn.Verdict), "hail"), "the turn: %+v", turn)
		checked, err := c.Check(ctx, bridge.CheckParams{Command: "env", CWD: work})
		testkit.Check(t, err == nil && !strings.Contains(checked.Output, secret) &&
			!strings.Contains(checked.Output, "SSH_AUTH_SOCK"), "a check's environment: %v, %v", checked.Output, err)
		testkit.Empty(t, "a secret is an argument", withWords(secret))
		testkit.Check(t, hello.Remote.Dir == filepath.Join(work, "agents") && hello.Remote.LeaseMS == 60_000,
			"it told %+v", hello.Remote)
		testkit.Must(c.Resolve(ctx, bridge.ResolveParams{Paths: []string{work, "/nowhere"}}))(t)
		testkit.OK(t, c.Close())
		awaitGone(t, run)
	})
}

// fourHands is a play in which four Orchestrators work at the same time; two of them change the same line.
func fourHands(meet string) string {
	const woven = "(?s)part .* is woven.*The work is merged"
	seen := on(woven, patience)
	one, two, done := twoAtOneLine(meet)
	return playOf(
		arbiter(slices.Concat(summons("Weave part one", "Weave part two", "Weave part three", "Weave part four"),
			[]object{seen, seen, seen, on(woven, reads("shared.txt")),
				on("(?s)one.*two|two.*one", complete("The cloth is woven."))}), patience),
		one, two,
		orchestrator("three", "Weave part three", []object{writes("three.txt", "three\n"), done}, merges(done)...),
		orchestrator("four", "Weave part four", []object{bash("mkdir dir && mv old.txt dir/four.txt"), done},
			merges(done)...))
}

// twoAtOneLine are two Orchestrators that change the same line, and the verdict with which they end.
func twoAtOneLine(meet string) (one, two, end object) {
	end = done("A part of the cloth is woven.", check("grep -q last shared.txt", "exit 0"))
	hand := func(name, wait, commit string) object {
		return orchestrator(name, "Weave part "+name, []object{bash(wait), reads("shared.txt"),
			edits("shared.txt", "first", "first\n"+name), bash(commit), end}, merges(end)...)
	}
	return hand("one", "touch "+meet+"/one; until test -e "+meet+"/two; do sleep 0.1; done",
			"git commit -qam one; touch "+meet+"/written"),
		hand("two", "touch "+meet+"/two; until test -e "+meet+"/written; do sleep 0.1; done", "git commit -qam two"), end
}

// merges answers what a conflict brings back.
func merges(end object) []object {
	return []object{on("git merge (?P<commit>[0-9a-f]{40})", bash(
		`git merge -q {{.commit}}; printf 'first\none\ntwo\nlast\n' > shared.txt; git add -A; git commit -qm both`)), end}
}

// TestIsolatedOrchestrators: four Orchestrators work in worktrees or clones; two of them change the same line.
// All of their work ends on the run branch, a conflict goes back to its author, and checks run where the work
// was done and on the merged files. The user's files, branch and index stay unchanged until the run is landed.
func TestIsolatedOrchestrators(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		for _, isolation := range []string{"worktree", "clone"} {
			t.Run(p.name+" "+isolation, func(t *testing.T) {
				if isolation == "clone" || !p.real { // worktrees with the real CLI are enough
					testkit.Long(t)
				}
				t.Parallel()
				repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
				private, files := repo.Private(), repo.Files()
				// Git has no user name here for commits.
				play := fourHands(t.TempDir()) // where the two wait for each other
				s, model := hiredIn(t, p, play, repo.Path, "--isolation", isolation,
					"--allow", "Bash", "--allow", "Write", "--allow", "Edit",
					"--accept", "test -f three.txt && test -f dir/four.txt",
					"--task", "Weave")
				result := s.completes()
				onScript(t, model)
				branch := "arbiter/" + result.Session[:8] + "/main"
				c := result.Changes
				testkit.Need(t, c != nil && c.Branch == branch && c.Head == repo.Git("rev-parse", branch) &&
					c.Files == 3, "the result's changes are %+v", c)
				testkit.Same(t, "shared.txt is", "first\none\ntwo\nlast", repo.Git("show", branch+":shared.txt"))
				names := repo.Git("ls-tree", "-r", "--name-only", branch)
				testkit.Same(t, "the run branch has", "dir/four.txt\nshared.txt\nthree.txt", names)
				own := map[string]bool{}
				for _, w := range collect[contract.Workspace](s) {
					testkit.Check(t, w.Isolation == isolation && w.Dir != repo.Path && !own[w.Dir] &&
						strings.HasPrefix(w.Branch, "arbiter/"), "an agent works in %+v", w)
					own[w.Dir] = true
				}
				merged, conflicts := []string{}, []contract.Merge{}
				s.see("the run's end", func(l contract.Line) bool {
					if m, ok := l.Body.(contract.Merge); ok && m.Status == "merged" {
						merged = append(merged, l.ID)
					} else if ok {
						conflicts = append(conflicts, m)
					}
					_, ended := l.Body.(contract.Result)
					return ended
				})
				slices.Sort(merged)
				testkit.Check(t, slices.Equal(merged, []string{"orch-1", "orch-2", "orch-3", "orch-4"}) &&
					len(own) == 4, "merged %v, directories %v", merged, own)
				testkit.Check(t, len(conflicts) == 1 && slices.Equal(conflicts[0].Files, []string{"shared.txt"}),
					"conflicts %+v", conflicts)
				if checks := collect[contract.Check](s); len(checks) < 9+1 { // 2 each, 1 conflict, 1 at the end
					t.Errorf("%d checks: %+v", len(checks), checks)
				}
				testkit.Check(t, len(collect[contract.Overlap](s)) != 0, "no overlap was reported")
				for _, w := range collect[contract.Workspace](s) {
					testkit.Excludes(t, "the worktree is left", repo.Git("worktree", "list", "--porcelain"), w.Dir)
				}
				if after := repo.Files(); after["shared.txt"] != files["shared.txt"] || len(after) != len(files) {
					t.Errorf("the user's files are %v", after)
				}
				testkit.Same(t, "what is the user's in the repository", private, repo.Private())
			})
		}
	}
}

// cutShort is a play in which an Orchestrator is at work when arbiter is killed.
var cutShort = playOf(arbiter([]object{spawns("Weave")}, patience), orchestrator("weaver", "", []object{
	bash("git commit -q --allow-empty -m begun; echo half > half.txt"), bash("sleep 600")}))

// TestWorktreesOfADeadRun: doctor finds the worktrees of a killed run, and removing the run first saves the
// work in them. Another run that starts leaves them alone.
func TestWorktreesOfADeadRun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, isolation := range []string{"worktree", "clone"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			p := players(t)[0]
			s, _ := hiredIn(t, p, cutShort, repo.Path, "--isolation", isolation, "--allow", "Bash", "--task", "Weave")
			w := await[contract.Workspace](s, "the worktree", nil)
			s.see("the second tool", func(l contract.Line) bool {
				use, ok := l.Body.(contract.ToolUse)
				return ok && strings.Contains(string(use.Input), "sleep 600")
			})
			s.mustSignal(syscall.SIGKILL)
			<-s.ended
			_ = s.cmd.Wait()
			run := strings.Split(w.Branch, "/")[1]
			out := s.besideIn(repo.Path, "", "doctor", "--json").out
			testkit.Includes(t, "doctor says", out, "sessions rm "+run)
			testkit.Must(os.Stat(filepath.Join(w.Dir, "half.txt")))(t)
			s.besideIn(repo.Path, "", "sessions", "rm", run).ended(t, "sessions rm", contract.ExitComplete,
				"uncommitted work of orch-1 is saved in refs/arbiter/"+run+"/orch-1/wip")
			testkit.Same(t, "saved", "half", repo.Git("show", "refs/arbiter/"+run+"/orch-1/wip:half.txt"))
			testkit.Same(t, "its branch is at", "begun", repo.Git("log", "-1", "--format=%s", w.Branch))
			if _, err := os.Stat(w.Dir); !os.IsNotExist(err) || strings.Contains(repo.Git("worktree", "list"), w.Dir) {
				t.Errorf("the worktree is left: %v, %s", err, repo.Git("worktree", "list"))
			}
			out = s.besideIn(repo.Path, "", "sessions", "--json").out
			testkit.Check(t, strings.TrimSpace(out) == "[]", "the run is left: %s", out)
		})
	}
}

// confined is a play in which a sandboxed Orchestrator commits in its clone, and tries to write elsewhere.
func confined(repo string) string {
	return playOf(
		arbiter(append(summons("Weave"), on("(?s)is woven.*The work is merged", complete("It is woven."))), patience),
		orchestrator("weaver", "", []object{
			bash("echo in > in.txt && git add in.txt && git commit -qm in"),
			bash("git -C " + repo + " commit -q --allow-empty -m out && touch escaped-1; true"),
			bash("touch " + repo + "/x " + repo + "/.git/x " + repo + "/.git/objects/x; true"),
			bash("touch ../arbiter/x && touch escaped-3; true"),
		}, done("It is woven.", check("cat in.txt", "in"))))
}

// TestSandboxedOrchestratorCommitsInItsClone: it can commit in its clone, and write nowhere else.
func TestSandboxedOrchestratorCommitsInItsClone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needSandbox(t)
	eachPlayerLong(t, func(t *testing.T, p player) {
		repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
		private, files := repo.Private(), repo.Files()
		s, _ := hiredIn(t, p, confined(repo.Path), repo.Path,
			"--isolation", "worktree", "--sandbox", "on", "--permissions", "allow-all", "--i-accept-the-risk", "--task",
			"Weave")
		result := s.completes()
		w := collect[contract.Workspace](s)
		testkit.Need(t, len(w) == 1 && w[0].Isolation == "clone", "it works in %+v", w)
		testkit.Same(t, "the run branch", "in.txt\nold.txt", repo.Git("ls-tree", "--name-only", result.Changes.Branch))
		now := repo.Files()
		testkit.Check(t, len(now) == len(files), "the user's files are %v", now)
		testkit.Same(t, "what is the user's in the repository", private, repo.Private())
	})
}
