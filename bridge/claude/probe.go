package claude

import (
	"context"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// prober looks for an agent's signs of life. A ping without an answer is not repeated: the input of a stopped child
// must not fill up with pings.
type prober struct {
	a       *agent
	files   files
	timeout time.Duration // for an answer: bridge.ProbeTimeout

	mu    sync.Mutex
	ping  *ping // without an answer yet, nil without one
	ended bool
	wg    sync.WaitGroup // of the goroutine of ping
}

type ping struct {
	done     chan struct{}
	answered bool // read after done
}

// Probe implements bridge.Agent. The ping is sent first, so that its time is not added to that of the rest.
func (a *agent) Probe(ctx context.Context) bridge.ProbeResult {
	late := time.NewTimer(a.prober.timeout)
	defer late.Stop()
	sent := a.prober.send()
	if sent == nil {
		return bridge.ProbeResult{}
	}
	r := a.Signs()
	var beside string
	if path, ok := transcript.Locate(a.prober.files.config, a.Config.SessionID); ok {
		r.TranscriptBytes, beside = transcript.Size(path), transcript.Beside(path)
	}
	r.OutputBytes, r.OutputPath = a.prober.files.within(a.Child).outputs(a.Config.SessionID, beside)
	select {
	case <-sent.done:
		r.Answered = sent.answered
	case <-late.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return bridge.ProbeResult{}
	}
	return r
}

// pingTimeout is how long a ping may remain unanswered before another is sent.
const pingTimeout = time.Hour

// send sends mcp_status, which the CLI answers in milliseconds, also in the middle of a turn (observed with
// CLI 2.1.329), or returns the ping that is still unanswered; nil after the end.
func (p *prober) send() *ping {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ping == nil && !p.ended {
		sent := &ping{done: make(chan struct{})}
		p.ping = sent
		p.wg.Go(func() {
			_, err := p.a.calls.do(p.a.Ctx, pingTimeout, "mcp_status", nil)
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

// end waits for the ping. The agent's calls have ended by then, so that it cannot last longer.
func (p *prober) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wg.Wait()
}
