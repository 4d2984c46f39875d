package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Check implements [bridge.EvidenceCollector]. Reaching the time limit is a result, not an error: TERM,
// KILL a second later, TimedOut.
func (w *Collector) Check(ctx context.Context, of bridge.Owner, p bridge.CheckParams) (bridge.CheckResult, error) {
	return w.CheckInto(ctx, of, p, io.Discard)
}

// CheckInto does the same, and copies all output to also.
func (w *Collector) CheckInto(
	ctx context.Context, of bridge.Owner, p bridge.CheckParams, also io.Writer,
) (bridge.CheckResult, error) {
	var none bridge.CheckResult
	select { // its time limit begins when it does
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	cmd := exec.Command(w.shell, "-c", p.Command)
	cmd.Dir = p.CWD
	cmd.Env = environ(os.Environ(), p.Env)
	begun := time.Now()
	output := &capture{sum: sha256.New(), end: make([]byte, 0, bridge.CheckOutputCap), max: bridge.CheckOutputCap}
	c, err := w.start(cmd, of, p.Sandbox, p.Scratch, io.MultiWriter(output, also), nil)
	if err != nil {
		return none, startError(w.shell, p.CWD, err)
	}
	cut := c.await(ctx, limitOf(p))
	took := time.Since(begun)
	left := c.sweep()
	switch {
	case left != nil:
		return none, left
	case cut != nil && !errors.Is(cut, errLimit):
		return none, cut
	}
	r := bridge.CheckResult{TimedOut: cut != nil, DurationMS: took.Milliseconds(),
		Bytes: output.bytes, SHA256: hex.EncodeToString(output.sum.Sum(nil)), Output: output.tail()}
	r.Exit, r.Signal = ending(c.child.State())
	return r, nil
}

func limitOf(p bridge.CheckParams) time.Duration {
	if p.TimeoutMS > 0 {
		return time.Duration(p.TimeoutMS) * time.Millisecond
	}
	return bridge.DefaultCheckTimeoutMS * time.Millisecond
}

// codeInvalidParams is a code of JSON-RPC.
const codeInvalidParams = -32602

// startError returns why a command could not be started; most often its directory does not exist. It says
// nothing about the claim that the command was to prove.
func startError(shell, cwd string, err error) error {
	if info, statErr := os.Stat(cwd); statErr != nil {
		return &bridge.RPCError{Code: codeInvalidParams,
			Message: fmt.Sprintf("the directory %s is not there: %v", cwd, statErr)}
	} else if !info.IsDir() {
		return &bridge.RPCError{Code: codeInvalidParams, Message: cwd + " is not a directory"}
	}
	return &bridge.RPCError{Code: bridge.CodeUnsupported,
		Message: fmt.Sprintf("no command can be run by %s: %v", shell, err)}
}
