package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/tui"
)

// ScreenHost provides an interactive frontend with the functions of the program: it starts runs, one after the other,
// and lends the terminal.
type ScreenHost struct {
	env         command.Env
	choices     settings.Choices       // mu guards the members about trust
	awayUntil   atomic.Int64           // Unix time in nanoseconds until which another program has the terminal
	onInterrupt atomic.Pointer[func()] // called at Ctrl+C while the terminal is lent; nil before that
	ctx         context.Context        // of the programs that have the terminal
	recall      func()                 // ends ctx
	typed       sync.Mutex             // for writing the file of inputs
	files       fileList               // of the workspace
	mu          sync.Mutex             // guards the following members
	signal      string                 // that ended the program
	last        *ScreenSession         // the last one started
	lack        string                 // what prevents a run from starting, as far as known
	refused     *command.Error         // why the last one did not start
	without     bool                   // the person continues without the workspace's own settings
	sessions    sync.WaitGroup         // goroutines that wait for the ends of sessions
}

func NewScreen(e command.Env, c settings.Choices) *ScreenHost {
	h := &ScreenHost{env: e, choices: c}
	h.ctx, h.recall = context.WithCancel(context.Background())
	return h
}

// Begin implements tui.Host: it starts a process that plays the run, or connects to the one that already plays it.
func (h *ScreenHost) Begin(ctx context.Context, b tui.Begin, sink runloop.Sink) (tui.Run, error) {
	s, err := h.begin(ctx, b, sink)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused = nil; err != nil {
		if !errors.As(err, &h.refused) {
			h.refused = &command.Error{Code: contract.ExitFailed, Text: err.Error()}
		}
		return nil, err
	}
	h.last = s
	h.sessions.Go(s.Watch)
	return s, nil
}

// begin follows a run, starting with the first event that the frontend does not know.
func (h *ScreenHost) begin(ctx context.Context, b tui.Begin, sink runloop.Sink) (*ScreenSession, error) {
	c := h.Choices()
	var log *journal.EventLog
	if b.Resume != "" {
		var err error
		if log, err = h.Past(ctx, b.Resume); err != nil {
			return nil, err
		}
	}
	if log != nil {
		defer log.Close()
		run, socket, live := h.playing(b.Resume)
		if live {
			s, err := OpenSession(ctx, socket, log, b.After, sink)
			if err != nil {
				return nil, Refusal(run, err)
			}
			if b.Task != "" {
				s.Put(contract.Command{Ref: "task", Body: contract.Say{To: contract.Arbiter, Text: b.Task,
					Images: b.Images}})
			}
			return s, nil
		}
	}
	c.Options.Partial = true
	c.Options.Task, c.Images = b.Task, b.Images
	c.Resume, c.Session = b.Resume != "", b.Resume
	if b.Rehearse {
		if !c.Rehearse { // it was chosen because something is missing: it shows what a run is
			c.Scenario = "demo"
		}
		c = host.Rehearsal(c)
	} else if !h.declined() {
		c.AskInRun()
	}
	if c.Resume {
		c.Rehearse, c.Options.Rehearsal = false, false // the run has its own setting
	}
	p, err := host.StartProcess(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := OpenSession(ctx, p.Socket, log, b.After, sink)
	if err != nil {
		p.End()
		return nil, Refusal(p.Run, err)
	}
	s.Process = p
	return s, nil
}

// playing finds the process that currently plays a run.
func (h *ScreenHost) playing(run string) (id, socket string, live bool) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return run, "", false
	}
	defer store.Close()
	return info.Run, store.SocketOf(info.Run, control.SocketName), info.Live
}

// Past implements tui.Host.
func (h *ScreenHost) Past(_ context.Context, run string) (*journal.EventLog, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	log, err := store.EventLog(info.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the journal is enough to continue
	}
	if err != nil {
		return nil, command.Environmentf("the conversation of run %s cannot be read: %v", command.ShortID(run), err)
	}
	return log, nil
}

func (h *ScreenHost) Inspect(ctx context.Context) tui.Findings {
	c := h.Choices()
	f := findingsOfClaude(ctx, c)
	f.CWD, f.Trusted, f.Trust = h.choices.Place, c.Options.Trusted, findingsOf(c.Trusting)
	f.Permissions, f.Sandbox = c.Options.Permissions, c.Sandbox.Mode
	h.mu.Lock()
	h.lack = lackOf(f)
	h.mu.Unlock()
	store, err := journal.OpenStore(h.choices.StateDir)
	if err != nil {
		return f
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return f
	}
	for _, i := range list {
		if info := h.runInfo(i); info.Resumable && info.Here {
			f.Runs = append(f.Runs, info)
		}
	}
	return f
}

// lackOf says what prevents a run from starting; empty if nothing does.
func lackOf(f tui.Findings) string {
	switch {
	case f.Rehearsal:
		return ""
	case f.Claude == "":
		return "no run was started: " + f.Problem
	case f.Login == tui.LoginNo:
		return "no run was started: claude is not logged in"
	}
	return ""
}

