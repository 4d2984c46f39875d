package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// Time limits for ending a command.
const (
	termGrace   = time.Second            // after TERM at the time limit
	cancelGrace = 300 * time.Millisecond // after TERM when the caller no longer waits
	tailGrace   = 300 * time.Millisecond // for what is still in the pipe after that
	tailLimit   = 5 * time.Second        // for all of it, where the sink is slow
	// Descendants are recorded at growing intervals, to know those that clear their environment and are
	// orphaned later.
	readSize  = 64 << 10 // at a time: a pipe's whole buffer (Linux)
	firstPoll = 50 * time.Millisecond
	lastPoll  = 2 * time.Second
)

// command is a running command. The sink reads its output.
type command struct {
	child *proctree.Child
	pipe  *os.File // our end
	sink  sync.WaitGroup
}

// start starts cmd in a session of its own, so that it has no terminal on which to ask, with an empty
// stdin. Both outputs go through one pipe, as on a screen. scratch has it work on a copy.
func (w *Collector) start(cmd *exec.Cmd, of bridge.Owner, confined *bridge.SandboxConfig, scratch bool,
	output io.Writer) (*command, error) {
	pipe, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.Stdout, cmd.Stderr = theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	mark := proctree.Mark{Run: of.Run, Bridge: of.Bridge, Agent: "evidence." + strconv.FormatInt(w.count.Add(1), 10)}
	c := &command{pipe: pipe}
	if scratch {
		c.child, err = sandbox.StartScratch(cmd, mark, *confined)
	} else {
		c.child, _, err = sandbox.Start(cmd, mark, confined, nil) // its only network is its own
	}
	if err != nil {
		pipe.Close()
		return nil, err
	}
	c.sink.Go(func() { drain(pipe, output) })
	return c, nil
}

// drain reads r to its end, or until nothing has come for tailGrace once it has a deadline. It continues even when the
// sink has enough: a command whose output is not read would never end. A slow sink must not cost the rest: a deadline
// that has passed meanwhile is set again, for tailLimit in all.
func drain(r *os.File, sink io.Writer) {
	buf := make([]byte, readSize)
	var late time.Time
	for {
		began := time.Now()
		n, err := r.Read(buf)
		_, _ = sink.Write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(began) < tailGrace {
			if late.IsZero() {
				late = began.Add(tailLimit)
			}
			if began.Before(late) && r.SetReadDeadline(time.Now().Add(tailGrace)) == nil {
				continue
			}
		}
		if err != nil {
			return
		}
	}
}

// errLimit reports that a command was ended at its time limit.
var errLimit = errors.New("the time limit")

// await waits for the command's end, or ends it at the time limit (errLimit) or when ctx ends (its error).
func (c *command) await(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	interval := firstPoll
	look := time.NewTimer(interval)
	defer look.Stop()
	for {
		select {
		case <-c.child.Done():
			return nil
		case <-timer.C:
			c.terminate(termGrace)
			return errLimit
		case <-ctx.Done():
			c.terminate(cancelGrace)
			return ctx.Err()
		case <-look.C:
			c.child.Remember()
			interval = min(2*interval, lastPoll)
			look.Reset(interval)
		}
	}
}

// terminate sends TERM to the command's group, and waits for the command.
func (c *command) terminate(grace time.Duration) {
	c.child.Remember() // before it is asked to end: its orphans are then known
	driver.Terminate(c.child, syscall.SIGTERM)
	driver.Ended(c.child, grace, nil)
}

// sweep ends the command and all that it has started, and waits for the sink. A process that cannot be
// ended (one of another user) may keep the pipe open: the pipe is read a moment longer, and no more.
func (c *command) sweep() error {
	_, err := c.child.KillNow()
	_ = c.pipe.SetReadDeadline(time.Now().Add(tailGrace)) // pipes have deadlines
	c.sink.Wait()
	c.pipe.Close()
	if err != nil {
		return fmt.Errorf("something of it is left: %w", err)
	}
	return nil
}

// ending returns the exit code and, if a signal ended the command, the signal's name.
func ending(state *os.ProcessState) (exit int, signal string) {
	if state == nil {
		return -1, ""
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal().String()
	}
	return state.ExitCode(), ""
}
