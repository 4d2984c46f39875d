package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// probeTimeout bounds a probe; it takes 20 ms.
const (
	probeTimeout = 20 * time.Second
	outputCap    = 1 << 20
)

// Place is the process environment in which an agent would be confined.
type Place struct {
	CWD  string
	Env  []string // NAME=value, as the agent's process gets it
	Mark proctree.Mark
	Self []string // the program that becomes a probe, with its arguments
}

// Verify runs a probe in the sandbox of cfg and reports whether it holds. If it does not hold, or is not
// available, that is a result, not an error.
func Verify(ctx context.Context, cfg bridge.SandboxConfig, p Place) (bridge.SandboxResult, error) {
	v, err := version(ctx, cfg.Program)
	if err != nil {
		return bridge.SandboxResult{Version: v, Reason: err.Error()}, ctx.Err()
	}
	r := bridge.SandboxResult{Version: v}
	if err := try(ctx, cfg, p, false); err != nil {
		r.Reason = err.Error()
		return r, ctx.Err()
	}
	r.Holds = true
	if cfg.Isolated() {
		o, err := optionsOf(p.Env, cfg, Gate{})
		if err != nil {
			return r, err
		}
		for _, rule := range o.Rules {
			r.Hosts = append(r.Hosts, rule.String())
		}
	}
	if err := try(ctx, cfg, p, true); err != nil {
		r.ScratchReason = err.Error()
		return r, ctx.Err()
	}
	r.Scratch = true
	return r, nil
}

// try runs a probe in the sandbox, or in a scratch copy, and returns why that does not hold.
func try(ctx context.Context, cfg bridge.SandboxConfig, p Place, scratch bool) error {
	cmd := exec.Command(p.Self[0], p.Self[1:]...)
	cmd.Dir, cmd.Env = p.CWD, p.Env
	expected := cfg
	var m mounts
	var copies []string
	var err error
	if scratch {
		expected.Network = bridge.NetworkNone // whatever agents reach, a copy reaches nothing
		m, copies, err = scratchPlan(cmd, cfg)
	} else {
		m, err = plan(cmd, cfg)
	}
	if err != nil {
		return err
	}
	b := newProbePlan(m, cmd, expected)
	defer b.remove()
	if scratch {
		b.inCopies(copies, cmd.Dir)
	}
	output, err := run(ctx, cmd, func() (child *proctree.Child, release func(), err error) {
		if scratch {
			child, err = StartScratch(cmd, p.Mark, cfg)
			return child, func() {}, err
		}
		return Start(cmd, p.Mark, &cfg, &Gate{Self: p.Self[0]})
	}, b.task)
	if err != nil {
		return err
	}
	return b.verify(output, expected)
}

// run runs the probe to its end, and ends all its processes.
func run(ctx context.Context, cmd *exec.Cmd, start func() (*proctree.Child, func(), error), e probeTask) (
	probeReport, error) {
	var f probeReport
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	order, err := json.Marshal(e)
	if err != nil {
		return f, err
	}
	out, complaints := &git.Head{Max: outputCap}, &git.Head{Max: outputCap}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), out, complaints
	child, release, err := start()
	if err != nil {
		return f, fmt.Errorf("bubblewrap does not start: %w", err)
	}
	defer release()
	select {
	case <-child.Done():
	case <-ctx.Done():
	}
	if _, err := child.KillNow(); err != nil {
		return f, err
	}
	if ctx.Err() != nil {
		return f, errors.New("the probe did not end")
	}
	if err := child.Wait(); err != nil {
		return f, fmt.Errorf("bubblewrap cannot confine here (%w): %s", err,
			strings.TrimSpace(jsonl.Cut(string(complaints.Data), 500)))
	}
	if err := json.Unmarshal(out.Data, &f); err != nil || f.Nonce != e.Nonce {
		return f, errors.New("the probe was not run: the program that should run it reported nothing")
	}
	return f, nil
}

