package runloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Deadlines of the requests to the bridge. They are far above the bridge's own deadlines, and only guard
// against a bridge that has stopped answering.
const (
	sendDeadline     = 60 * time.Second
	spawnDeadline    = 2 * time.Minute
	killDeadline     = 30 * time.Second
	shutdownDeadline = 20 * time.Second
)

func (l *Loop) spawn(ctx context.Context, port Port, e input.Spawn) {
	p := e.Params
	own, err := l.place(ctx, e.Place, &p.Config)
	if errors.Is(err, bridge.ErrClosed) {
		return // the bridge is gone, which is reported once, as BridgeLost
	}
	if err != nil {
		l.Put(input.NotSpawned{Agent: p.AgentRef, Category: bridge.CatWorkspace, Message: err.Error()})
		return
	}
	if !l.passes(ctx, p) {
		return
	}
	unsupported, changes := l.setRules(p.ID, &p.Config)
	crashpoint.Here("loop.spawn")
	r, err := port.Spawn(ctx, p)
	crashpoint.Here("loop.spawned")
	if err == nil {
		r.NotTaken = append(r.NotTaken, unsupported...)
		l.Put(input.Spawned{Agent: p.AgentRef, Result: r, Own: own, Changes: changes})
		return
	}
	if errors.Is(err, bridge.ErrClosed) {
		return // the bridge is gone, which is reported once, as BridgeLost
	}
	f := input.NotSpawned{Agent: p.AgentRef, Category: bridge.CatStart, Message: err.Error()}
	var rpc *bridge.RPCError
	if errors.As(err, &rpc) {
		f.Message, f.Stderr = rpc.Message, rpc.Stderr
		if rpc.Category != "" {
			f.Category = rpc.Category
		}
	}
	l.Put(f)
}

func (l *Loop) send(ctx context.Context, port Port, e input.Send) {
	crashpoint.Here("loop.send")
	p := l.withImages(e)
	err := port.Message(ctx, p)
	crashpoint.Here("loop.sent")
	if err != nil && !errors.Is(err, bridge.ErrClosed) {
		l.Put(input.NotSent{Agent: p.AgentRef, MessageID: p.MessageID, Message: err.Error()})
	}
}

// start lets a worker start a process of an agent, and forgets the starts that were answered.
func (l *Loop) start(ctx context.Context, id string, deadline time.Duration, f func(context.Context)) {
	for id, answered := range l.starts {
		select {
		case <-answered:
			delete(l.starts, id)
		default:
		}
	}
	answered := make(chan struct{})
	l.starts[id] = answered
	l.work(timed(ctx, deadline, func(ctx context.Context) {
		defer close(answered)
		f(ctx)
	}))
}

// end lets a worker end a process of an agent. Requests can overtake each other: an end that comes before its
// start finds no agent, and is repeated when that start was answered.
func (l *Loop) end(ctx context.Context, a bridge.AgentRef, request func(context.Context) error) {
	answered := l.starts[a.ID]
	l.work(func() {
		var err error
		once := timed(ctx, killDeadline, func(ctx context.Context) { err = request(ctx) })
		once()
		if err != nil && answered != nil && !errors.Is(err, bridge.ErrClosed) {
			<-answered // the start has a deadline
			once()
		}
		if err != nil {
			l.log.Warn("end a process", "agent", a.ID, "error", err)
		}
	})
}

func (l *Loop) askAgent(ctx context.Context, port Port, q input.AskAgent) {
	r, err := port.Ask(ctx, bridge.AskParams{AgentRef: q.Agent, Question: q.Question})
	if err != nil {
		l.tools.answer(q.Call, bridge.ToolCallResult{Text: l.maskedText("No answer: " + err.Error()), IsError: true})
		return
	}
	text := q.Agent.ID + " answers (its claim: check it):\n\n" + r.Answer
	l.tools.answer(q.Call, bridge.ToolCallResult{Text: l.maskedText(text)})
}

// shutdown ends all agents, on all hosts at the same time. A host that cannot be reached ends them when its
// lease expires.
func (l *Loop) shutdown(ctx context.Context, ports ports, fast bool) {
	p := bridge.ShutdownParams{}
	if fast {
		p.GraceMS = 1
	}
	var mu sync.Mutex
	var unstopped []string
	var hosts sync.WaitGroup
	for host, port := range ports {
		if port == nil {
			continue
		}
		hosts.Go(func() {
			defer l.catch()
			crashpoint.Here("loop.shutdown")
			r, err := port.Shutdown(ctx, p)
			crashpoint.Here("loop.stopped")
			if err != nil {
				l.log.Warn("shutdown", "host", host, "error", err)
			}
			mu.Lock()
			defer mu.Unlock()
			unstopped = append(unstopped, r.Unstopped...)
		})
	}
	hosts.Wait()
	l.Put(input.Stopped{Unstopped: unstopped})
}

