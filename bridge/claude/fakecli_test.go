package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// fakeArg makes the test binary a CLI that misbehaves as told: its mode says how
// it starts, and each message's content is a program of one step per line.
//
//	out JSON       write a frame; $U is the message's uuid
//	raw TEXT       write a line as it is
//	half TEXT      write it without a line end
//	long N         write a line of N bytes
//	expect TEXT    read lines until one contains TEXT
//	stderr N       write N lines to stderr
//	orphan         start a process in a session of its own
//	stranger       the same, without a mark in its environment
//	close          close stdout
//	close-stdin    close stdin, and continue with the steps
//	deaf           read no more
//	exit N         end
const fakeArg = "fake-claude-cli"

const (
	fakeGood     = "good"
	fakeSilent   = "silent"   // never answers initialize
	fakeStubborn = "stubborn" // answers it, then ignores signals, interrupts and the end of input
	fakeDies     = "dies"     // before initialize
	fakeOld      = "old"      // an old version
	fakeNonsense = "nonsense" // no version at all
	fakeRefuses  = "refuses"  // answers control requests but initialize with an error
	fakeMute     = "mute"     // ... or not at all
	fakeCounts   = "counts"   // always reports a context of 777 tokens, and costs of $0.50
	fakeSwitches = "switches" // calls a tool in the new mode before it answers set_permission_mode
)

func fakeSpec(t *testing.T, mode string) bridge.ClaudeSpec {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	return bridge.ClaudeSpec{Path: self, Args: []string{fakeArg, mode}}
}

// fake launches a fake CLI.
func fake(t *testing.T, mode string) *stageOf {
	t.Helper()
	return prepare(t, fakeSpec(t, mode), nil).launch()
}

type fakeProcess struct {
	mode string
	in   *bufio.Reader
}

// next reads a line of stdin, "" at its end.
func (p *fakeProcess) next() string {
	line, _ := p.in.ReadString('\n')
	return line
}

func fakeCLI(args []string) int {
	mode := args[0]
	switch args[len(args)-1] {
	case "--version":
		return fakeVersion(mode)
	case "orphan":
		fmt.Println("up")
		hang()
	}
	if mode == fakeDies {
		fmt.Fprintln(os.Stderr, "error: unknown option '--nonsense'")
		return 1
	}
	if mode == fakeStubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	}
	p := &fakeProcess{mode: mode, in: bufio.NewReader(os.Stdin)}
	for line := p.next(); line != ""; line = p.next() {
		p.line(line)
	}
	if mode == fakeStubborn {
		hang()
	}
	return 0
}

func fakeVersion(mode string) int {
	switch mode {
	case fakeOld:
		fmt.Println("2.1.113 (Claude Code)")
	case fakeNonsense:
		fmt.Println("hello")
	default:
		fmt.Println("2.1.329 (Claude Code)")
	}
	return 0
}

type fakeLine struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	RequestID string `json:"request_id"`
	Message   struct {
		Content string `json:"content"`
	} `json:"message"`
	Request struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
	} `json:"request"`
}

func (p *fakeProcess) line(text string) {
	var l fakeLine
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		os.Exit(1) // as the real one does
	}
	switch l.Type {
	case "control_request":
		p.control(l)
	case "user":
		for step := range strings.Lines(strings.ReplaceAll(l.Message.Content, "$U", l.UUID)) {
			p.step(strings.TrimSpace(step))
		}
	}
}

func (p *fakeProcess) control(l fakeLine) {
	payload := map[string]any{}
	switch {
	case l.Request.Subtype == "initialize" && p.mode == fakeSilent:
		return
	case l.Request.Subtype == "initialize":
		payload["claude_code_version"] = "2.1.329"
	case p.mode == fakeMute, p.mode == fakeStubborn && l.Request.Subtype == "interrupt":
		return
	case p.mode == fakeRefuses:
		out(map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "error", "request_id": l.RequestID, "error": "not today", "error_code": "unsupported_request"}})
		return
	case l.Request.Subtype == "set_permission_mode" && p.mode == fakeSwitches:
		p.step(fmt.Sprintf(`out {"type":"control_request","request_id":"j","request":{"subtype":"hook_callback",`+
			`"callback_id":"arbiter-judge","input":{"hook_event_name":"PreToolUse","tool_name":"Read",`+
			`"permission_mode":%q}}}`, l.Request.Mode))
		p.step(`expect "request_id":"j","response":{}`)
	case l.Request.Subtype == "get_context_usage":
		payload = p.context()
	case l.Request.Subtype == "get_usage" && p.mode == fakeCounts:
		payload["session"] = map[string]any{"model_usage": map[string]any{"m": map[string]any{"costUSD": 0.5}}}
	}
	out(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": l.RequestID, "response": payload}})
}

func (p *fakeProcess) context() map[string]any {
	payload := map[string]any{"totalTokens": 10, "rawMaxTokens": 1000, "autoCompactThreshold": 1000,
		"isAutoCompactEnabled": true}
	if p.mode == fakeCounts {
		payload["apiUsage"] = map[string]any{"input_tokens": 700, "cache_read_input_tokens": 77,
			"cache_creation_input_tokens": 0}
	}
	return payload
}

func out(v any) {
	data, _ := json.Marshal(v)
	fmt.Println(string(data))
}

func (p *fakeProcess) step(step string) {
	verb, rest, _ := strings.Cut(step, " ")
	n, _ := strconv.Atoi(rest)
	switch verb {
	case "out", "raw":
		fmt.Println(rest)
	case "half":
		fmt.Print(rest)
	case "long":
		fmt.Println(strings.Repeat("x", n))
	case "expect":
		for line := p.next(); line != ""; line = p.next() {
			if strings.Contains(line, rest) {
				return
			}
		}
		os.Exit(9)
	case "stderr":
		for i := range n {
			fmt.Fprintf(os.Stderr, "trouble %d %s\n", i, strings.Repeat("!", 100))
		}
	case "orphan":
		orphan(os.Environ())
	case "stranger":
		orphan([]string{})
	case "close":
		_ = os.Stdout.Close()
	case "close-stdin":
		_ = os.Stdin.Close()
	case "deaf":
		hang()
	case "exit":
		os.Exit(n)
	}
}

// hang blocks forever. An empty select would be reported as a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// orphan leaves a process in a session of its own that holds our stdout and stderr, and returns when it
// runs.
func orphan(env []string) {
	cmd := exec.Command(os.Args[0], fakeArg, "orphan")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr, cmd.Env = os.Stderr, env
	up, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.Exit(8)
	}
	_, _ = up.Read(make([]byte, 2))
}

// Frames of a plain turn.
const (
	fakeStarted = `out {"type":"command_lifecycle","command_uuid":"$U","state":"started"}` + "\n"
	fakeResult  = `out {"type":"result","subtype":"success","is_error":false,"result":"fine",` +
		`"terminal_reason":"completed","user_message_uuids":["$U"],` +
		`"total_cost_usd":0.5,"model_usage_since_last_result":{"m":{"costUSD":0.5}}}` + "\n"
	fakeTurn = fakeStarted + fakeResult
)
