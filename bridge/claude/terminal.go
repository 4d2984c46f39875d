package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/ptypair"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// typingTimeout is how long the program may take to read what was typed.
const typingTimeout = 10 * time.Second

// defaultTerm is the terminal type unless the caller names one.
const defaultTerm = "xterm-256color"

// terminal is one CLI in a pseudo-terminal, for a person. It has two goroutines: one reads the terminal;
// the other (superviseProcess) waits for the end and ends the program when requested.
type terminal struct {
	*driver.Process
	master  *os.File
	writing chan struct{} // holds a value while a caller writes: one at a time, in order
	last    []byte        // its last output; owned by the reader, and after that has ended by superviseProcess
}

const (
	shownBytes = 4 << 10 // kept of what a terminal shows
	shownLines = 3       // reported as the reason of a failure
)

func (l *Launcher) OpenPTY(ctx context.Context, of bridge.Owner, spec bridge.ClaudeSpec, p bridge.PTYOpenParams,
	host bridge.Host) (bridge.Terminal, error) {
	program, err := l.detect(ctx, spec)
	if err != nil {
		return nil, err
	}
	args, err := terminalArgs(p)
	if err != nil {
		return nil, err
	}
	env, err := l.environ(p.Config.Env)
	if err != nil {
		return nil, err
	}
	env = terminalEnv(env, p.Term)
	p.Config.Resume = true
	then, err := inspectHistory(ctx, env, bridge.SpawnParams{AgentRef: p.AgentRef, Config: p.Config})
	if err != nil {
		return nil, err
	}
	if !then.resumed {
		return nil, claudeError(bridge.CatResume, "session %s has no history that could be taken over",
			p.Config.SessionID)
	}
	cmd := command(program, args, p.Config.CWD, env)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := startTerminal(cmd, of, p, host, l.self)
	if err != nil {
		return nil, claudeError(bridge.CatStart, "open a terminal: %v", err)
	}
	return t, nil
}

// terminalArgs renders the configuration of an agent for a session that a person uses: without the parts
// that need the wire (our tools, verdicts, verdict hooks), and otherwise with the same tools, prompt and
// settings.
func terminalArgs(p bridge.PTYOpenParams) ([]string, error) {
	cfg := p.Config
	if err := check(cfg); err != nil {
		return nil, err
	}
	if cfg.PermissionMode == bridge.BypassPermissions {
		return nil, badConfig("permission mode %s: the person at the terminal is there to be asked",
			bridge.BypassPermissions)
	}
	merged, err := mergeSettings(settings(cfg, cfg.Rules), p.Settings)
	if err != nil {
		return nil, err
	}
	if len(cfg.SystemPrompt) > argLimit || len(cfg.AppendSystemPrompt) > argLimit || len(merged) > argLimit {
		return nil, badConfig("prompts and settings of a session in a terminal have to fit into an argument, %d bytes",
			argLimit)
	}
	cfg.Resume, cfg.JSONSchema, cfg.MCPTools, cfg.Hooks = true, nil, nil, nil
	cfg.Judged, cfg.Partial, cfg.MaxBudgetUSD = false, false, 0
	var t plan
	t.session(cfg, merged)
	return t.args, nil
}

// mergeSettings adds further settings of a session to ours. Ours take precedence, member by member.
func mergeSettings(ours, more string) (string, error) {
	if strings.TrimSpace(more) == "" {
		return ours, nil
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(more), &all); err != nil || all == nil {
		return "", badConfig("settings are not a JSON object")
	}
	own := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(ours), &own); err != nil {
		return "", badConfig("settings: %v", err)
	}
	maps.Copy(all, own)
	raw, err := json.Marshal(all)
	return string(raw), err
}

// terminalEnv returns the agent's environment, adapted to a terminal.
func terminalEnv(agent []string, term string) []string {
	env := proctree.EnvWithout(agent, "TERM", "LINES", "COLUMNS")
	return append(env, "TERM="+cmp.Or(term, defaultTerm))
}

