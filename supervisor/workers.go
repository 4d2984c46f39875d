package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Deadlines of the requests to the bridge. They are far above what the bridge's
// own deadlines allow, and only guard against one that has stopped answering.
const (
	sendDeadline     = 60 * time.Second
	spawnDeadline    = 2 * time.Minute
	killDeadline     = 30 * time.Second
	shutdownDeadline = 20 * time.Second
)

func (l *Loop) spawn(ctx context.Context, p bridge.SpawnParams) {
	ctx, cancel := context.WithTimeout(ctx, spawnDeadline)
	defer cancel()
	r, err := l.port.Spawn(ctx, p)
	if err == nil {
		l.Put(Spawned{Agent: p.AgentRef, Result: r})
		return
	}
	if errors.Is(err, bridge.ErrClosed) {
		return // the bridge is gone, which is told once, as BridgeLost
	}
	f := NotSpawned{Agent: p.AgentRef, Category: bridge.CatStart, Message: err.Error()}
	var rpc *bridge.RPCError
	if errors.As(err, &rpc) {
		f.Message, f.Stderr = rpc.Message, rpc.Stderr
		if rpc.Category != "" {
			f.Category = rpc.Category
		}
	}
	l.Put(f)
}

func (l *Loop) send(ctx context.Context, p bridge.MessageParams) {
	ctx, cancel := context.WithTimeout(ctx, sendDeadline)
	defer cancel()
	if err := l.port.Message(ctx, p); err != nil && !errors.Is(err, bridge.ErrClosed) {
		l.Put(NotSent{Agent: p.AgentRef, MessageID: p.MessageID, Message: err.Error()})
	}
}

func (l *Loop) interrupt(ctx context.Context, a bridge.AgentRef) {
	ctx, cancel := context.WithTimeout(ctx, sendDeadline)
	defer cancel()
	if _, err := l.port.Interrupt(ctx, a); err != nil {
		l.log.Warn("interrupt", "agent", a.ID, "error", err)
	}
}

func (l *Loop) kill(ctx context.Context, k Kill) {
	ctx, cancel := context.WithTimeout(ctx, killDeadline)
	defer cancel()
	if err := l.port.Kill(ctx, bridge.KillParams{AgentRef: k.Agent, Now: k.Now}); err != nil {
		l.log.Warn("kill", "agent", k.Agent.ID, "error", err)
	}
}

func (l *Loop) askAgent(ctx context.Context, q AskAgent) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := l.port.Ask(ctx, bridge.AskParams{AgentRef: q.Agent, Question: q.Question})
	if err != nil {
		l.waiting.answerTool(q.Call, bridge.ToolCallResult{Text: "No answer: " + err.Error(), IsError: true})
		return
	}
	l.waiting.answerTool(q.Call, bridge.ToolCallResult{Text: q.Agent.ID + " answers (its word, to be checked):\n\n" + r.Answer})
}

func (l *Loop) shutdown(ctx context.Context, fast bool) {
	ctx, cancel := context.WithTimeout(ctx, shutdownDeadline)
	defer cancel()
	p := bridge.ShutdownParams{}
	if fast {
		p.GraceMS = 1
	}
	r, err := l.port.Shutdown(ctx, p)
	if err != nil {
		l.log.Warn("shutdown", "error", err)
	}
	l.Put(Stopped{Unstopped: r.Unstopped})
}

// lane runs the short requests to one agent in order: a message and the
// interrupt that follows it must not overtake each other. Its goroutine starts
// when work comes and ends when there is none.
type lane struct {
	mu      sync.Mutex
	queue   []func()
	running bool
}

func (l *Loop) lane(id string) *lane {
	if l.lanes[id] == nil {
		l.lanes[id] = &lane{}
	}
	return l.lanes[id]
}

func (n *lane) push(l *Loop, f func()) {
	n.mu.Lock()
	n.queue = append(n.queue, f)
	start := !n.running
	n.running = true
	n.mu.Unlock()
	if start {
		l.work(n.run)
	}
}

func (n *lane) run() {
	for {
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.running = false
			n.mu.Unlock()
			return
		}
		f := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		f()
	}
}