// endWithoutRun returns the outcome of a program that has started no run.
func (h *ScreenHost) endWithoutRun() tui.Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.signal == "INT":
		return tui.Outcome{Exit: contract.ExitInterrupted}
	case h.signal != "":
		return tui.Outcome{Exit: contract.ExitTerminated}
	case h.refused != nil:
		return tui.Outcome{Exit: h.refused.Code, Text: h.refused.Text}
	case h.lack != "":
		return tui.Outcome{Exit: contract.ExitEnvironment, Text: h.lack}
	}
	return tui.Outcome{}
}

// End stops the running session and waits for it, or leaves it, and prints final messages on stderr. The screen is
// closed by then.
func (h *ScreenHost) End(signal string) tui.Outcome {
	h.mu.Lock()
	s := h.last
	if h.signal != "" {
		signal = h.signal
	}
	h.mu.Unlock()
	if s == nil {
		return h.endWithoutRun()
	}
	if s.HasLeft() && !s.Over() && !s.Stopping() {
		fmt.Fprintf(h.env.Stderr, "Run %s continues without a screen. To see it again: arbiter attach %s%s\n",
			command.ShortID(s.ID()), command.ShortID(s.ID()), settings.StateForCommand(h.choices.StateDir))
		s.Part()
		if signal == "INT" {
			return tui.Outcome{} // it was left with a key
		}
		return tui.Outcome{Exit: contract.ExitTerminated}
	}
	if !s.Over() {
		if !s.Stopping() { // otherwise this would be a second stop, which hurries
			s.StopBy(signal)
		}
		fmt.Fprintln(h.env.Stderr,
			"The run is being stopped, so that it can be resumed. Ctrl+C again stops it faster.")
	}
	s.Close()
	h.sessions.Wait()
	for _, line := range s.Notices() {
		fmt.Fprintln(h.env.Stderr, line)
	}
	return s.Outcome()
}

// Context returns the context of the programs that have the terminal.
func (h *ScreenHost) Context() context.Context { return h.ctx }

// Session returns the current or last session; nil before the first.
func (h *ScreenHost) Session() *ScreenSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// findingsOfClaude inspects the CLI. A rehearsal needs no login, because it has its own key.
func findingsOfClaude(ctx context.Context, c settings.Choices) tui.Findings {
	s := host.InspectClaude(ctx, c.Claude, !c.Rehearse)
	f := tui.Findings{
		Claude: s.Version, Path: s.Path, Problem: s.Problem, Missing: s.Missing, Login: tui.LoginUnknown,
		Account: cmp.Or(s.Login.Email, s.Login.Method), Rehearsal: c.Rehearse, Model: c.Options.Model,
	}
	if s.Login.Known {
		if f.Login = tui.LoginNo; s.Login.LoggedIn {
			f.Login = tui.LoginYes
		}
	}
	return f
}

// Choices returns a copy of the current choices.
func (h *ScreenHost) Choices() settings.Choices {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.choices
}

func (h *ScreenHost) declined() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.without
}

// findingsOf returns what a person is shown of the workspace; nothing for a trusted one.
func findingsOf(t settings.TrustState) tui.Trust {
	f := tui.Trust{Changed: t.Recorded, Problem: t.Problem}
	if t.Trusted {
		return f
	}
	type key struct{ kind, file, name string }
	how := map[key]string{}
	for _, c := range t.Changed {
		how[key{c.Item.Kind, c.Item.File, c.Item.Name}] = c.How
		if c.How == trust.Removed {
			f.Items = append(f.Items, tui.TrustItem{Kind: c.Item.Kind, File: c.Item.File, Name: c.Item.Name,
				What: c.Item.What, How: c.How})
		}
	}
	for _, i := range t.Listing.Items {
		if !i.Counts() {
			f.Texts = append(f.Texts, i.File)
		} else {
			f.Items = append(f.Items, tui.TrustItem{Kind: i.Kind, File: i.File, Name: i.Name, What: i.What,
				How: how[key{i.Kind, i.File, i.Name}]})
		}
	}
	return f
}

// Trust implements tui.Host: it records trust in what was shown, if that is unchanged, and the next run uses it.
// The workspace's configuration file takes effect at the next start of the program.
func (h *ScreenHost) Trust(context.Context) error {
	c := h.Choices()
	t := c.Trusting
	t.Trusted, t.Recorded, t.Changed, t.Problem = true, true, nil, ""
	if err := t.Unchanged(c.Place); err != nil {
		return err
	}
	store, err := trust.Open(c.StateDir)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if err := store.Trust(c.Place, t.Listing, "the screen", time.Now()); err != nil {
		return command.Environmentf("%v", err)
	}
	c.Adopt(t)
	if err := c.ReadInstructions(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.choices.Trusting, h.choices.Options.Trusted, h.choices.Options.TrustHash = t, c.Options.Trusted,
		c.Options.TrustHash
	h.choices.Options.Modes, h.choices.Options.Templates, h.choices.Notice = c.Options.Modes, c.Options.Templates,
		c.Notice
	return nil
}

// Without implements tui.Host: the person is not asked again.
func (h *ScreenHost) Without() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.without = true
}