func startTerminal(cmd *exec.Cmd, of bridge.Owner, p bridge.PTYOpenParams, host bridge.Host, self string) (
	*terminal, error) {
	master, slave, err := ptypair.Open(p.Cols, p.Rows)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	// The child gets its own session, with this terminal as its controlling terminal: the subreaper treats
	// Setsid as a process group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	t := &terminal{Process: driver.NewProcess(p.AgentRef, p.Config, host), master: master,
		writing: make(chan struct{}, 1)}
	if err := t.Start(cmd, of, p.Config.Sandbox, self); err != nil {
		master.Close()
		t.Cancel()
		return nil, err
	}
	var reads sync.WaitGroup
	reads.Go(t.read)
	go t.superviseProcess(&reads)
	return t, nil
}

// read passes on the output of the terminal. While the client does not read, read does not either, and the
// program waits.
func (t *terminal) read() {
	buf := make([]byte, bridge.PTYChunk)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			t.Emit(bridge.PTY{Data: append([]byte(nil), buf[:n]...)})
			t.last = append(t.last, buf[:n]...)
			t.last = t.last[max(len(t.last)-shownBytes, 0):]
		}
		if err != nil {
			return // EIO when the other end is closed, or superviseProcess stops reading
		}
	}
}

func (t *terminal) Write(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, typingTimeout)
	defer cancel()
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-t.Done():
		return t.over()
	case <-ctx.Done():
		return t.unread(0, len(data), ctx.Err())
	}
	if err := t.master.SetWriteDeadline(time.Time{}); err != nil {
		return t.over()
	}
	stop := context.AfterFunc(ctx, func() { _ = t.master.SetWriteDeadline(time.Now()) })
	n, err := t.master.Write(data)
	stop()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return t.unread(n, len(data), cmp.Or(ctx.Err(), err))
	case errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EIO), errors.Is(err, io.ErrClosedPipe):
		return t.over()
	}
	return fmt.Errorf("write to the terminal: %w", err)
}

func (t *terminal) over() error {
	return &bridge.RPCError{Code: bridge.CodeEnded, Message: "the terminal's program has ended"}
}

func (t *terminal) unread(n, of int, why error) error {
	if errors.Is(why, context.Canceled) {
		return why
	}
	return &bridge.RPCError{Code: bridge.CodeTimeout, Category: bridge.CatTimeout,
		Message: fmt.Sprintf("the terminal's program does not read: %d of %d bytes were taken", n, of)}
}

func (t *terminal) Resize(cols, rows int) error {
	err := ptypair.Resize(t.master, cols, rows)
	if err != nil && driver.IsClosed(t.Done()) {
		return t.over()
	}
	return err
}

func (t *terminal) Stop(ctx context.Context, now bool) error {
	if err := t.End(ctx, t.Child, now); err != nil {
		return fmt.Errorf("close the terminal: %w", err)
	}
	return nil
}

// superviseProcess waits for the end of the program, ends it when requested, and then reports the end. It
// alone emits done.
func (t *terminal) superviseProcess(reads *sync.WaitGroup) {
	expected := false
	select {
	case <-t.Child.Done():
	case <-t.Stopping:
		expected = true
		t.stopInSteps()
	}
	swept := t.Reap()
	t.Cancel()
	// Read the last output to its end, which comes unless the terminal is held open by a process that
	// arbiter must not end.
	_ = t.master.SetReadDeadline(time.Now().Add(drainGrace))
	reads.Wait()
	t.master.Close()
	exit := t.Exit(expected, swept)
	if exit.Code != 0 && !expected {
		exit.Stderr = t.shownLast()
	}
	t.Over(exit)
}

// shownLast returns the last lines of the output that are not blank, unchanged.
func (t *terminal) shownLast() string {
	var lines []string
	var keys jsonl.PrivateLines
	for line := range strings.Lines(string(t.last)) {
		if line = strings.TrimSpace(line); line != "" && !keys.Hides(line) {
			lines = append(lines, jsonl.Cut(line, driver.StderrLine))
		}
	}
	return strings.Join(lines[max(len(lines)-shownLines, 0):], "\n")
}

// stopInSteps ends the program: by HUP, as for a terminal that is closed, then by TERM.
func (t *terminal) stopInSteps() {
	t.Child.Remember() // before it is asked to end: its orphans are then known
	t.InSteps(t.Child, func() { driver.Terminate(t.Child, syscall.SIGHUP) })
}
