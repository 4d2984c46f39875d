package claude

import (
	"context"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// prober looks for an agent's signs of life. Concurrent requests share one look, and a ping without an
// answer is not repeated: the input of a stopped child must not fill up with pings.
type prober struct {
	a       *agent
	files   files
	timeout time.Duration // for an answer: bridge.ProbeTimeout

	mu    sync.Mutex
	look  *look // under way, nil without one
	ping  *ping // without an answer yet, nil without one
	ended bool
	wg    sync.WaitGroup // of the goroutines of look and ping
}

type look struct {
	done   chan struct{}
	result bridge.ProbeResult // read after done
}

type ping struct {
	done     chan struct{}
	answered bool // read after done
}

// noteOutput records output on stdout, which is a sign of work.
func (a *agent) noteOutput() { a.last.Store(int64(time.Since(a.started))) }

func (a *agent) Probe(ctx context.Context) bridge.ProbeResult {
	l := a.prober.join()
	if l == nil {
		return bridge.ProbeResult{}
	}
	select {
	case <-l.done:
		return l.result
	case <-ctx.Done():
		return bridge.ProbeResult{}
	}
}

// join returns the current look, or begins one; nil after the end.
func (p *prober) join() *look {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.look == nil && !p.ended {
		l := &look{done: make(chan struct{})}
		p.look = l
		p.wg.Go(func() {
			l.result = p.see()
			p.mu.Lock()
			p.look = nil
			p.mu.Unlock()
			close(l.done)
		})
	}
	return p.look
}

// see performs one look. The ping is sent first, so that its time is not added to that of the rest.
func (p *prober) see() bridge.ProbeResult {
	a := p.a
	late := time.NewTimer(p.timeout)
	defer late.Stop()
	sent := p.send()
	usage := a.child.Usage()
	r := bridge.ProbeResult{
		SilentMS: max(0, time.Since(a.started)-time.Duration(a.last.Load())).Milliseconds(),
		CPUMS:    usage.CPU.Milliseconds(), RSSBytes: usage.RSS, Processes: usage.Processes, Stopped: usage.Stopped,
	}
	var beside string
	if path, ok := transcript.Locate(p.files.config, a.cfg.SessionID); ok {
		r.TranscriptBytes, beside = transcript.Size(path), transcript.Beside(path)
	}
	r.OutputBytes, r.OutputPath = p.files.within(a.child).outputs(a.cfg.SessionID, beside)
	select {
	case <-sent.done:
		r.Answered = sent.answered
	case <-late.C:
	}
	return r
}

// pingTimeout is how long a ping may remain unanswered before another is sent.
const pingTimeout = time.Hour

// send sends mcp_status, which the CLI answers in milliseconds, also in the middle of a turn (observed with
// CLI 2.1.329), or returns the ping that is still unanswered.
func (p *prober) send() *ping {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ping == nil {
		sent := &ping{done: make(chan struct{})}
		p.ping = sent
		p.wg.Go(func() {
			_, err := p.a.calls.do(p.a.ctx, pingTimeout, "mcp_status", nil)
			code := errCode(err)
			sent.answered = err == nil || code == bridge.CodeRefused || code == bridge.CodeUnsupported
			p.mu.Lock()
			p.ping = nil
			p.mu.Unlock()
			close(sent.done)
		})
	}
	return p.ping
}

// end waits for the running look and ping. The agent's calls have ended by then, so that no ping can last
// longer.
func (p *prober) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wg.Wait()
}
