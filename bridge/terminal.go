package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Bounds of a terminal's traffic.
const (
	// PTYChunk is the most that one `pty` event carries, in bytes.
	PTYChunk = 32 << 10
	// MaxPTYWrite is the most that one pty_write carries, in bytes.
	MaxPTYWrite = 256 << 10
	maxPTYSize  = 10_000 // columns, rows
	maxTerm     = 64     // bytes of a terminal's name
)

// Terminal is a session in a terminal. Methods are safe for concurrent use.
type Terminal interface {
	Session
	// Write passes on what was typed, complete and in the order of the calls. It waits while the program
	// does not read, at most until ctx ends.
	Write(ctx context.Context, data []byte) error
	// Resize sets the size in cells; the kernel signals the program.
	Resize(cols, rows int) error
}

func (c *conversation) openPTY(ctx context.Context, p PTYOpenParams) (PTYOpenResult, error) {
	inc, err := c.agents.claim(p.AgentRef, p.Config.SessionID)
	if err != nil {
		return PTYOpenResult{}, err
	}
	p.Config.Env = c.passed(p.Config.Env)
	terminal, err := inc.start(ctx, p.Config.StartTimeout(), func(ctx context.Context) (Session, error) {
		return c.launcher.OpenPTY(ctx, c.owner, c.spec, p, inc.host)
	})
	if err != nil {
		return PTYOpenResult{}, err
	}
	info := terminal.Info()
	return PTYOpenResult{PID: info.PID, Argv: info.Argv, CWD: info.CWD, Sandbox: info.Sandbox}, nil
}

// onTerminal makes a handler from a function on an open terminal.
func onTerminal[P interface{ ref() AgentRef }](c *conversation,
	serve func(context.Context, Terminal, P) error) handlerFunc {
	return onSession(c, func(ctx context.Context, s Session, p P) (Empty, error) {
		t, ok := s.(Terminal)
		if !ok {
			return Empty{}, rpcErrorf(CodeRefused, fmt.Sprintf("%s has no terminal", p.ref()))
		}
		return Empty{}, serve(ctx, t, p)
	})
}

func (p PTYOpenParams) check() error {
	if len(p.Term) > maxTerm ||
		strings.ContainsFunc(p.Term, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' || r == '=' }) {
		return fmt.Errorf("term is not a terminal's name: %.100q", p.Term)
	}
	return cmp.Or(p.Config.check(), checkPTYSize(p.Cols, p.Rows))
}

func (p PTYWriteParams) check() error {
	switch n := len(p.Data); {
	case n == 0:
		return errors.New("data is missing")
	case n > MaxPTYWrite:
		return fmt.Errorf("data is longer than %d bytes", MaxPTYWrite)
	}
	return nil
}

func (p PTYResizeParams) check() error {
	return checkPTYSize(p.Cols, p.Rows)
}

func checkPTYSize(cols, rows int) error {
	if cols < 1 || cols > maxPTYSize || rows < 1 || rows > maxPTYSize {
		return fmt.Errorf("a terminal has 1 to %d columns and rows, not %d by %d", maxPTYSize, cols, rows)
	}
	return nil
}

// PTYOpen opens an agent's session in a terminal. Its output comes as `pty` events, its end as `done`.
// After an error that is not an *RPCError it may be open: PTYClose it.
func (c *Client) PTYOpen(ctx context.Context, p PTYOpenParams) (PTYOpenResult, error) {
	if c != nil {
		c.placed.add(p.AgentRef)
	}
	return call[PTYOpenResult](ctx, c, MethodPTYOpen, p)
}

// PTYWrite passes on what was typed. The caller must wait for the answer before the next call; otherwise
// the order is undefined.
func (c *Client) PTYWrite(ctx context.Context, p PTYWriteParams) error {
	_, err := call[Empty](ctx, c, MethodPTYWrite, p)
	return err
}

// PTYResize sets the size of the terminal.
func (c *Client) PTYResize(ctx context.Context, p PTYResizeParams) error {
	_, err := call[Empty](ctx, c, MethodPTYResize, p)
	return err
}

// PTYClose ends a terminal. Its `done` event has been handled when PTYClose returns.
func (c *Client) PTYClose(ctx context.Context, ref AgentRef) error {
	_, err := call[Empty](ctx, c, MethodPTYClose, PTYCloseParams{ref})
	return err
}

// PTYOpenParams opens a session of the CLI in a terminal of the bridge, for a human:
// `claude --resume`. No other process may use the session. The generation is the agent's
// next one. `kill` and `shutdown` treat the terminal like any other agent.
type PTYOpenParams struct {
	AgentRef
	// Config is the agent's configuration. The bridge leaves out what only a supervised process
	// has: verdicts, Arbiter's tools, partial text.
	Config AgentConfig `json:"config"`
	// Settings is JSON for the CLI's --settings: hooks that ask the running arbiter.
	Settings string `json:"settings,omitempty"`
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Term     string `json:"term,omitempty"` // the variable TERM; empty: xterm-256color
}

// PTYOpenResult says that the session is running.
type PTYOpenResult struct {
	PID int `json:"pid"`
	// Argv, CWD and Sandbox are as in SpawnResult.
	Argv    []string `json:"argv,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	Sandbox bool     `json:"sandbox,omitempty"`
}

// PTYWriteParams is what the human types.
type PTYWriteParams struct {
	AgentRef
	Data []byte `json:"data"` // base64
}

// PTYResizeParams is the size of the human's terminal, in cells.
type PTYResizeParams struct {
	AgentRef
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// PTYCloseParams ends the terminal's process in steps (SIGHUP, TERM, KILL and sweep).
// The result comes when all of its processes have ended.
type PTYCloseParams struct{ AgentRef }
