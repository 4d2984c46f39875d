package host

// This file starts the process that hosts a run. It defines what that process reads from stdin, and its
// answer.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// ProcessCommand is the subcommand of a run's process, which has no terminal.
const ProcessCommand = "host"

// ProcessSpec is what a host process reads from stdin: the run to play. It is not an argument, because every user can
// read arguments, and an environment variable for the agents may have a secret.
type ProcessSpec struct {
	Choices settings.Choices
	Given   map[string]bool
}

// Ready is the line with which a host process answers: clients can connect, or the reason why it does not play.
type Ready struct {
	Run     string        `json:"run,omitempty"`
	Socket  string        `json:"socket,omitempty"`
	Notices string        `json:"notices,omitempty"` // what a person should know before anything runs
	Code    contract.Exit `json:"code,omitempty"`    // with Problem
	Problem string        `json:"problem,omitempty"`
}

// Process is a host process that this process has started. It keeps running after this process has ended.
type Process struct {
	Ready
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended and was waited for
}

// Exited is closed when the process has ended and was waited for.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// End asks the process to end, and waits for it.
func (p *Process) End() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-p.exited
}

// StartProcess starts a host process and waits until clients can connect to it. The error is the reason why no run is
// played. If ctx ends, Start kills the process.
func StartProcess(ctx context.Context, c settings.Choices) (*Process, error) {
	spec := ProcessSpec{Choices: c, Given: c.Given}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("describe the run: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	p := &Process{cmd: exec.Command(self, ProcessCommand, c.Place), exited: make(chan struct{})}
	var stderr bytes.Buffer
	p.cmd.Stdin, p.cmd.Stderr = bytes.NewReader(raw), &stderr
	// In its own session, so that closing the terminal does not end the run.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, command.Environmentf("start the host process: %v", err)
	}
	answered := make(chan error, 1)
	go func() { // ends when the process has answered or ended
		answered <- json.NewDecoder(stdout).Decode(&p.Ready)
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // nothing was started yet
		<-answered
		err = ctx.Err()
	}
	go func() { // ends with the process; exited is closed then
		defer close(p.exited)
		_ = p.cmd.Wait() // the control socket says how the run ended
	}()
	switch {
	case ctx.Err() != nil:
		<-p.exited
		return nil, ctx.Err()
	case err != nil:
		<-p.exited
		return nil, command.Environmentf("the host process ended before the run began (%v): %s", p.cmd.ProcessState,
			sanitize.Line(stderr.String(), 2000))
	case p.Run == "":
		<-p.exited
		return nil, &command.Error{Code: p.Code, Text: p.Problem}
	}
	return p, nil
}

// ErrGone says that the process that played a run has ended without reporting the end.
var ErrGone = errors.New("the process that played the run was killed or crashed; " +
	"arbiter --resume continues the run")

// Detached starts the process of a run that continues without this one.
func Detached(ctx context.Context, c settings.Choices) (Ready, error) {
	c.Options.Partial, c.Detach = true, true
	if c.Rehearse {
		c = Rehearsal(c)
	} else {
		c.AskInRun()
	}
	p, err := StartProcess(ctx, c)
	if err != nil {
		return Ready{}, err
	}
	return p.Ready, nil
}

// Rehearsal returns the same choices for a scripted model.
func Rehearsal(c settings.Choices) settings.Choices {
	c.Rehearse, c.Options.Rehearsal, c.Options.Trusted, c.Options.TrustHash = true, true, true, ""
	kept := map[string]string{}
	for name, value := range c.Options.Env {
		if settings.ForRehearsal(name) {
			kept[name] = value
		}
	}
	c.Options.Env, c.Options.ArbiterEnv = kept, nil
	return c
}
