package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients/acpschema"
)

// acpEditor is a client of the Agent Client Protocol with its own agent. It checks each message in both
// directions against the published schema.
type acpEditor struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	checker *acpschema.Checker
	session string
	late    time.Duration // how long a message may take

	mu     sync.Mutex
	next   int
	got    []acpMessage
	change chan struct{} // capacity 1
	ended  chan struct{}
}

// acpMessage is a message from the agent.
type acpMessage struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// edits starts `arbiter acp` in the abode, with flags for its runs, and negotiates the editor's capabilities.
func (h *testHome) edits(capabilities string, args ...string) *acpEditor {
	h.t.Helper()
	checker, err := acpschema.New(strings.Contains(capabilities, "subagents"))
	if err != nil {
		h.t.Fatal(err)
	}
	e := &acpEditor{t: h.t, checker: checker, late: waitTimeout, change: make(chan struct{}, 1),
		ended: make(chan struct{})}
	e.cmd = exec.Command("arbiter", append([]string{"acp", "--"}, args...)...)
	e.cmd.Env, e.cmd.Dir = h.env, h.work
	var errs shared
	e.cmd.Stderr = &errs
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	go e.read(out)
	h.t.Cleanup(func() {
		_ = e.in.Close()
		<-e.ended
		_ = e.cmd.Wait()
		if text := errs.String(); text != "" {
			h.t.Logf("stderr: %s", text)
		}
	})
	e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
	return e
}

func (e *acpEditor) read(out io.Reader) {
	defer close(e.ended)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m acpMessage
		if err := e.checker.Check(true, line); err != nil {
			e.t.Errorf("the agent sent: %v", err)
		} else if err := json.Unmarshal(line, &m); err != nil {
			e.t.Error(err)
		}
		e.mu.Lock()
		e.got = append(e.got, m)
		e.mu.Unlock()
		select {
		case e.change <- struct{}{}:
		default:
		}
	}
}

func (e *acpEditor) write(line string) {
	e.t.Helper()
	if err := e.checker.Check(false, []byte(line)); err != nil {
		e.t.Fatalf("the editor sent: %v", err)
	}
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

// ask sends a request and returns its id.
func (e *acpEditor) ask(method, params string) int {
	e.t.Helper()
	e.next++
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.next, method, params))
	return e.next
}

// answer waits for the answer to a request.
func (e *acpEditor) answer(id int) acpMessage {
	e.t.Helper()
	return e.sees(0, fmt.Sprintf("answer %d", id), func(m acpMessage) bool {
		return m.Method == "" && m.ID != nil && *m.ID == id
	})
}

func (e *acpEditor) call(method, params string) json.RawMessage {
	e.t.Helper()
	m := e.answer(e.ask(method, params))
	if m.Error != nil {
		e.t.Fatalf("%s: %+v", method, *m.Error)
	}
	return m.Result
}

// refuses expects that a request is refused.
func (e *acpEditor) refuses(method, params, why string) {
	e.t.Helper()
	if m := e.answer(e.ask(method, params)); m.Error == nil || !strings.Contains(m.Error.Message, why) {
		e.t.Errorf("%s %s: %s %+v, want %q", method, params, m.Result, m.Error, why)
	}
}

// sees waits for a message from the agent that fits. It skips the first from messages.
func (e *acpEditor) sees(from int, what string, fits func(acpMessage) bool) acpMessage {
	e.t.Helper()
	late := time.After(e.late)
	for {
		e.mu.Lock()
		got := slices.Clone(e.got)
		e.mu.Unlock()
		if i := slices.IndexFunc(got[min(from, len(got)):], fits); i >= 0 {
			return got[min(from, len(got))+i]
		}
		select {
		case <-e.change:
		case <-e.ended:
			e.t.Fatalf("the agent ended without %s", what)
		case <-late:
			e.t.Fatalf("no %s in\n%s", what, e.dump(got))
		}
	}
}

func (e *acpEditor) dump(got []acpMessage) string {
	var b strings.Builder
	for _, m := range got {
		fmt.Fprintf(&b, "%s %s%s %v\n", m.Method, m.Params, m.Result, m.Error)
	}
	return b.String()
}

// count returns the number of messages received so far.
func (e *acpEditor) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.got)
}

// opens opens a session in the directory.
func (e *acpEditor) opens(h *testHome) {
	e.t.Helper()
	var r struct{ SessionID string }
	if err := json.Unmarshal(e.call("session/new", `{"cwd":"`+h.work+`","mcpServers":[]}`), &r); err != nil {
		e.t.Fatal(err)
	}
	e.session = r.SessionID
}

func (e *acpEditor) prompt(text string) int {
	e.t.Helper()
	return e.ask("session/prompt",
		fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, e.session, text))
}

// stops waits for the end of a prompt and checks why it came.
func (e *acpEditor) stops(id int, want string) {
	e.t.Helper()
	m := e.answer(id)
	if m.Error != nil || string(m.Result) != `{"stopReason":"`+want+`"}` {
		e.t.Fatalf("prompt %d ended with %s %+v, want %s", id, m.Result, m.Error, want)
	}
}

// permission waits for a permission request among the messages from number from on.
func (e *acpEditor) permission(from int) acpMessage {
	e.t.Helper()
	return e.sees(from, "request for permission", func(m acpMessage) bool {
		return m.Method == "session/request_permission"
	})
}

// permits answers a permission request; an empty option cancels it.
func (e *acpEditor) permits(m acpMessage, option string) {
	e.t.Helper()
	outcome := `{"outcome":"selected","optionId":"` + option + `"}`
	if option == "" {
		outcome = `{"outcome":"cancelled"}`
	}
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":%s}}`, *m.ID, outcome))
}

// cancels cancels the session's current prompt.
func (e *acpEditor) cancels(session string) {
	e.t.Helper()
	e.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + session + `"}}`)
}

// transcript lists the updates from message number from on. It leaves out the human's messages, which a live
// editor shows without an update, and updates that are not part of the history.
func (e *acpEditor) transcript(from int) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, m := range e.got[from:] {
		var p struct {
			Update struct{ SessionUpdate string }
		}
		if m.Method != "session/update" || json.Unmarshal(m.Params, &p) != nil {
			continue
		}
		switch p.Update.SessionUpdate {
		case "user_message_chunk", "notice", "current_mode_update", "config_option_update":
		default:
			list = append(list, string(m.Params))
		}
	}
	return list
}

// loads loads the session of another editor and returns the updates that this showed.
func (e *acpEditor) loads(h *testHome, session string) []string {
	e.t.Helper()
	e.session = session
	from := e.count()
	e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, session, h.work))
	return e.transcript(from)
}

// killed kills the process of a run that waits for an answer, once the event log has the question: events from
// the last moment before a kill reach the log only when the run is resumed.
func (h *testHome) killed(run string) {
	h.t.Helper()
	late := time.After(waitTimeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(h.output("replay", run), `"event":"question"`) {
		select {
		case <-tick.C:
		case <-late:
			h.t.Fatal("the event log has no question")
		}
	}
	if err := syscall.Kill(h.hosts()[0], syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	awaitGone(h.t, run)
}
