package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func remoteParams() InitializeParams {
	return InitializeParams{Client: "test", Run: "run-1", Bridge: "box",
		Remote: &RemoteParams{Version: "test", LeaseMS: 60_000}}
}

// TestRemoteBridge reports its host, and passes variables to agents, terminals and queries, not to checks.
func TestRemoteBridge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		if want := (Owner{"run-1", "box"}); r.machine.of != want {
			t.Errorf("the machine began for %+v", r.machine.of)
		}
		var got map[string]string
		r.l.launch = func(_ context.Context, p SpawnParams, host Host) (Agent, error) {
			got = p.Config.Env
			return r.l.add(p, host), nil
		}
		p := spawnParams("orch-1", 1)
		p.Config.Env = map[string]string{"MODE": "own"}
		testkit.Must(r.Spawn(r.ctx, p))(t)
		if got["NPM_TOKEN"] != "x" || got["MODE"] != "own" {
			t.Errorf("the agent's environment: %v", got)
		}
		if found, err := r.Resolve(r.ctx, ResolveParams{Paths: []string{"/a", "/b"}}); err != nil ||
			len(found.Paths) != 2 || found.Paths[1].Path != "/b" {
			t.Errorf("resolve: %+v, %v", found, err)
		}
		for what, err := range map[string]error{
			"a relative path":      errOf(r.Resolve(r.ctx, ResolveParams{Paths: []string{"a"}})),
			"a relative directory": errOf(r.Inventory(r.ctx, InventoryParams{Dir: "w"})),
			"a branch as base": errOf(r.PrepareWork(r.ctx, PrepareWorkParams{Orchestrator: 1, Generation: 1,
				Kind: "worktree", Base: "--upload-pack=x"})),
			"a directory above": errOf(r.PrepareWork(r.ctx, PrepareWorkParams{Orchestrator: 1, Generation: 1,
				Kind: "clone", Base: strings.Repeat("0", 40), Subdir: "../x"})),
		} {
			if codeOf(err) != -32602 {
				t.Errorf("%s: %v", what, err)
			}
		}
		r.end(t)
	})
}

// TestRemoteRefusals: the error says what to do about a bridge that cannot be used.
func TestRemoteRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		machine Machine
		change  func(*InitializeParams)
		code    int
		want    string
	}{
		"another version": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "1.5.0" },
			CodeVersion,
			"arbiter on the host is version 1.4.0, here it is 1.5.0; run there: go install " +
				"github.com/arbiter-cli/arbiter/cmd/arbiter@v1.5.0"},
		"another build": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "devel-0123456789ab" },
			CodeVersion, "cmd/arbiter@0123456789ab"},
		"an unknown build": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "devel" }, CodeVersion,
			"copy this program to the host"},
		"another protocol": {"test", &fakeMachine{}, func(p *InitializeParams) { p.ProtocolVersion = 1 }, CodeVersion,
			"protocol version"},
		"without --remote": {"test", nil, func(p *InitializeParams) {}, CodeUnsupported, "not started with --remote"},
		"without remote": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Remote = nil }, CodeUnsupported,
			"was started with --remote"},
		"no name": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Bridge = "" }, -32602,
			"bridge is missing"},
		"a name that is a path": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Bridge = "../x" }, -32602, "bridge"},
		"no lease": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Remote.LeaseMS = 0 }, -32602,
			"lease_ms"},
		"no CLI": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Claude.Path = "/missing" }, CodeClaude,
			"run on the host: npm install -g @anthropic-ai/claude-code"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				near, far := net.Pipe()
				served := make(chan error, 1)
				l := &fakeLauncher{detect: func(_ context.Context, spec ClaudeSpec) (ClaudeInfo, error) {
					if spec.Path == "/missing" {
						return ClaudeInfo{}, &RPCError{Code: CodeClaude, Category: CatClaudeMissing, Message: "none"}
					}
					return ClaudeInfo{}, nil
				}}
				server := NewServer(l, ServerOptions{Version: tc.version, Machine: tc.machine, Now: sinceStart()})
				go func() { served <- server.Serve(t.Context(), far) }()
				c := NewClient(near, &recorder{}, testLog(t))
				p := remoteParams()
				tc.change(&p)
				_, err := c.Initialize(t.Context(), p)
				if codeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v", err)
				}
				c.Close()
				<-served
			})
		})
	}
}

// TestHostilePeer: the client leaves a host that breaks the protocol, and reports how it did so.
func TestHostilePeer(t *testing.T) {
	event := func(n int, id string, generation int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"event","params":{"n":%d,"id":%q,"generation":%d,"event":"delta",`+
			`"text":"x"}}`, n, id, generation)
	}
	request := func(id, method, agent string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"id":%q,"generation":1,"tool":"Bash",`+
			`"input":{}}}`, id, method, agent)
	}
	for name, tc := range map[string]struct {
		script func(send func(string))
		want   string
	}{
		"an event again": {func(send func(string)) {
			send(event(1, "orch-1", 1))
			send(event(2, "orch-1", 1))
			send(event(1, "orch-1", 1))
		}, "the event with the number 1 came after number 2"},
		"an event without a number": {func(send func(string)) { send(event(0, "orch-1", 1)) },
			"number 0 came after number 0"},
		"another agent's event": {func(send func(string)) { send(event(1, "arbiter", 1)) }, `an event of "arbiter#1"`},
		"a later generation":    {func(send func(string)) { send(event(1, "orch-1", 2)) }, `an event of "orch-1#2"`},
		"another agent's tool call": {func(send func(string)) { send(request("c1", MethodToolCall, "arbiter")) },
			`a request of "arbiter#1"`},
		"another agent's permission": {func(send func(string)) { send(request("c1", MethodPermission, "orch-2")) },
			`a request of "orch-2#1"`},
		"another agent's judgement": {func(send func(string)) { send(request("c1", MethodJudge, "orch-2")) },
			`a request of "orch-2#1"`},
		"a request again": {func(send func(string)) {
			send(request("c7", MethodToolCall, "orch-1"))
			send(request("c7", MethodToolCall, "orch-1"))
		}, "the request c7 came again"},
		"a line without end": {func(send func(string)) {
			long := strings.Repeat("x", 1<<20)
			for range maxLine>>20 + 1 {
				send("\x00" + long) // then say adds no line end
			}
		}, "a line of more than"},
		"lines that are not messages": {func(send func(string)) {
			for range maxStray + 1 {
				send("Welcome to box!")
			}
		}, "lines that are not messages"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, send, _ := hostilePeer(t, func(*InitializeResult) {})
				testkit.Must(c.Initialize(t.Context(), remoteParams()))(t)
				testkit.Must(c.Spawn(t.Context(), spawnParams("orch-1", 1)))(t)
				go tc.script(send)
				<-c.Done()
				var broke *ViolationError
				if err := c.Err(); !errors.As(err, &broke) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("the connection ended with %v", err)
				}
			})
		})
	}
}