// verify compares the probe's report with what is observed from outside.
func (b *probePlan) verify(f probeReport, cfg bridge.SandboxConfig) error {
	for _, kind := range namespaces {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		switch its := f.Namespaces[kind]; {
		case err != nil:
			return fmt.Errorf("our own namespace cannot be read: %w", err)
		case (its == "" || its == ours) && (kind != "net" || cfg.Isolated()):
			return fmt.Errorf("the probe ran in no namespace of its own (%s)", kind)
		}
	}
	switch {
	case strings.Trim(f.Capabilities, "0") != "" || f.Capabilities == "":
		return fmt.Errorf("capabilities are left inside: %q", f.Capabilities)
	case len(strings.Fields(f.Pids)) != 1:
		return errors.New("the processes outside can be seen by /proc inside")
	case b.task.Proxy != "" && f.Proxied != http.StatusForbidden:
		return fmt.Errorf("the network cannot be limited: Arbiter's proxy answers %d inside", f.Proxied)
	case f.NoNewPrivs != "1":
		return errors.New("programs could gain privileges inside")
	}
	if len(f.Did) != len(b.task.Tries) {
		return errors.New("the probe did not try everything")
	}
	for i, a := range b.task.Tries {
		did, dir := f.Did[i], filepath.Dir(a.Path)
		switch {
		case a.Does == read && did:
			return fmt.Errorf("%s is readable inside", a.Path)
		case a.Does == connect && did:
			return fmt.Errorf("%s can be connected to inside", a.Path)
		case a.Does != write:
			continue
		}
		text, err := os.ReadFile(a.Path)
		switch {
		case a.want == must && (!did || string(text) != b.task.Nonce):
			return fmt.Errorf("%s cannot be written to inside", dir)
		case a.want == mustNot && (did || err == nil):
			return fmt.Errorf("%s can be written to inside", dir)
		case a.want == unseen && (!did || err == nil):
			return fmt.Errorf("%s is not private inside", dir)
		}
	}
	if f.Kernel {
		return errors.New("settings of the kernel could be written inside")
	}
	return nil
}

// Name is the program that makes the sandbox.
const Name = "bwrap"

// leastMinor is the first minor version of version 0 that has all options that are used.
const leastMinor = 3

const versionTimeout = 10 * time.Second

// Find looks for bubblewrap on PATH. Its error says what to do.
func Find() (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("bubblewrap is for Linux alone")
	}
	path, err := exec.LookPath(Name)
	if err != nil {
		return "", errors.New("bubblewrap is not installed (apt-get install bubblewrap, or your system's package of " +
			"that name)")
	}
	return filepath.Abs(path)
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^bubblewrap (\d+)\.(\d+)(\.\d+)?\s*$`)
})

// answerTo returns what the program answers to an option.
func answerTo(ctx context.Context, program, option string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, option)
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	out := &git.Head{Max: outputCap}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, option, err)
	}
	return out.Data, nil
}

// holding has, for each program that was asked, whether it mounts what a descriptor refers to: version 0.10, and
// builds of earlier ones that have this change.
var holding sync.Map

func holds(program string) bool {
	known, ok := holding.Load(program)
	if !ok {
		out, err := answerTo(context.Background(), program, "--help")
		known, _ = holding.LoadOrStore(program, err == nil && bytes.Contains(out, []byte("--ro-bind-fd ")))
	}
	return known.(bool)
}

// version returns the program's version, or an error if it is too old.
func version(ctx context.Context, program string) (string, error) {
	out, err := answerTo(ctx, program, "--version")
	if err != nil {
		return "", err
	}
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s is not bubblewrap: --version says %q", program, jsonl.Cut(string(out), 100))
	}
	major, _ := strconv.Atoi(string(m[1])) // the pattern allows only digits
	minor, _ := strconv.Atoi(string(m[2]))
	v := string(m[1]) + "." + string(m[2]) + string(m[3])
	if major == 0 && minor < leastMinor {
		return v, fmt.Errorf("bubblewrap %s is too old: 0.%d or later is needed", v, leastMinor)
	}
	return v, nil
}
