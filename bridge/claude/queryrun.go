package claude

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Time limits for ending a query's process. A cancelled query has ended within a second.
const (
	queryExit = 500 * time.Millisecond // the CLI exits after its result; this takes 0.1 s
	queryTerm = 300 * time.Millisecond // after TERM
)

// queryRun is one process that answers one prompt. It has three goroutines: one writes its input, two drain
// its outputs; end waits for them.
type queryRun struct {
	child   *proctree.Child
	release func() // of its way to the network
	pipes   *driver.Pipes
	stderr  *driver.StderrLog
	begun   time.Time
	took    time.Duration

	drains sync.WaitGroup
	done   chan struct{} // closed when the result was read, or stdout has ended
	output queryOutput   // owned by the reader until end
}

// queryOutput holds the relevant part of the CLI's output so far.
type queryOutput struct {
	result      *resultFrame
	priorErrors priorErrors
	retry       *apiRetry // the last one
	model       string    // of the last answer
}

func startQuery(cmd *exec.Cmd, mark proctree.Mark, confined *bridge.SandboxConfig, self string, input []byte) (
	*queryRun, error) {
	pipes, err := driver.NewPipes(cmd)
	if err != nil {
		return nil, err
	}
	q := &queryRun{pipes: pipes, stderr: driver.NewStderrLog(func(string) {}), begun: time.Now(),
		done: make(chan struct{})}
	q.child, q.release, err = sandbox.Start(cmd, mark, confined, &sandbox.Gate{Self: self})
	pipes.CloseTheirs()
	if err != nil {
		pipes.Close()
		return nil, err
	}
	q.drains.Go(func() {
		_, _ = pipes.Stdin.Write(input) // if the input is not read, there is no answer either
		_ = pipes.Stdin.Close()
	})
	q.drains.Go(q.read)
	q.drains.Go(func() { q.stderr.Drain(pipes.Stderr) })
	return q, nil
}

// read reads stdout to its end.
func (q *queryRun) read() {
	finished := sync.OnceFunc(func() { close(q.done) })
	defer finished()
	lines := jsonl.NewLineReader(q.pipes.Stdout, maxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		if f, err := decode(line.Data); err == nil && q.output.take(f) {
			finished()
		}
	}
}

// take records a frame and reports whether it is the last one.
func (h *queryOutput) take(f frame) bool {
	if h.result != nil {
		return false
	}
	switch f := f.(type) {
	case assistantFrame:
		if f.Model == synthetic {
			h.priorErrors.kind, h.priorErrors.status = f.ErrorKind, f.APIStatus
		} else {
			h.model = f.Model
		}
	case rateLimitEvent:
		h.priorErrors.rejected, h.priorErrors.resetsAt = f.Status == "rejected", unixSeconds(f.ResetsAt)
	case apiRetry:
		h.retry = &f
	case resultFrame:
		h.result = &f
		return true
	}
	return false
}

// await waits for the answer, or for an error that rules one out.
func (q *queryRun) await(ctx context.Context) error {
	select {
	case <-q.done:
		q.took = time.Since(q.begun)
		driver.Ended(q.child, queryExit, nil)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the process, if it is still running, and all processes that it has started.
func (q *queryRun) end() error {
	q.child.Remember()
	if !driver.IsClosed(q.child.Done()) {
		driver.Terminate(q.child, syscall.SIGTERM)
		driver.Ended(q.child, queryTerm, nil)
	}
	_, err := q.child.KillNow()
	q.release()
	_ = q.pipes.Stdin.SetWriteDeadline(time.Now()) // fails if it is closed, which is as good
	q.pipes.Stdout.Expire(drainGrace)
	q.pipes.Stderr.Expire(drainGrace)
	q.drains.Wait()
	q.pipes.Close()
	return err
}
