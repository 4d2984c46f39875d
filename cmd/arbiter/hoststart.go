package main

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
)

// hostProcess is a host process that this one has started. It keeps running when this one ends.
type hostProcess struct {
	hostReady
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended and was waited for
}

// startHost starts a host process and waits until clients can connect to it. An error is why
// nothing is played; ctx gives up.
func startHost(ctx context.Context, c settings.Choices) (*hostProcess, error) {
	spec := hostSpec{Choices: c, Given: c.Given}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("describe the run: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	p := &hostProcess{cmd: exec.Command(self, hostCommand, c.Place), exited: make(chan struct{})}
	var stderr bytes.Buffer
	p.cmd.Stdin, p.cmd.Stderr = bytes.NewReader(raw), &stderr
	// A session of its own: what ends the terminal does not end the run.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, command.Environmentf("start the host process: %v", err)
	}
	answered := make(chan error, 1)
	go func() { // ends when it has answered, or ended
		answered <- json.NewDecoder(stdout).Decode(&p.hostReady)
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // nothing is begun yet
		<-answered
		err = ctx.Err()
	}
	go func() { // ends with the process; who needs its end waits for exited
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

// errHostGone says that the process that played a run has ended without a word.
var errHostGone = errors.New("the process that played the run was killed or crashed; " +
	"arbiter --resume continues the run")
