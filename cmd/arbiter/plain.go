package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// plainHost is the host of the frontend that prints plain lines.
type plainHost struct {
	*clients.ScreenHost
	resume     string
	atTerminal bool      // whether the human is at a terminal
	leave      func()    // ends the frontend
	images     *[]string // paths of the images that go with the next message
	agents     *plainAgents
	stderr     io.Writer
}

// plainAgents is the state of a run's agents, as its events report it.
type plainAgents struct {
	doing *eventtext.Tracker // what they do; nil before the run
	times *view.Timeline     // when they did it; nil before the run
}

// plainRun is a run whose human types lines.
type plainRun struct {
	*clients.ScreenSession
	host plainHost
}

// InputEnded implements clients.PlainRun. The end of a pipe means that no answer will come. At a terminal it means
// Ctrl+D or the loss of the terminal, and the run continues without this frontend.
func (r plainRun) InputEnded() {
	if !r.host.atTerminal {
		r.ScreenSession.InputEnded()
		return
	}
	if !r.host.lostTerminal() {
		r.Leave()
	}
	r.host.leave()
}

// Stop implements clients.PlainRun. The first call asks for an orderly end. A run whose terminal is gone continues if
// it is configured to.
func (r plainRun) Stop() {
	if !r.host.lostTerminal() && !r.Stopping() && !r.HasLeft() {
		r.ScreenSession.Stop()
	}
}

// lostTerminal reports whether the human's terminal is gone, and if so, tells the host.
func (p plainHost) lostTerminal() bool {
	if !p.atTerminal {
		return false
	}
	_, _, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		p.Lost()
	}
	return err != nil
}

// Put implements clients.PlainRun.
func (r plainRun) Put(c contract.Command) bool {
	c.Body = r.host.withImages(c.Body)
	return r.ScreenSession.Put(c)
}

func (p plainHost) Begin(ctx context.Context, task string, sink runloop.Sink) (clients.PlainRun, error) {
	doing, times := &eventtext.Tracker{}, &view.Timeline{}
	what := tui.Begin{Task: task, Images: p.takeImages(), Resume: p.resume}
	r, err := p.ScreenHost.Begin(ctx, what, func(at time.Time, e contract.Event) {
		doing.Add(at, e)
		times.Add(at, e)
		sink(at, e)
	})
	if err != nil {
		return nil, err
	}
	s := r.(*clients.ScreenSession)
	*p.agents = plainAgents{doing, times}
	if s.Process != nil {
		fmt.Fprint(p.stderr, s.Process.Notices)
	}
	return plainRun{s, p}, nil
}

// Run implements clients.Commands: the screen's slash commands, as far as they make sense without a screen.
func (p plainHost) Run(line string) (handled bool, text string) {
	c, err := view.ParseSlash(line)
	if err != nil {
		return true, err.Error()
	}
	l := p.Session()
	var s *supervisor.State
	if l != nil {
		s = l.Snapshot()
	}
	body, ok, err := view.CommandsFor(s, c)
	here := plainHere[c.Name]
	answer, answered := view.SlashAnswers[c.Name]
	switch {
	case !ok && answered:
		return true, answer.Text(s, c.Arg(0))
	case !ok && here != nil:
		return true, here(p, l, s, c)
	case l == nil:
		return true, "There is no run yet. Say what is to be done, and one begins."
	case err != nil:
		return true, sanitize.Line(view.Sentence(err.Error()), 500)
	case !ok:
		return true, "/" + c.Name + " needs a screen; /help lists what works here."
	case !l.Put(contract.Command{Ref: "plain", Body: p.withImages(body)}):
		return true, "The run is over; that was not taken."
	}
	return true, ""
}

// plainHere are the slash commands that the plain frontend handles itself. Before the first run, they get
// neither a session nor a state.
var plainHere map[string]plainAnswer

// plainAnswer executes a slash command and returns the text to print.
type plainAnswer func(p plainHost, l *clients.ScreenSession, s *supervisor.State, c view.EditorCommand) string

