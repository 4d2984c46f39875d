package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/activity"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/notify"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/terminal"
	"github.com/arbiter-cli/arbiter/tui/timeline"
)

// Options are how a frontend begins, and how it looks.
type Options struct {
	Host    Host
	Screen  tcell.Screen // nil: the terminal's own
	Scratch string       // directory for what is scrolled back to; empty: memory only
	Home    string       // the user's, where permission rules with ~ begin

	Theme  string // a name of render.ThemeNames
	Around render.Surroundings
	ASCII  bool // no glyphs beyond ASCII
	Still  bool // reduced motion
	Mouse  bool
	Notify notify.Options
	Ritual Ritual

	Rehearsal bool   // what is begun is one; shown from the first moment
	Begin     *Begin // what to begin at once; nil: the oracle waits for a word

	Painting func() // called before each paint; of tests
}

// Frontend is the oracle on a terminal. [Frontend.Run] owns all that belongs to it.
type Frontend struct {
	options   Options
	screen    *terminal.Screen
	app       *tview.Application
	history   *history.Store
	subagents eventview.Subagents // who is whose subagent
	activity  activity.Tracker    // what everybody does
	timeline  timeline.Timeline   // and when
	box       *mailbox
	pump      *pump
	root      *app
	ctx       context.Context // ends when the frontend does
	workers   sync.WaitGroup
	commands  chan queuedCommand // capacity 64: what a person does by hand never fills it
	quit      chan struct{}      // closed when the user wants to leave
	once      sync.Once

	partial  bool           // the book has only the end of what was reported; of tview's loop
	indexing sync.WaitGroup // until all that was told in earlier process runs can be read
	older    []io.Closer    // stores and logs that a screen may still read from

	resumed resumed // it belongs to the worker that begins a run

	// recalled are the runs whose past is in the book, by their ids or the beginnings of
	// them; it belongs to the one worker that begins a run.
	recalled []string

	mu     sync.Mutex // guards what follows
	posts  []func()   // to be run by tview's loop before the next paint
	news   []contract.Event
	run    Run // the present one
	broken *Fault
	lost   error         // why the terminal is no more
	pace   time.Duration // until the next frame of what moves
}

// Fault is a panic of Arbiter. The terminal is itself again when it is returned.
type Fault struct {
	Panic string
	Stack []byte
}

func (f *Fault) Error() string { return "a fault of arbiter's screen: " + f.Panic }

// queuedCommand is a command on its way to a run.
type queuedCommand struct {
	run Run
	cmd contract.Command
}

// New makes a frontend; nothing is touched before [Frontend.Run].
func New(o Options) (*Frontend, error) {
	f := &Frontend{
		options: o, app: tview.NewApplication(), box: newMailbox(),
		commands: make(chan queuedCommand, 64), quit: make(chan struct{}),
	}
	if o.Screen != nil {
		f.screen = terminal.Wrap(o.Screen)
	} else {
		var err error
		if f.screen, err = terminal.Open(); err != nil {
			return nil, fmt.Errorf("open the terminal: %w", err)
		}
	}
	f.screen.OnLoss = f.lose
	f.pump = &pump{
		box: f.box, add: f.take, changed: f.changed, again: make(chan struct{}, 1), draw: f.draw, motion: f.motion,
	}
	return f, nil
}

// Run shows the frontend until a person leaves it or ctx ends. The terminal is as it was
// when it returns, and no goroutine of the frontend is left. A run that was begun continues:
// its end is the host's.
func (f *Frontend) Run(ctx context.Context) error {
	book, err := history.Open(history.Options{Dir: f.options.Scratch})
	if err != nil {
		return fmt.Errorf("open a place for what is scrolled back to: %w", err)
	}
	f.history = book
	defer f.closeReaders()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.ctx = ctx
	if err := f.open(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // waited for below
		defer close(ended)
		defer f.keepPanic()
		_ = f.app.Run() // it has no error of its own: see [terminal.Screen.PollEvent]
	}()
	var pumping sync.WaitGroup
	pumping.Go(func() { defer f.keepPanic(); f.pump.run(ctx) })
	f.work(f.deliver)
	f.post(f.root.start)
	over := false
	select {
	case <-f.quit: // also when the terminal is gone
	case <-ctx.Done():
	case <-ended: // a bug
		over = true
	}
	cancel()
	pumped := make(chan struct{})
	go func() { pumping.Wait(); close(pumped) }()
	if !over {
		select {
		case <-pumped: // while the loop still answered it
			// By the loop, which may have lent the terminal just now: one that was closed
			// meanwhile is drawn on for ever. Waited for, unless the loop ends before.
			go f.app.QueueUpdate(f.app.Stop)
			<-ended
		case <-ended: // at the same time
			over = true
		}
	}
	if over {
		f.app.Stop() // lets go of what listened to the terminal, after a fault
		abandon(pumped)
	}
	f.workers.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if f.lost != nil {
		return &LostError{Err: f.lost}
	}
	return nil
}

