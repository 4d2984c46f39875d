package subcommands

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/evidence"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// commandLimit bounds a command; that of an acceptance criterion of a run is the same.
const commandLimit = 30 * time.Minute

// Bench runs commands on a checkout, in a sandbox on a copy of it: nothing that they do leaves the copy, they have no
// network, and see no files with credentials.
type Bench struct {
	Confined bool // false: in the checkout itself, without a sandbox
	Env      map[string]string

	config *bridge.SandboxConfig
	checks *evidence.Collector
	owner  bridge.Owner
}

// NewBench returns a bench whose sandbox holds, as a probe found that tried to break out of it in dir. self is the
// program that becomes the probe; hide are directories that commands must not see. The error says why there is none.
func NewBench(ctx context.Context, dir, self string, hide ...string) (*Bench, error) {
	program, err := sandbox.Find()
	if err != nil {
		return nil, err
	}
	b := Unconfined()
	b.Confined = true
	b.config = &bridge.SandboxConfig{Program: program, Hide: hide, Network: bridge.NetworkNone}
	result, err := sandbox.Verify(ctx, *b.config, sandbox.Place{CWD: dir, Self: []string{self, sandbox.ProbeCommand},
		Env: proctree.EnvList(proctree.EnvFrom(os.Environ(), nil)), Mark: proctree.Mark{Run: b.owner.Run, Agent: "canary"}})
	switch {
	case err != nil:
		return nil, err
	case !result.Holds:
		return nil, errors.New(result.Reason)
	case !result.Scratch:
		return nil, errors.New(result.ScratchReason)
	}
	return b, nil
}

// Unconfined returns a bench without a sandbox.
func Unconfined() *Bench {
	return &Bench{checks: evidence.New(nil), owner: bridge.Owner{Run: "proof-" + rand.Text()}}
}

// Outcome is what a command did. Steady is the SHA-256 of its output with times replaced.
type Outcome struct {
	bridge.CheckResult
	Steady string
}

// Run runs a command in a directory.
func (b *Bench) Run(ctx context.Context, command, dir string) (Outcome, error) {
	steady := &steadyHash{sum: sha256.New()}
	r, err := b.checks.CheckInto(ctx, b.owner, bridge.CheckParams{Command: command, CWD: dir, Env: b.Env,
		TimeoutMS: int(commandLimit / time.Millisecond), Sandbox: b.config, Scratch: b.Confined}, steady)
	return Outcome{r, steady.digest()}, err
}

// Receipt makes a receipt from two runs of a command on the same files in different directories.
func (c Claim) Receipt(tree string, first, second Outcome) Receipt {
	r := Receipt{Claim: c, Exit: first.Exit, SHA256: first.SHA256, Tree: tree}
	switch {
	case first.Steady != second.Steady:
		r.Output = Varies
	case first.SHA256 != first.Steady: // it has times, even if they were the same by chance
		r.Output, r.Steady = Timed, first.Steady
	default:
		r.Output = Same
	}
	return r
}

// Repeats compares what a command did with its receipt. Error: [*Mismatch].
func (r Receipt) Repeats(o Outcome) error {
	switch {
	case o.TimedOut:
		return mismatch("exit code", "it did not end in %s, and the receipt has exit code %d", commandLimit, r.Exit)
	case o.Exit != r.Exit:
		return mismatch("exit code", "it is %d, and the receipt has %d", o.Exit, r.Exit)
	case r.Output == Varies:
		return nil
	case r.Output == Timed && o.Steady != r.Steady:
		return mismatch("output", "its SHA-256 without times is %s, and the receipt has %s", o.Steady, r.Steady)
	case r.Output == Same && o.SHA256 != r.SHA256:
		return mismatch("output", "its SHA-256 is %s, and the receipt has %s", o.SHA256, r.SHA256)
	case r.Output != Timed && r.Output != Same:
		return mismatch("note", "output %.20q is not known", r.Output)
	}
	return nil
}

// times are what differs each time a command runs: durations, times of day, dates, and what go test prints for one.
var times = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(cached\)|\b[0-9]+(?:[.,][0-9]+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?)\b|` +
		`\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b`)
})

// maxSteadyLine is the most of a line that is looked at as one, in bytes.
const maxSteadyLine = 64 << 10

// steadyHash hashes an output with each time replaced by the same word. Without times it is the hash of the output.
type steadyHash struct {
	sum  hash.Hash
	line []byte
}

var _ io.Writer = (*steadyHash)(nil)

func (h *steadyHash) Write(p []byte) (int, error) {
	for _, c := range p {
		h.line = append(h.line, c)
		if c == '\n' || len(h.line) >= maxSteadyLine {
			h.flush()
		}
	}
	return len(p), nil
}

func (h *steadyHash) flush() {
	h.sum.Write(times().ReplaceAll(h.line, []byte("TIME")))
	h.line = h.line[:0]
}

func (h *steadyHash) digest() string {
	h.flush()
	return hex.EncodeToString(h.sum.Sum(nil))
}
