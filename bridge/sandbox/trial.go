package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// trialTimeout bounds a canary; it takes 20 ms.
const (
	trialTimeout = 20 * time.Second
	killTimeout  = 5 * time.Second
	outputCap    = 1 << 20
)

// Place is where an agent would be confined.
type Place struct {
	CWD  string
	Env  []string // NAME=value, as the agent's process gets it
	Mark proctree.Mark
	Self []string // the program that becomes a canary, with its arguments
}

// Trial runs a canary in the sandbox of cfg and says whether it holds. That it does not,
// or cannot be had, is a result and no error.
func Trial(ctx context.Context, cfg bridge.SandboxConfig, p Place) (bridge.SandboxResult, error) {
	v, err := version(ctx, cfg.Program)
	if err != nil {
		return bridge.SandboxResult{Version: v, Reason: err.Error()}, ctx.Err()
	}
	r := bridge.SandboxResult{Version: v}
	if err := try(ctx, cfg, p); err != nil {
		r.Reason = err.Error()
		return r, ctx.Err()
	}
	r.Holds = true
	return r, nil
}

// try returns why the sandbox does not hold.
func try(ctx context.Context, cfg bridge.SandboxConfig, p Place) error {
	cmd := exec.Command(p.Self[0], p.Self[1:]...)
	cmd.Dir, cmd.Env = p.CWD, p.Env
	m, err := plan(cmd, cfg)
	if err != nil {
		return err
	}
	if err := Wrap(cmd, &cfg); err != nil {
		return err
	}
	b, err := bait(m, cmd, cfg)
	if err != nil {
		return err
	}
	defer b.remove()
	said, err := run(ctx, cmd, p.Mark, b.errand)
	if err != nil {
		return err
	}
	return b.judge(said)
}

// run runs the canary to its end, and leaves nothing of it.
func run(ctx context.Context, cmd *exec.Cmd, mark proctree.Mark, e errand) (findings, error) {
	var f findings
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	order, err := json.Marshal(e)
	if err != nil {
		return f, err
	}
	out, complaints := &bounded{}, &bounded{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), out, complaints
	child, err := proctree.StartMonitored(cmd, mark)
	if err != nil {
		return f, fmt.Errorf("bubblewrap does not start: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
	}
	killing, stop := context.WithTimeout(context.Background(), killTimeout)
	defer stop()
	if _, err := child.Kill(killing); err != nil {
		return f, err
	}
	if ctx.Err() != nil {
		return f, errors.New("the canary came to no end")
	}
	if err := child.Wait(); err != nil {
		return f, fmt.Errorf("bubblewrap cannot confine here (%w): %s", err, strings.TrimSpace(complaints.text(500)))
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil || f.Nonce != e.Nonce {
		return f, errors.New("the canary was not run: what should have run it said nothing of it")
	}
	return f, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := outputCap - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (b *bounded) text(limit int) string { return string(b.Bytes()[:min(limit, b.Len())]) }

// judge holds what the canary says against what is seen from outside.
func (b *baits) judge(f findings) error {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	switch {
	case err != nil:
		return fmt.Errorf("our own namespace cannot be told: %w", err)
	case f.Mounts == "" || f.Mounts == ours:
		return errors.New("the canary ran in no mount namespace of its own")
	case strings.Trim(f.Capabilities, "0") != "" || f.Capabilities == "":
		return fmt.Errorf("capabilities are left inside: %q", f.Capabilities)
	case f.Parent != "":
		return errors.New("the world outside can be reached by /proc inside")
	case f.NoNewPrivs != "1":
		return errors.New("programs could gain privileges inside")
	}
	for _, path := range b.mustWrite {
		text, err := os.ReadFile(path)
		if !f.Wrote[path] || err != nil || string(text) != b.errand.Nonce {
			return fmt.Errorf("%s cannot be written to inside", filepath.Dir(path))
		}
	}
	for _, path := range b.mustNotWrite {
		wrote, tried := f.Wrote[path]
		if _, err := os.Lstat(path); err == nil || wrote || !tried {
			return fmt.Errorf("%s can be written to inside", filepath.Dir(path))
		}
	}
	for _, path := range b.mayWrite { // its own: it must not be ours
		if _, err := os.Lstat(path); err == nil || !f.Wrote[path] {
			return fmt.Errorf("%s is not private inside", filepath.Dir(path))
		}
	}
	for _, path := range b.errand.Read {
		if seen, tried := f.Read[path]; seen != "" || !tried {
			return fmt.Errorf("%s can be looked into inside", path)
		}
	}
	for _, path := range b.errand.Connect {
		if connected, tried := f.Connected[path]; connected || !tried {
			return fmt.Errorf("%s can be connected to inside", path)
		}
	}
	return nil
}