// LostError says that a terminal that was shown to went away.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

// open takes the terminal and builds what is shown on it.
func (f *Frontend) open() (err error) {
	f.app.SetScreen(f.screen) // initialises it
	if f.screen.Failed() != nil {
		return fmt.Errorf("open the terminal: %w", f.screen.Failed())
	}
	opened := false
	defer func() {
		if p := recover(); p != nil { // before there is a loop that deals with its own
			err = &Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()}
		}
		if !opened {
			f.screen.Fini()
		}
	}()
	look, err := newLook(f.options, f.screen.Colors())
	if err != nil {
		return err
	}
	f.root = newApp(f, look)
	f.app.EnableMouse(f.options.Mouse).EnablePaste(true)
	f.app.SetInputCapture(func(e *tcell.EventKey) *tcell.EventKey {
		f.root.key(e)
		return nil // painted at once, and nothing else has keys of its own
	})
	if painting := f.options.Painting; painting != nil {
		f.app.SetBeforeDrawFunc(func(tcell.Screen) bool { painting(); return false })
	}
	f.app.SetRoot(f.root, true)
	if f.options.Around.ColorFGBG == "" && (f.options.Theme == render.Auto || f.options.Theme == "") {
		f.screen.AskBackground(func(c render.RGB) { f.post(func() { f.root.background(c) }) })
	}
	opened = true
	return nil
}

// newLook is how everything is drawn.
func newLook(o Options, colors int) (*render.Look, error) {
	theme, err := render.NewTheme(render.ResolveTheme(o.Theme, o.Around), colors)
	if err != nil {
		return nil, err
	}
	look := &render.Look{Theme: theme, Glyphs: render.Unicode, Still: o.Still}
	if o.ASCII {
		look.Glyphs = render.ASCII
	}
	return look, nil
}

// abandon waits for the pump when the loop has ended under it. A paint that it had
// asked for at that very moment is never answered (rivo/tview#1163); then it stays
// behind, and ends with the process.
func abandon(pumped <-chan struct{}) {
	select {
	case <-pumped:
	case <-time.After(10 * frame):
	}
}

// keepPanic keeps a panic for Run to return, and has everything end.
func (f *Frontend) keepPanic() {
	if p := recover(); p != nil {
		f.mu.Lock()
		if f.broken == nil {
			f.broken = &Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()}
		}
		f.mu.Unlock()
		f.Leave()
	}
}

// lose ends the frontend because its terminal is gone.
func (f *Frontend) lose(err error) {
	f.mu.Lock()
	f.lost = err
	f.mu.Unlock()
	f.Leave()
}

// Leave ends the frontend, from any goroutine.
func (f *Frontend) Leave() { f.once.Do(func() { close(f.quit) }) }

// take gets an event from the pump.
func (f *Frontend) take(t queuedEvent) {
	f.history.Add(t.at, t.e)
	f.subagents.Add(t.e)
	f.activity.Add(t.at, t.e)
	f.timeline.Add(t.at, t.e)
	if t.again || contract.Narrates(t.e.Body) {
		return
	}
	f.mu.Lock()
	f.news = append(f.news, t.e)
	f.mu.Unlock()
}

// changed is the hint of the present run.
func (f *Frontend) changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == nil {
		return nil
	}
	return f.run.Changed()
}

// draw is the pump's: it has the loop take over what is new, and paint.
func (f *Frontend) draw() {
	f.app.QueueUpdateDraw(func() {
		f.mu.Lock()
		posts, news := f.posts, f.news
		f.posts, f.news = nil, nil
		f.mu.Unlock()
		for _, p := range posts {
			p()
		}
		f.root.refresh(news)
		f.mu.Lock()
		f.pace = f.root.pace()
		f.mu.Unlock()
	})
}

func (f *Frontend) motion() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pace
}

// post has tview's loop run something, before its next paint.
func (f *Frontend) post(do func()) {
	f.mu.Lock()
	f.posts = append(f.posts, do)
	f.mu.Unlock()
	hint(f.pump.again)
}

// work runs what may take time on a goroutine that Run waits for.
func (f *Frontend) work(do func(ctx context.Context)) {
	f.workers.Go(func() {
		defer f.keepPanic()
		do(f.ctx)
	})
}

// deliver hands commands to their runs, one after the other.
func (f *Frontend) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-f.commands:
			if !o.run.Put(o.cmd) {
				f.post(func() { f.root.session.restoreUnsent(o.cmd.Body) })
			}
		}
	}
}

// errBusy says that commands pile up.
var errBusy = errors.New("the run is busy; that was not taken, say it again in a moment")

// command sends a command to the present run, without waiting.
func (f *Frontend) command(run Run, c contract.Command) error {
	select {
	case f.commands <- queuedCommand{run, c}:
		return nil
	default:
		return errBusy
	}
}

// follow makes a run the present one; nil: there is none.
func (f *Frontend) follow(r Run) {
	f.mu.Lock()
	f.run = r
	f.mu.Unlock()
	hint(f.pump.again)
}
