package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/leash"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/envelope"
)

// initializeDeadline bounds the bridge's first answer, which includes running
// `claude --version` on a machine that sees it for the first time.
const initializeDeadline = 30 * time.Second

// runtimeRun is one run of the program: its log, its rehearsal if it is one, and
// the bridge process.
type runtimeRun struct {
	choices choices
	log     *slog.Logger
	logFile *os.File
	stage   *stage // nil unless this is a rehearsal
	client  *bridge.Client
	watch   sync.WaitGroup
}

func newRun(c choices) (*runtimeRun, error) {
	r := &runtimeRun{choices: c}
	o := &r.choices.Options
	o.Run = uuid.NewString()
	o.Delimiter = envelope.NewDelimiter(rand.Reader)
	o.HumanPresent = !c.NoInput
	var err error
	if r.logFile, err = openLog(c.StateDir, o.Run); err != nil {
		return nil, environmentf("log: %v", err)
	}
	o.Log = r.logFile.Name()
	r.log = newLogger(r.logFile, c.Debug)
	if c.Rehearse {
		if r.stage, err = setStage(&r.choices, r.log); err != nil {
			r.close()
			return nil, err
		}
	}
	r.choices.Options = r.choices.Options.WithDefaults()
	return r, nil
}

// play starts the bridge and runs the loop until the run is over.
func (r *runtimeRun) play(loop *supervisor.Loop) contract.Exit {
	ctx := context.Background()
	first, port := r.open(ctx, loop)
	exit := loop.Run(ctx, port, first)
	if r.client != nil {
		// The loop has stopped the agents in order; this ends the bridge itself,
		// or sweeps everything where the loop could not.
		if err := r.client.Close(); err != nil {
			r.log.Warn("bridge", "error", err)
		}
		r.watch.Wait()
		// A bridge that was killed could sweep nothing.
		if n := leash.Sweep(r.choices.Options.Run, ""); n > 0 {
			r.log.Warn("swept", "processes", n)
		}
	}
	return exit
}

// open starts the bridge and makes the run's first input of what it answers.
func (r *runtimeRun) open(ctx context.Context, loop *supervisor.Loop) (supervisor.Fact, supervisor.Port) {
	failed := func(c bridge.Category, format string, args ...any) (supervisor.Fact, supervisor.Port) {
		return supervisor.NoBridge{Options: r.choices.Options, Category: c, Message: fmt.Sprintf(format, args...)}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return failed(bridge.CatInternal, "cannot find arbiter's own program: %v", err)
	}
	args := []string{"bridge"}
	if r.choices.Debug {
		args = append(args, "--debug")
	}
	cmd := exec.Command(self, args...)
	cmd.Env = os.Environ()
	cmd.Dir = r.choices.Options.CWD
	claude := bridge.ClaudeSpec{Path: r.choices.Claude}
	if claude.Path == "" {
		claude.Path = "claude"
	}
	if r.stage != nil {
		cmd.Env, claude = r.stage.env, r.stage.claude
	}
	if r.client, err = bridge.StartProcess(ctx, cmd, loop, r.log); err != nil {
		return failed(bridge.CatInternal, "the bridge did not start: %v", err)
	}
	ictx, cancel := context.WithTimeout(ctx, initializeDeadline)
	defer cancel()
	init, err := r.client.Initialize(ictx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + version(),
		Run: r.choices.Options.Run, Claude: claude,
	})
	if err != nil {
		var rpc *bridge.RPCError
		if errors.As(err, &rpc) && rpc.Category != "" {
			return failed(rpc.Category, "%s", rpc.Message)
		}
		return failed(bridge.CatInternal, "the bridge did not answer: %v", err)
	}
	r.choices.Options.StandIn = init.Claude.StandIn
	r.log.Info("run", "run", r.choices.Options.Run, "arbiter", version(), "claude", init.Claude.Version, "path", init.Claude.Path, "cwd", r.choices.Options.CWD)
	r.watch.Go(func() { watchBridge(r.client, loop) })
	return supervisor.Began{Options: r.choices.Options, Claude: init.Claude}, r.client
}

// watchBridge tells the loop when the bridge has gone. It ends with the
// client, which play closes.
func watchBridge(p *bridge.Client, loop *supervisor.Loop) {
	<-p.Done()
	message := "it ended"
	if err := p.Err(); err != nil {
		message = err.Error()
	}
	loop.Put(supervisor.BridgeLost{Message: message})
}

func (r *runtimeRun) close() {
	if r.stage != nil {
		r.stage.close()
	}
	if r.logFile != nil {
		r.logFile.Close()
	}
}

// greet says on stderr what a person should know before anything runs.
func (e env) greet(r *runtimeRun) {
	o := r.choices.Options
	if r.stage != nil {
		fmt.Fprintf(e.stderr, "REHEARSAL: a scripted model plays %q; nothing is real but the files in %s\n", o.Scenario, o.CWD)
	} else if !o.Trusted {
		fmt.Fprintln(e.stderr, "This workspace is not trusted: its settings, hooks, agents and CLAUDE.md are not loaded (--trust loads them).")
	}
	if o.Permissions == "allow-all" {
		fmt.Fprintln(e.stderr, "WARNING: every agent may run anything, unasked (--permissions allow-all).")
	}
}

// farewell tells where a rehearsal left its script, and prints the line by which a run's sessions can be found again. A run
// that never reached an agent has none.
func (e env) farewell(r *runtimeRun, s *supervisor.State) {
	if r.stage != nil {
		for _, p := range r.stage.problems() {
			fmt.Fprintln(e.stderr, "REHEARSAL PROBLEM: "+sanitize.Line(p, 500))
		}
	}
	if len(s.Agents) == 0 {
		return
	}
	line := struct {
		Arbiter string `json:"arbiter"`
		Last    string `json:"lastOrchestrator"`
		Number  int    `json:"orchestratorNumber"`
	}{Arbiter: s.Agents[0].SessionID, Number: s.Summoned}
	if last, ok := s.Last(); ok {
		line.Last = last.SessionID
	}
	raw, err := json.Marshal(line)
	if err != nil {
		return // two strings and a number
	}
	fmt.Fprintln(e.stderr, string(raw))
}
