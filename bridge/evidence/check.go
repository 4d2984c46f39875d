package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
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
	output := &capture{sum: sha256.New(), max: bridge.CheckOutputCap + utf8.UTFMax} // so that tail sees whether it cuts
	c, err := w.start(cmd, of, p.Sandbox, p.Scratch, io.MultiWriter(output, also))
	if err != nil {
		return none, startError(w.shell, p.CWD, err)
	}
	cut := c.await(ctx, p.Limit())
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

// capture counts and hashes all output, and keeps the end of it.
type capture struct {
	sum   hash.Hash
	bytes int64
	end   []byte // a ring of the last bytes, once it is full
	at    int    // where the next byte goes then
	max   int
}

func (c *capture) Write(p []byte) (int, error) {
	written := len(p)
	c.sum.Write(p)
	c.bytes += int64(len(p))
	if len(p) > c.max {
		p = p[len(p)-c.max:]
	}
	space := min(c.max-len(c.end), len(p))
	c.end = append(c.end, p[:space]...)
	for p = p[space:]; len(p) > 0; {
		n := copy(c.end[c.at:], p)
		p = p[n:]
		c.at = (c.at + n) % c.max
	}
	return written, nil
}

// tail returns the end as valid UTF-8; bytes that are not text are shown as such.
func (c *capture) tail() string {
	raw := append(append(make([]byte, 0, len(c.end)), c.end[c.at:]...), c.end[:c.at]...)
	return jsonl.CutFront(strings.ToValidUTF8(string(raw), string(utf8.RuneError)), bridge.CheckOutputCap)
}

// Variables a check does not get, in upper or lower case: those that open the model's API, a cloud or a
// collector of traces, and those that control how an agent is run. A check needs none of them, and its
// output is shown.
var (
	secretPrefixes = []string{"ANTHROPIC_", "AWS_", "GOOGLE_", "CLAUDE_CODE_", "OTEL_"}
	secretSuffixes = []string{"_TOKEN", "_API_KEY"}
	secretNames    = []string{"TOKEN", "API_KEY"}
	// Variables of proctree: a command that bore the mark of another owner would be ended with that owner's
	// processes.
	reservedPrefix = "ARBITER_"
)

// environ returns the environment of a check: the variables that agents may inherit, those that are added for
// this check, and no secrets of either.
func environ(inherited []string, extra map[string]string) []string {
	env := proctree.EnvFrom(inherited, extra)
	maps.DeleteFunc(env, func(name, _ string) bool { return secret(name) || strings.HasPrefix(name, reservedPrefix) })
	return proctree.EnvList(env)
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
