package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// plainHost is the host of the frontend that prints plain lines.
type plainHost struct {
	*clients.ScreenHost
	resume     string
	atTerminal bool     // whether the human is at a terminal
	leave      func()   // ends the frontend
	images     []string // paths of the images that go with the next message
	stderr     io.Writer

	// What the agents of the run do, and when they did it, as its events say; nil before the run.
	doing *eventtext.Tracker
	times *view.Timeline
}

// plainRun is a run whose human types lines.
type plainRun struct {
	*clients.ScreenSession
	host *plainHost
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
func (p *plainHost) lostTerminal() bool {
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
func (r plainRun) Put(c contract.Command) string {
	say, said := c.Body.(contract.Say)
	if said {
		say.Images = r.host.takeImages()
		c.Body = say
	}
	if !r.ScreenSession.Put(context.Background(), c) {
		return clients.NotTaken
	}
	if s := r.Snapshot(); said && s != nil {
		return view.Sentence(supervisor.Held(s.Paused, s.Halted))
	}
	return ""
}

func (p *plainHost) Begin(ctx context.Context, task string, sink runloop.Sink) (clients.PlainRun, error) {
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
	p.doing, p.times = doing, times
	if s.Process != nil {
		fmt.Fprint(p.stderr, s.Process.Notices)
	}
	return plainRun{s, p}, nil
}

// Run implements clients.PlainHost: the screen's slash commands, as far as they make sense without a screen.
func (p *plainHost) Run(line string) (handled bool, text string) {
	c, err := view.ParseSlash(line)
	if err != nil {
		return true, err.Error()
	}
	l, s := p.Session(), p.state()
	c = view.Addressed(s, c)
	body, ok, err := view.CommandsFor(s, c)
	here := plainHere[c.Name]
	answer, answered := view.SlashAnswers[c.Name]
	switch {
	case !ok && answered:
		return true, answer.Text(s, c.Arg(0))
	case !ok && here != nil && (l != nil || here.early):
		text, err := here.text(p, plainMoment{l, s, c})
		if err != nil {
			text = sanitize.Line(err.Error(), 1000)
		}
		return true, text
	case l == nil:
		return true, "There is no run yet. Say what is to be done, and one begins."
	case err != nil:
		return true, sanitize.Line(view.Sentence(err.Error()), 500)
	case !ok:
		return true, "/" + c.Name + " needs a screen; /help lists what works here."
	}
	return true, plainRun{l, p}.Put(contract.Command{Ref: body.CommandType(), Body: body})
}

// plainMoment is what a slash command of the plain frontend is about.
type plainMoment struct {
	run   *clients.ScreenSession // nil before the first run
	state *supervisor.State      // nil before the first run
	line  view.EditorCommand
}

// plainAnswer is a slash command that the plain frontend handles itself.
type plainAnswer struct {
	early bool // it can be used before the first run
	text  func(p *plainHost, m plainMoment) (string, error)
}

var plainHere map[string]*plainAnswer

func init() { // set here since help refers back to it
	says := func(early bool, text func(p *plainHost, m plainMoment) string) *plainAnswer {
		return &plainAnswer{early, func(p *plainHost, m plainMoment) (string, error) { return text(p, m), nil }}
	}
	permit := says(false, func(*plainHost, plainMoment) string {
		return "Answer with the number of the request: 1 y, 1 run, 1 always (with the letter of a rule behind it, " +
			"that rule), or 1 n and why. /allow and /deny take a rule, which holds from then on."
	})
	plainHere = map[string]*plainAnswer{
		"help": says(true, func(*plainHost, plainMoment) string { return plainHelp() }),
		"quit": says(true, func(_ *plainHost, m plainMoment) string {
			if m.run == nil {
				return "Nothing was begun. The end of the input leaves."
			}
			m.run.Stop()
			return "So it shall be. The run is being stopped; it can be taken up again."
		}),
		"now": says(true, func(p *plainHost, m plainMoment) string {
			return view.Now(m.state, func(id string) view.Work {
				if p.doing == nil {
					return view.Work{}
				}
				return view.Work{AgentActivity: p.doing.Agent(id)}
			}, time.Now())
		}),
		"runs": {true, func(p *plainHost, _ plainMoment) (string, error) {
			list, err := p.Runs(p.Context())
			return clients.RunsText(list, p.State(), time.Now()), err
		}},
		"focus": says(false, plainFocus),
		"logbook": says(false, func(p *plainHost, m plainMoment) string {
			return fmt.Sprintf("In another terminal, arbiter logs -f %s shows the run with its times, and arbiter watch %[1]s "+
				"prints every event. With --debug all of them are printed here.", m.run.Named())
		}),
		"timeline": says(false, func(p *plainHost, m plainMoment) string {
			return p.times.Words(func(id string) string { return view.SlashName(m.state, id) }, time.Now())
		}),
		"plan":     says(true, func(_ *plainHost, m plainMoment) string { return view.SlashPlan(m.state) }),
		"changes":  {false, plainChanges},
		"settings": {true, plainSettings},
		"model": says(true, func(p *plainHost, m plainMoment) string {
			if p.doing == nil {
				return view.ModelsText(m.state, nil)
			}
			return view.ModelsText(m.state, p.doing.Models())
		}),
		"image":  {true, plainImage},
		"revert": {false, plainRevert},
		"land": {false, func(p *plainHost, m plainMoment) (string, error) {
			report, err := p.Land(p.Context(), m.run.ID())
			return sanitize.Line(report, 500), err
		}},
		"halt":  says(false, func(_ *plainHost, m plainMoment) string { return m.run.Halt() }),
		"allow": permit,
		"deny":  permit,
		"attach": says(false, func(p *plainHost, m plainMoment) string {
			return "In another terminal: arbiter attach " + sanitize.Line(m.line.Arg(0), 60) + " --session " + m.run.Named()
		}),
	}
}

// plainUses are the commands that are used in another way here than on the screen.
var plainUses = map[string]string{
	"allow":  "/allow RULE: from now on, allow all that RULE covers.\n",
	"deny":   "/deny RULE: from now on, deny all that RULE may be about.\n",
	"attach": "/attach AGENT: how to take an agent's session into another terminal.\n",
}

// plainHelp lists the commands that work without a screen. It leaves out how to answer a permission request:
// the request itself says that.
func plainHelp() string {
	var b strings.Builder
	b.WriteString("What you write is said to the Arbiter. Commands:\n")
	for _, spec := range view.EditorCommands {
		b.WriteString(plainUses[spec.Name])
		if !spec.Screen {
			fmt.Fprintf(&b, "%s: %s.\n", spec.Usage(), spec.Help)
		}
	}
	return b.String()
}

// state returns the state of the current or last run; nil before the first.
func (p *plainHost) state() *supervisor.State {
	if l := p.Session(); l != nil {
		return l.Snapshot()
	}
	return nil
}

// Name implements clients.PlainHost.
func (p *plainHost) Name(id string) string { return view.SlashName(p.state(), id) }

// Inbox implements clients.PlainHost.
func (p *plainHost) Inbox() []supervisor.InboxItem {
	if s := p.state(); s != nil {
		return supervisor.InboxOf(s)
	}
	return nil
}

// Covers implements clients.PlainHost.
func (p *plainHost) Covers(rule string) []string {
	if s := p.state(); s != nil {
		return supervisor.Covered(s, rule)
	}
	return nil
}

// plain runs the plain frontend: the same run as on the screen, as lines of text.
func (e env) plain(c settings.Choices) error {
	h := &plainHost{ScreenHost: clients.NewScreen(e.Env, c), stderr: e.Stderr}
	f := clients.Frontend{
		Task: c.Options.Task, Begin: c.Resume, ASCII: c.Screen.ASCII, Verbose: c.Debug,
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
	switch exit, ok := errors.AsType[*command.Error](failed); {
	case errors.Is(failed, clients.ErrNoTask):
		return command.Usagef("there is no task: give --task or a requirements file, or type the task")
	case ok:
		return exit
	case failed != nil:
		return &command.Error{Code: cmp.Or(outcome.Exit, contract.ExitFailed), Text: failed.Error()}
	case outcome.Exit == contract.ExitComplete:
		return nil
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}

// Commands of the plain frontend for the files that a run has changed.

// plainDiff is the maximum size, in bytes, of a diff in plain lines.
const plainDiff = 32 << 10

// plainChanges lists the changed files with their authors, or shows the changes of one file.
func plainChanges(p *plainHost, m plainMoment) (string, error) {
	r, _, changed, err := p.ChangedFiles(p.Context(), m.run.ID())
	path := m.line.Arg(0)
	if err != nil || path == "" {
		return changesText(changed, m.state), err
	}
	span, err := r.Work(p.Context())
	if err != nil {
		return "", err
	}
	text, cut, err := r.Diff(p.Context(), span.From, span.To,
		workspaces.DiffOptions{Paths: []string{path}, Max: plainDiff})
	if err != nil || len(text) == 0 {
		return "The run has not changed " + subcommands.FileName(path) + ".", err
	}
	report := strings.TrimRight(sanitize.Text(string(text)), "\n")
	if cut {
		report += "\nThe rest is left out: arbiter diff " + m.run.Named() + " prints all of it."
	}
	return report + "\n/revert " + subcommands.FileName(path) + " takes all of it back; with the numbers behind @@, " +
		"such as -12,3 +12,5, one place.", nil
}

// changesText lists changed files: the kind of change, the numbers of lines, and who changed the file.
func changesText(changed []workspaces.Change, s *supervisor.State) string {
	if len(changed) == 0 {
		return "No file has changed since the run began."
	}
	var b strings.Builder
	added, deleted := 0, 0
	for _, c := range changed {
		added, deleted = added+c.Added, deleted+c.Deleted
		fmt.Fprintf(&b, "%s %s", subcommands.FileName(c.Path), c.Status)
		if c.Old != "" {
			fmt.Fprintf(&b, " from %s", subcommands.FileName(c.Old))
		}
		if c.Binary {
			b.WriteString(", binary")
		} else {
			fmt.Fprintf(&b, ", +%d -%d", c.Added, c.Deleted)
		}
		if s != nil {
			if f, ok := s.Changes.File(c.Path); ok {
				var who []string
				for _, id := range f.Known() {
					who = append(who, view.SlashName(s, id))
				}
				for _, id := range f.Maybe() {
					who = append(who, "perhaps "+view.SlashName(s, id))
				}
				if len(who) > 0 {
					b.WriteString(", by " + strings.Join(who, ", "))
				}
				if len(f.Reported) > 1 {
					b.WriteString(", overlap")
				}
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s, +%d -%d. /changes PATH shows what has changed in one.", words.Count(len(changed), "file"), added,
		deleted)
	return b.String()
}

// plainRevert reverts a file, or one hunk of it.
func plainRevert(p *plainHost, m plainMoment) (string, error) {
	revert := contract.Revert{Path: m.line.Arg(0), Hunk: m.line.Arg(1)}
	if revert.Hunk != "" {
		_, _, changed, err := p.ChangedFiles(p.Context(), m.run.ID())
		i := slices.IndexFunc(changed, func(c workspaces.Change) bool { return c.Path == revert.Path })
		if err != nil || i < 0 {
			return "The run has not changed " + subcommands.FileName(revert.Path) + ".", err
		}
		revert.Seen = changed[i].To.ID
	}
	if m.run.Put(p.Context(), contract.Command{Ref: "plain", Body: revert}) {
		return "", nil
	}
	return "reverted " + subcommands.FileName(revert.Path), p.Revert(p.Context(), m.run.ID(), revert)
}

// maxFocusItems is how many of an agent's last texts and calls /focus shows.
const maxFocusItems = 12

// plainFocus describes one agent.
func plainFocus(p *plainHost, m plainMoment) string {
	s, id := m.state, m.line.Arg(0)
	a, ok := s.Agent(id)
	if !ok {
		return "There is no agent " + sanitize.Line(id, 60) + "; /now lists those that are there."
	}
	var items []eventtext.ActivityItem
	if p.doing != nil {
		items = p.doing.Agent(id).Items
	}
	return focusText(s, &a, items)
}

func focusText(s *supervisor.State, a *supervisor.Agent, items []eventtext.ActivityItem) string {
	var b strings.Builder
	b.WriteString(view.SlashName(s, a.ID))
	if a.Mode != "" {
		b.WriteString(" (" + sanitize.Line(a.Mode, 60) + ")")
	}
	does, _ := eventtext.AgentState(s, a, supervisor.InboxOf(s))
	fmt.Fprintf(&b, ": %s, process %d, session %s, %s.\n", does, a.Generation, sanitize.Line(a.SessionID, 60),
		eventtext.Costs(eventtext.Dollars(a.Spent()), s.Options.Rehearsal, a.CostUnknown))
	if brief := strings.TrimSpace(a.Brief); brief != "" {
		b.WriteString("Its brief: " + words.Sentence(sanitize.Line(words.FirstLine(brief), 300)) + "\n")
	}
	if len(items) == 0 {
		b.WriteString("It has said and done nothing yet.\n")
	}
	for _, i := range items[max(len(items)-maxFocusItems, 0):] {
		b.WriteString("- " + i.At.Local().Format("15:04:05") + " " + itemText(i) + "\n")
	}
	return b.String()
}

// itemText renders an agent's text or call on one line.
func itemText(i eventtext.ActivityItem) string {
	if !i.Call() {
		return "says: " + words.Sentence(sanitize.Line(i.Text, 300))
	}
	text := sanitize.Line(i.Tool+" "+i.Summary, 200)
	if i.Added+i.Removed > 0 {
		text += fmt.Sprintf(", +%d -%d lines", i.Added, i.Removed)
	}
	switch {
	case i.Runs():
		text += ", running for " + eventtext.Span(time.Since(i.At).Truncate(time.Second))
	case i.Failed:
		text += ", failed: " + sanitize.Line(i.Result, 200)
	default:
		text += ", " + eventtext.Span(i.Until.Sub(i.At))
	}
	return words.Sentence(text)
}

// plainImage keeps an image file for the next message.
func plainImage(p *plainHost, m plainMoment) (string, error) {
	path, size, err := p.Image(m.line.Arg(0))
	if err != nil {
		return "", errors.New(view.Sentence(err.Error()))
	}
	p.images = append(p.images, path)
	text := fmt.Sprintf("Image %d, %s, %s, goes with your next message.", len(p.images), path, size)
	return sanitize.Line(text, 500), nil
}

// takeImages returns the kept images and forgets them: they go with one message.
func (p *plainHost) takeImages() []string {
	taken := p.images
	p.images = nil
	return taken
}

// plainSettings lists the settings, describes one, or changes one in the user's configuration file.
func plainSettings(p *plainHost, m plainMoment) (string, error) {
	name, value, given := strings.Cut(strings.TrimSpace(m.line.Arg(0)), " ")
	if given {
		if value = strings.TrimSpace(value); value == "default" {
			value = ""
		}
		text, err := p.ChangeSetting(p.Context(), name, value)
		if err != nil {
			text = "Nothing was written: " + err.Error()
		}
		return sanitize.Line(text, 1000), nil
	}
	list, file, err := p.Settings(p.Context())
	if err != nil {
		return "", err
	}
	if name != "" {
		i := slices.IndexFunc(list, func(s tui.Setting) bool { return s.Name == name })
		if i < 0 {
			return "There is no setting " + sanitize.Line(name, 60) + ": /settings lists them.", nil
		}
		return settingText(list[i]), nil
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.Name, sanitize.Line(s.Value, 200),
			sanitize.Line(cmp.Or(s.Source, "default"), 200))
	}
	return b.String() + "Your configuration file is " + sanitize.Line(file, 400) +
		". /settings NAME explains one, /settings NAME VALUE changes it there, /settings NAME default removes it.", nil
}

func settingText(s tui.Setting) string {
	text := fmt.Sprintf("%s: %s\n%s\n", s.Name, sanitize.Line(s.Value, 1000), s.About)
	if len(s.Choices) > 0 {
		text += "One of " + strings.Join(s.Choices, ", ") + ".\n"
	}
	if s.Source == "" {
		text += "It is the default."
	} else {
		text += "Set by " + sanitize.Line(s.Source, 400) + "."
	}
	return text + " A change takes effect " + s.When + "."
}