// checkSlack is the time that a check may take beyond its own time limit: to end, and to wait for another
// check.
const checkSlack = 3 * time.Minute

// check lets the bridge run a command on a scratch copy, or asks whether it may run.
func (l *Loop) check(ctx context.Context, port Port, e input.RunCheck) {
	f := input.Checked{Serial: e.Serial, Number: e.Number, Request: e.Request}
	defer func(dropped context.Context) {
		if f.Serial != 0 && dropped.Err() == nil {
			l.Put(f)
		}
	}(ctx)
	if l.Redact != nil && strings.Contains(e.Params.Command, sanitize.MarkStart) {
		f.Failed = "its command held a secret, which was masked: have it read from a file or the environment"
		return
	}
	input, err := jsonl.Marshal(struct {
		Command string `json:"command"`
	}{e.Params.Command})
	if err != nil {
		f.Failed = err.Error()
		return
	}
	crashpoint.Here("loop.check")
	if !e.Permitted {
		asked := bridge.PermissionParams{
			AgentRef: e.Agent, Request: e.Request, Tool: "Bash", Input: input, CWD: e.Params.CWD,
			Reason: checkReason(e),
		}
		call := toolCall{agent: asked.ID, tool: asked.Tool, input: input, cwd: asked.CWD, check: true}
		if !e.Params.Scratch || l.taken(call).Behavior != "" { // nothing that it does leaves a scratch copy
			switch answer, err := l.permission(ctx, supervisor.LifecycleHere, asked, call); {
			case err != nil:
				f.Failed = "it could not be decided whether it may run: " + err.Error()
				return
			case answer.Behavior != bridge.Allow:
				f.Failed = "not permitted"
				return
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(e.Params.TimeoutMS)*time.Millisecond+checkSlack)
	defer cancel()
	params := e.Params
	params.Env = supervisor.GitEnvironment(params.Env)
	f.Result, err = port.Check(ctx, params)
	crashpoint.Here("loop.checked")
	if f.Failed = textOf(err); errors.Is(err, bridge.ErrClosed) {
		f.Serial = 0 // it runs again with the next bridge
	}
}

// checkReason says why a check is run, for the human who is asked for permission.
func checkReason(e input.RunCheck) string {
	switch {
	case e.Criterion:
		return "an acceptance criterion that the Arbiter set, run by the supervisor"
	case e.Again:
		return "a check of its hand-off document, run by the supervisor once more before the task is complete"
	}
	return "a check of its hand-off document, run by the supervisor"
}

const inspectDeadline = time.Minute

func (l *Loop) inspect(ctx context.Context, port Port, e input.Inspect) {
	crashpoint.Here("loop.inspect")
	r, err := port.Inspect(ctx, e.Params)
	if errors.Is(err, bridge.ErrClosed) {
		return // the agent has the same
	}
	l.Put(input.Inspected{Serial: e.Serial, Result: r, Failed: textOf(err)})
}

// textOf is the text of an error; nil: empty.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// giveRules gives a running agent the present rules. The mode of an agent that was started to ask nothing can be
// taken back, but not given later.
func (l *Loop) giveRules(ctx context.Context, port Port, a bridge.AgentRef) {
	rules, mode, unsupported := l.nativeRules(l.Snapshot(), a.ID)
	if mode == bridge.BypassPermissions {
		mode = ""
	}
	err := port.Configure(ctx, bridge.ConfigureParams{AgentRef: a, PermissionMode: mode, Rules: &rules})
	if errors.Is(err, bridge.ErrClosed) {
		return // the bridge is gone, and its agents with it: they start with the present rules
	}
	if err != nil || len(unsupported) > 0 {
		l.Put(input.RulesGiven{Agent: a, Unsupported: unsupported, Failed: textOf(err)})
	}
}

// modelDeadline leaves time for the API call with which the CLI tries a model
// (observed with CLI 2.1.329).
const modelDeadline = 70 * time.Second

func (l *Loop) setModel(ctx context.Context, port Port, e input.SetModel) {
	err := port.Configure(ctx, bridge.ConfigureParams{AgentRef: e.Agent, Model: e.Model})
	if errors.Is(err, bridge.ErrClosed) {
		err = nil // its next process is started with the new model
	}
	l.Put(input.Configured{Agent: e.Agent, Model: e.Model, All: e.All, Failed: textOf(err)})
}

// probeDeadline is longer than the time in which a probe expects the agent's answer.
const probeDeadline = 3 * bridge.ProbeTimeout

func (l *Loop) probe(ctx context.Context, port Port, a bridge.AgentRef) {
	r, err := port.Probe(ctx, a)
	l.Put(input.Probed{Agent: a, Result: r, Failed: textOf(err), Silent: err != nil && ctx.Err() != nil})
}

func (l *Loop) openBridge(ctx context.Context, host string) {
	if l.Open == nil {
		l.Put(input.BridgeFailed{Host: host, Category: bridge.CatClaudeMissing,
			Message: "there is no way to start another bridge"})
		return
	}
	crashpoint.Here("loop.bridge.open")
	o, failed := l.Open(ctx, host)
	crashpoint.Here("loop.bridge.opened")
	if failed != nil {
		failed.Host = host
		l.Put(*failed)
		return
	}
	l.next.Store(host, o.Port)
	if files, ok := o.Port.(FileSystem); ok {
		l.views.Store(host, files)
	}
	l.Put(input.BridgeBack{Host: host, Claude: o.Claude, Dir: o.Dir, Cores: o.Cores, Swept: o.Swept})
}

// lane runs the short requests to one agent in order: a message and the interrupt that follows it must not
// overtake each other. Its goroutine starts when work comes and ends when there is none.
type lane struct {
	mu      sync.Mutex
	queue   []func()
	running bool
}

func (l *Loop) lane(id string) *lane {
	if l.lanes[id] == nil {
		maps.DeleteFunc(l.lanes, func(_ string, n *lane) bool { // agents that have ended, too
			n.mu.Lock()
			defer n.mu.Unlock()
			return !n.running
		})
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

// noteLane is the lane for decisions to be recorded. No agent has this id.
const noteLane = "/notes"

// decide asks the run's decider. It has deadlines of its own, and ends with ctx.
func (l *Loop) decide(ctx context.Context, q input.Decided) {
	crashpoint.Here("loop.decide")
	d, err := decider.Ask(ctx, l.Decider, q.Point, q.Input)
	q.Decision = d
	if q.Deferred = errors.Is(err, decider.ErrDeferred); !q.Deferred {
		q.Failed = textOf(err)
	}
	crashpoint.Here("loop.decided")
	if ctx.Err() == nil || d.Usage.CostUSD > 0 { // it was not cancelled, or its cost is known
		l.Put(q)
	}
}

// Files is what the loop needs for the files of a run: snapshots, directories of agents, merges. Several
// workers call it at once. A call returns when the context ends; a call that is repeated after a crash has the
// same result.
type Files interface {
	Record(ctx context.Context, r input.ChangeRecord) input.SnapshotTaken
	Revert(ctx context.Context, r input.Revert) input.Reverted
	// Place returns the directory of an agent, and variables that the agent needs there.
	Place(ctx context.Context, p runconfig.Place) (own runconfig.Worktree, env map[string]string, err error)
	Merge(ctx context.Context, m input.IsolationMerge) input.Merged
}

// Deadlines for work trees of many gigabytes.
const (
	snapshotDeadline = 10 * time.Minute
	placeDeadline    = 10 * time.Minute
	mergeDeadline    = 10 * time.Minute
)

// errNoFiles is the error of a run that works without Git.
var errNoFiles = errors.New("this run works without Git")

// recordFiles takes a snapshot of the files.
func (l *Loop) recordFiles(ctx context.Context, e input.ChangeRecord) {
	taken := input.SnapshotTaken{Serial: e.Serial, Failed: errNoFiles.Error()}
	if l.Files != nil {
		crashpoint.Here("loop.snapshot")
		taken = l.Files.Record(ctx, e)
		crashpoint.Here("loop.snapshot.taken")
	}
	l.Put(taken)
}

// revert reverts a change of the files.
func (l *Loop) revert(ctx context.Context, e input.Revert) {
	done := input.Reverted{Serial: e.Serial, Refused: errNoFiles.Error()}
	if l.Files != nil {
		done = l.Files.Revert(ctx, e)
	}
	l.Put(done)
}

// place creates the directory of an agent that has its own one, and adds to the agent's environment what it
// needs there.
func (l *Loop) place(ctx context.Context, p runconfig.Place, c *bridge.AgentConfig) (runconfig.Worktree, error) {
	if p.Agent == "" {
		return runconfig.Worktree{}, nil
	}
	if l.Files == nil {
		return runconfig.Worktree{}, errNoFiles
	}
	ctx, cancel := context.WithTimeout(ctx, placeDeadline)
	defer cancel()
	crashpoint.Here("loop.place")
	own, env, err := l.Files.Place(ctx, p)
	crashpoint.Here("loop.placed")
	if len(env) > 0 {
		maps.Copy(env, c.Env) // variables that the human set take precedence
		c.Env = env
	}
	return own, err
}

// merge merges the work of an agent.
func (l *Loop) merge(ctx context.Context, e input.IsolationMerge) {
	m := input.Merged{Serial: e.Serial, Failed: errNoFiles.Error()}
	if l.Files != nil {
		crashpoint.Here("loop.merge")
		m = l.Files.Merge(ctx, e)
		crashpoint.Here("loop.merged")
	}
	l.Put(m)
}

// Setup returns what a session in a terminal gets in addition to the agent's own configuration: JSON for the
// CLI's --settings (hooks that ask this process), and additional environment variables. TERM in it is the
// terminal's name.
type Setup func(a bridge.AgentRef) (settings string, env map[string]string)

// openPTY opens an agent's session in a terminal.
func (l *Loop) openPTY(ctx context.Context, port Port, p bridge.PTYOpenParams) {
	if err := l.refusal(ctx, bridge.SpawnParams{AgentRef: p.AgentRef, Config: p.Config}); err != nil {
		if errors.Is(err, bridge.ErrClosed) {
			return // reported once, as BridgeLost
		}
		l.Put(input.PTYOpened{Agent: p.AgentRef, Failed: err.Error()})
		return
	}
	l.setRules(p.ID, &p.Config)
	if p.Config.PermissionMode == bridge.BypassPermissions {
		p.Config.PermissionMode = "default" // the human at the terminal is there to be asked
	}
	if l.Terminal != nil {
		settings, env := l.Terminal(p.AgentRef)
		p.Settings = settings
		if len(env) > 0 {
			all := map[string]string{}
			maps.Copy(all, p.Config.Env)
			maps.Copy(all, env)
			p.Config.Env, p.Term = all, env["TERM"]
		}
	}
	result, err := port.PTYOpen(ctx, p)
	f := input.PTYOpened{Agent: p.AgentRef, Result: result}
	if err != nil {
		if errors.Is(err, bridge.ErrClosed) {
			return // reported once, as BridgeLost
		}
		var rpc *bridge.RPCError
		if !errors.As(err, &rpc) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killDeadline)
			defer cancel()
			_ = port.PTYClose(ctx, p.AgentRef) // it may be open all the same
		}
		if f.Failed = err.Error(); rpc != nil {
			f.Failed = rpc.Message
		}
	}
	l.Put(f)
}

// Images keeps the images of messages. Its methods are safe for concurrent use. *images.Store implements it.
type Images interface {
	// Keep reads image files, and returns when copies of them are on disk. Errors are for people.
	Keep(paths []string) ([]contract.Image, error)
	// Load returns the contents of an image that was kept.
	Load(contract.Image) ([]byte, error)
}

// keepImages keeps the images of a message before the message is recorded. A message whose images cannot be
// sent is rejected.
func (l *Loop) keepImages(say contract.Say) contract.CommandBody {
	if l.Images == nil {
		return contract.Malformed{Problem: "this run takes no images"}
	}
	kept, err := l.Images.Keep(say.Images)
	if err != nil {
		return contract.Malformed{Problem: err.Error()}
	}
	say.Kept = kept
	return say
}

// withImages loads the images of a message that is sent. If an image is lost, the text says so: the message
// itself must arrive.
func (l *Loop) withImages(e input.Send) bridge.MessageParams {
	p := e.Params
	for n, image := range e.Images {
		data, err := l.Images.Load(image)
		if err != nil {
			l.log.Error("an image of a message is lost", "message", p.MessageID, "image", image.Path, "error", err)
			p.Content += fmt.Sprintf("\n[Image %d is lost: the supervisor could not read its copy.]", n+1)
			continue
		}
		p.Images = append(p.Images, bridge.Image{MediaType: image.MediaType, Data: data})
	}
	return p
}
