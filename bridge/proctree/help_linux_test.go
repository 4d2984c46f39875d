package proctree_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// The processes of a run as in production, except for the supervisor: an arbiter that starts a bridge, the
// bridge, and agents that may be fakes.
func init() {
	proctree.Roles["arbiter"] = func(args []string) { report(arbiter(args[0])) }
	proctree.Roles["bridge"] = func([]string) { report(serve()) }
	proctree.Roles["agent"] = agent
	proctree.Roles["escaped"] = func([]string) { ignoreSignals() }
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// plot is the behaviour of an arbiter in a test.
type plot struct {
	Run     string
	Mode    proctree.Mode
	Agents  int
	Claude  bridge.ClaudeSpec
	Config  bridge.AgentConfig
	Message string // one message to the first agent; after its turn the arbiter ends in order
	Lock    string // a file to lock
}

// state is the line that an arbiter prints when all are ready, or when the turn has ended.
type state struct {
	Isolation proctree.Kind
	Bridge    int // pids as seen from outside
	Turn      *bridge.Turn
	Results   []string
}

func (p plot) command(cmd *exec.Cmd) *exec.Cmd {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain data
	}
	cmd.Args = append(cmd.Args, string(raw))
	return cmd
}

func arbiter(arg string) error {
	var p plot
	if err := json.Unmarshal([]byte(arg), &p); err != nil {
		return err
	}
	cmd := proctree.Again(os.Args[0], "bridge")
	cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"), "TMPDIR="+os.Getenv("TMPDIR"))
	var s state
	s.Isolation = proctree.Isolate(context.Background(), cmd, p.Mode).Kind
	if p.Lock != "" {
		lock, err := os.Open(p.Lock)
		if err != nil {
			return err
		}
		proctree.InheritLock(cmd, lock)
	}
	turns := &turnHandler{turn: make(chan bridge.Turn, 1)}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := bridge.StartProcess(context.Background(), cmd, turns, log, proctree.Keep)
	if err != nil {
		return err
	}
	s.Bridge = cmd.Process.Pid
	if err := raise(c, p); err != nil {
		return err
	}
	if p.Message != "" {
		err := c.Message(context.Background(), bridge.MessageParams{AgentRef: ref(0), MessageID: uuid.NewString(),
			Content: p.Message})
		if err != nil {
			return err
		}
		turn := <-turns.turn
		s.Turn, s.Results = &turn, turns.results
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return err
	}
	if p.Message != "" {
		return c.Close()
	}
	<-c.Done()
	return c.Err()
}

func ref(i int) bridge.AgentRef {
	return bridge.AgentRef{ID: fmt.Sprintf("orch-%d", i), Generation: 1}
}

// raise starts all agents at once.
func raise(c *bridge.Client, p plot) error {
	if _, err := c.Initialize(context.Background(), bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "test", Run: p.Run, Claude: p.Claude}); err != nil {
		return err
	}
	spawned := make(chan error, p.Agents)
	for i := range p.Agents {
		config := p.Config
		config.SessionID = uuid.NewString()
		go func() {
			_, err := c.Spawn(context.Background(), bridge.SpawnParams{AgentRef: ref(i), Config: config})
			spawned <- err
		}()
	}
	for range p.Agents {
		if err := <-spawned; err != nil {
			return err
		}
	}
	return nil
}

// turnHandler keeps the results of the agents' tools until the first turn ends.
type turnHandler struct {
	results []string
	turn    chan bridge.Turn
}

func (h *turnHandler) Event(e bridge.Event) {
	switch body := e.Body.(type) {
	case bridge.ToolResult:
		h.results = append(h.results, body.Text)
	case bridge.Turn:
		h.turn <- body
	}
}

func (h *turnHandler) ToolCall(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{}, nil
}

func (h *turnHandler) Permission(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error) {
	return bridge.PermissionResult{Behavior: bridge.Allow}, nil
}

func (h *turnHandler) Judge(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// serve is `arbiter bridge`.
func serve() error {
	if _, err := proctree.EnterNamespace(); err != nil {
		return err
	}
	if err := proctree.HoldInheritedLock(); err != nil {
		return err
	}
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return bridge.NewServer(claude.NewLauncher(""), bridge.ServerOptions{}).Serve(ctx, bridge.Stdio())
}

// agent implements as much of the CLI's protocol as a start needs. After that it ignores signals,
// interrupts and the end of input, as do the two processes that escaped it, one of which bears no mark.
func agent(args []string) {
	if args[len(args)-1] == "--version" {
		fmt.Println("2.1.329 (Claude Code)")
		return
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for _, env := range [][]string{nil, {"HIDDEN=1"}} {
		cmd := exec.Command(os.Args[0], proctree.RoleArg, "escaped")
		cmd.SysProcAttr, cmd.Env = &syscall.SysProcAttr{Setsid: true}, env
		report(cmd.Start())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var l struct {
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
		}
		if json.Unmarshal(in.Bytes(), &l) == nil && l.Request.Subtype == "initialize" {
			fmt.Printf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"claude_code_version":"2.1.329"}}}`+"\n", l.RequestID)
		}
	}
	ignoreSignals()
}

func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	wait := make(chan os.Signal, 1)
	signal.Notify(wait, syscall.SIGUSR2)
	<-wait
}

// fakeAgents is a plot of n deaf agents.
func fakeAgents(dir, run string, mode proctree.Mode, n int) plot {
	return plot{
		Run: run, Mode: mode, Agents: n,
		Claude: bridge.ClaudeSpec{Path: os.Args[0], Args: []string{proctree.RoleArg, "agent"}},
		Config: bridge.AgentConfig{CWD: dir, Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}},
	}
}

// entry finds a variable in an environment as /proc shows it.
func entry(environ, name string) (value string, there bool) {
	for e := range strings.SplitSeq(environ, "\x00") {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
