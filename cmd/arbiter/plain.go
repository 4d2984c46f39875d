package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/composer"
	"github.com/arbiter-cli/arbiter/tui/orders"
	"github.com/arbiter-cli/arbiter/tui/plain"
)

// plainHost lends a host to the face of plain lines.
type plainHost struct {
	*host
	resume string
}

// Begin implements plain.Host.
func (p plainHost) Begin(ctx context.Context, task string, sink supervisor.Sink) (plain.Run, error) {
	r, err := p.host.Begin(ctx, tui.Begin{Task: task, Resume: p.resume}, sink)
	if err != nil {
		return nil, err
	}
	p.env.greet(p.present().run)
	return r.(*life), nil
}

// present is the life that is being played, or was last; nil before the first.
func (h *host) present() *life {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life
}

// InputEnded implements plain.Run.
func (l *life) InputEnded() { l.loop.Put(supervisor.InputEnded{}) }

// Run implements plain.Commands: the slash commands of the screen, as far as they
// mean something without one.
func (p plainHost) Run(line string) (handled bool, say string) {
	c, err := composer.ParseSlash(line)
	if err != nil {
		return true, err.Error()
	}
	l := p.present()
	var s *supervisor.State
	if l != nil {
		s = l.Snapshot()
	}
	switch c.Name {
	case "help":
		return true, plainHelp()
	case "quit":
		if l == nil {
			return true, "Nothing was begun. The end of the input leaves."
		}
		l.Stop()
		return true, "So it shall be. The run is being stopped; it can be taken up again."
	case "context":
		return true, orders.Context(s, c.Arg(0))
	case "cost":
		return true, orders.Cost(s)
	case "permissions":
		return true, orders.Permissions(s)
	case "task":
		return true, orders.Task(s)
	case "agents":
		return true, orders.Agents(s)
	case "plan":
		if verb := c.Arg(0); verb == "" || verb == "show" {
			return true, orders.Plan(s)
		}
	}
	if l == nil {
		return true, "There is no run yet. Say what is to be done, and one begins."
	}
	if c.Name == "halt" {
		return true, l.Halt()
	}
	body, ok := orders.Of(c)
	if verb := c.Arg(0); c.Name == "plan" && verb != "" && verb != "set" && verb != "show" {
		amended, err := orders.Amend(s, c)
		if err != nil {
			return true, sanitize.Line(err.Error(), 500)
		}
		body, ok = amended, true
	}
	switch {
	case c.Name == "reword" || c.Name == "withdraw":
		touch, problem := orders.Touch(s, c)
		if problem != "" {
			return true, problem
		}
		body = touch
	case c.Name == "allow" || c.Name == "deny":
		return true, "Answer with the number of the request: 1 y, 1 run, 1 always (with the letter of a rule behind it, that rule), or 1 n and why."
	case c.Name == "attach":
		return true, "In another terminal: arbiter attach " + sanitize.Line(c.Arg(0), 60) + " --session " + short(l.ID())
	case !ok:
		return true, "/" + c.Name + " needs a screen; /help lists what works here."
	}
	if !l.Put(contract.Command{Ref: "plain", Body: body}) {
		return true, "The run is over; that was not taken."
	}
	return true, ""
}

// plainHelp lists what works without a screen.
func plainHelp() string {
	var b strings.Builder
	b.WriteString("What you write is said to the Arbiter. Commands:\n")
	for _, spec := range composer.Commands {
		if worksPlain(spec.Name) {
			fmt.Fprintf(&b, "%s: %s.\n", spec.Usage(), spec.Help)
		}
	}
	return b.String()
}

func worksPlain(name string) bool {
	switch name {
	case "help", "quit", "halt", "context", "cost", "permissions", "task", "agents", "plan", "reword", "withdraw":
		return true
	}
	_, ok := orders.Of(composer.Command{Name: name, Rest: "set"})
	return ok
}

// plain is the same run as lines of prose.
func (e env) plain(c choices) error {
	h := plainHost{host: newHost(e, c)}
	f := plain.Face{
		Task: c.Options.Task, Begin: c.Resume, ASCII: c.Face.ASCII, Verbose: c.Debug, Commands: h,
		Name: func(id string) string {
			if l := h.present(); l != nil {
				return orders.Name(l.Snapshot(), id)
			}
			return orders.Name(nil, id)
		},
	}
	if c.Resume {
		run, err := h.find(c)
		if err != nil {
			return err
		}
		h.resume = run
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := h.heedSignals(cancel)
	defer stop()
	failed := f.Run(ctx, e.stdin, e.stdout, h)
	outcome := h.end("INT")
	var exit *exitError
	switch {
	case errors.Is(failed, plain.ErrNoTask):
		return usagef("no task was given: use --task, a requirements file, or say it")
	case errors.As(failed, &exit):
		return exit
	case failed != nil:
		return &exitError{code: cmp.Or(outcome.Exit, contract.ExitFailed), text: failed.Error()}
	case outcome.Exit == contract.ExitComplete:
		return nil
	}
	return &exitError{code: outcome.Exit, text: outcome.Text}
}