func init() { // set here since help refers back to it
	played := func(do func(p plainHost, l *clients.ScreenSession, c view.EditorCommand) string) plainAnswer {
		return func(p plainHost, l *clients.ScreenSession, _ *supervisor.State, c view.EditorCommand) string {
			if l == nil {
				return "There is no run yet. Say what is to be done, and one begins."
			}
			return do(p, l, c)
		}
	}
	permit := played(func(plainHost, *clients.ScreenSession, view.EditorCommand) string {
		return "Answer with the number of the request: 1 y, 1 run, 1 always (with the letter of a rule behind it, " +
			"that rule), or 1 n and why. /allow and /deny take a rule, which holds from then on."
	})
	plainHere = map[string]plainAnswer{
		"help": func(plainHost, *clients.ScreenSession, *supervisor.State, view.EditorCommand) string {
			return plainHelp()
		},
		"quit": func(_ plainHost, l *clients.ScreenSession, _ *supervisor.State, _ view.EditorCommand) string {
			if l == nil {
				return "Nothing was begun. The end of the input leaves."
			}
			l.Stop()
			return "So it shall be. The run is being stopped; it can be taken up again."
		},
		"now": func(p plainHost, _ *clients.ScreenSession, s *supervisor.State, _ view.EditorCommand) string {
			return view.Now(s, func(id string) view.Work {
				if p.agents.doing == nil {
					return view.Work{}
				}
				return view.Work{AgentActivity: p.agents.doing.Agent(id)}
			}, time.Now())
		},
		"runs": func(p plainHost, _ *clients.ScreenSession, _ *supervisor.State, _ view.EditorCommand) string {
			list, err := p.Runs(p.Context())
			if err != nil {
				return sanitize.Line(err.Error(), 500)
			}
			return clients.RunsText(list, time.Now())
		},
		"focus": played(plainFocus),
		"logbook": played(func(p plainHost, l *clients.ScreenSession, _ view.EditorCommand) string {
			run := command.ShortID(l.ID()) + settings.StateForCommand(p.Choices().StateDir)
			return "In another terminal, arbiter logs -f " + run + " shows the run with its times, and arbiter watch " + run +
				" prints every event. With --debug all of them are printed here."
		}),
		"timeline": played(func(p plainHost, l *clients.ScreenSession, _ view.EditorCommand) string { return timesOf(p, l) }),
		"plan": func(_ plainHost, _ *clients.ScreenSession, s *supervisor.State, _ view.EditorCommand) string {
			return view.SlashPlan(s)
		},
		"changes":  plainChanges,
		"settings": plainSettings,
		"model": func(p plainHost, _ *clients.ScreenSession, s *supervisor.State, _ view.EditorCommand) string {
			if p.agents.doing == nil {
				return view.ModelsText(s, nil)
			}
			return view.ModelsText(s, p.agents.doing.Models())
		},
		"image":  plainImage,
		"revert": plainRevert,
		"land":   plainLand,
		"halt":   played(func(_ plainHost, l *clients.ScreenSession, _ view.EditorCommand) string { return l.Halt() }),
		"allow":  permit,
		"deny":   permit,
		"attach": played(func(p plainHost, l *clients.ScreenSession, c view.EditorCommand) string {
			return "In another terminal: arbiter attach " + sanitize.Line(c.Arg(0), 60) + " --session " +
				command.ShortID(l.ID()) + settings.StateForCommand(p.Choices().StateDir)
		}),
	}
}

// timesOf describes what each agent of a run did, and when.
func timesOf(p plainHost, l *clients.ScreenSession) string {
	names := map[string]string{}
	if s := l.Snapshot(); s != nil {
		for _, a := range s.Agents {
			names[a.ID] = view.SlashName(s, a.ID)
		}
	}
	return p.agents.times.Words(names, time.Now())
}

// plainHelp lists the commands that work without a screen. It leaves out how to answer a permission request:
// the request itself says that.
func plainHelp() string {
	var b strings.Builder
	b.WriteString("What you write is said to the Arbiter. Commands:\n")
	for _, spec := range view.EditorCommands {
		if !spec.Screen {
			fmt.Fprintf(&b, "%s: %s.\n", spec.Usage(), spec.Help)
		}
	}
	return b.String()
}

// plain runs the plain frontend: the same run as on the screen, as lines of text.
func (e env) plain(c settings.Choices) error {
	h := plainHost{
		ScreenHost: clients.NewScreen(e.Env, c),
		images:     new([]string),
		agents:     new(plainAgents),
		stderr:     e.Stderr,
	}
	f := clients.Frontend{
		Task: c.Options.Task, Begin: c.Resume, ASCII: c.Screen.ASCII, Verbose: c.Debug, Commands: h,
		Name: func(id string) string {
			if l := h.Session(); l != nil {
				return view.SlashName(l.Snapshot(), id)
			}
			return view.SlashName(nil, id)
		},
		Inbox: func() []supervisor.InboxItem {
			if l := h.Session(); l != nil {
				return supervisor.InboxOf(l.Snapshot())
			}
			return nil
		},
		Covers: func(rule string) []string {
			if l := h.Session(); l != nil {
				return supervisor.Covered(l.Snapshot(), rule)
			}
			return nil
		},
	}
	if run, live := liveHere(c); live {
		h.resume, f.Begin = run, true
	}
	if c.Resume {
		info, err := toResume(c)
		if err != nil {
			return err
		}
		h.resume = info.Run
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.leave, h.atTerminal = cancel, term.IsTerminal(int(os.Stdin.Fd()))
	stop := h.HandleSignals(cancel, nil)
	defer stop()
	failed := f.Run(ctx, e.Stdin, e.Stdout, h)
	outcome := h.End("INT")
	var exit *command.Error
	switch {
	case errors.Is(failed, clients.ErrNoTask):
		return command.Usagef("there is no task: give --task or a requirements file, or type the task")
	case errors.As(failed, &exit):
		return exit
	case failed != nil:
		return &command.Error{Code: cmp.Or(outcome.Exit, contract.ExitFailed), Text: failed.Error()}
	case outcome.Exit == contract.ExitComplete:
		return nil
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}