// TestFalseInitializeAnswer: the client does not believe a host's report about itself where it matters.
func TestFalseInitializeAnswer(t *testing.T) {
	for name, change := range map[string]func(*InitializeResult){
		"no remote":            func(r *InitializeResult) { r.Remote = nil },
		"another version":      func(r *InitializeResult) { r.Version = "another" },
		"a longer lease":       func(r *InitializeResult) { r.Remote.LeaseMS *= 2 },
		"no home":              func(r *InitializeResult) { r.Remote.Home = "" },
		"a relative directory": func(r *InitializeResult) { r.Remote.Dir = "srv" },
		"a directory with ..":  func(r *InitializeResult) { r.Remote.Dir = "/srv/../etc" },
		"a directory for a shell": func(r *InitializeResult) {
			r.Remote.Dir, r.Remote.Cache = "/srv/$(id)", "/srv/$(id)/cache"
		},
		"a cache elsewhere":  func(r *InitializeResult) { r.Remote.Cache = "/home/other/.git" },
		"a relative sandbox": func(r *InitializeResult) { r.Remote.Sandbox = "bwrap" },
		"a long tale":        func(r *InitializeResult) { r.Remote.Hostname = strings.Repeat("x", 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, _, _ := hostilePeer(t, change)
				_, err := c.Initialize(t.Context(), remoteParams())
				var broke *ViolationError
				if !errors.As(err, &broke) {
					t.Errorf("initialize: %v", err)
				}
				<-c.Done()
				if !errors.As(c.Err(), &broke) {
					t.Errorf("the connection ended with %v", c.Err())
				}
			})
		})
	}
}

// TestWorkOfAnotherRun: a branch or a directory that does not belong to the Orchestrator ends the connection.
func TestWorkOfAnotherRun(t *testing.T) {
	const branch, dir = "arbiter/01234567/orch-1.2", "/srv/far/01234567/orch-1"
	p := placed{strict: true}
	p.setWorkPlace("0123456789", "/srv/far")
	if err := p.work(1, branch, dir, dir+"/sub"); err != nil {
		t.Error(err)
	}
	for _, b := range []string{"", "main", "arbiter/01234567/main", "arbiter/01234567/orch-2.2",
		"arbiter/01234567/orch-11.2", "arbiter/ffffffff/orch-1.2", branch + "/x",
		branch + ":refs/heads/main", "arbiter/01234567/orch-1.+2"} {
		var broke *ViolationError
		if err := p.work(1, b, dir); !errors.As(err, &broke) {
			t.Errorf("branch %q: %v", b, err)
		}
	}
	for _, d := range []string{"", "/srv/far/01234567/orch-2", dir + "/../orch-2", "/srv/far/01234567", dir + "1"} {
		var broke *ViolationError
		if err := p.work(1, branch, d); !errors.As(err, &broke) {
			t.Errorf("directory %q: %v", d, err)
		}
	}
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		r.machine.foreign = "main"
		if _, err := r.CommitWork(r.ctx, CommitWorkParams{Orchestrator: 1, Message: "work"}); err == nil {
			t.Error("a foreign branch was taken")
		}
		<-r.Done()
		var broke *ViolationError
		if !errors.As(r.Err(), &broke) {
			t.Errorf("the connection ended with %v", r.Err())
		}
	})
}

// hostilePeer answers initialize, with false data, and spawn. say writes a line to the client.
func hostilePeer(t *testing.T, change func(*InitializeResult)) (c *Client, send func(string), far net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c = newClient(near, &recorder{}, testLog(t))
	c.contact.now = sinceStart()
	c.start()
	send = func(line string) {
		if rest, open := strings.CutPrefix(line, "\x00"); open {
			_, _ = far.Write([]byte(rest))
			return
		}
		_, _ = far.Write([]byte(line + "\n"))
	}
	go func() {
		lines := bufio.NewScanner(far)
		for lines.Scan() {
			var m struct {
				ID     string
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.Method == "" {
				continue
			}
			info, _ := (&fakeMachine{}).Begin(t.Context(), Owner{}, RemoteParams{})
			info.LeaseMS = 60_000
			result := InitializeResult{ProtocolVersion: ProtocolVersion, Version: "test", Remote: &info}
			change(&result)
			answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			if m.Method != MethodInitialize {
				answer, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": SpawnResult{}})
			}
			send(string(answer))
		}
	}()
	return c, send, far
}
