package tui

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// Options set how a frontend begins, and how it looks.
type Options struct {
	Host   Host
	Screen tcell.Screen // nil: the terminal's own

	Theme  string // a name of render.ThemeNames
	Around render.Surroundings
	ASCII  bool // no glyphs beyond ASCII
	Still  bool // reduced motion
	Mouse  bool
	Notify render.NotifyOptions
	Ritual Ritual

	Rehearsal bool   // a run begun here is a rehearsal; shown from the first frame
	Begin     *Begin // what to begin at once; nil: the screen waits for a task

	Painting func() // called before each paint; for tests
}

// Frontend is the screen on a terminal. [Frontend.Run] owns all that belongs to it.
type Frontend struct {
	options  Options
	screen   *render.Screen
	app      *tview.Application
	history  *history.Store
	activity eventtext.Tracker // what all agents do
	timeline view.Timeline     // and when
	box      *mailbox
	pump     *pump
	root     *app
	ctx      context.Context // ends when the frontend does
	workers  sync.WaitGroup
	commands chan queuedCommand // capacity 64: a person's actions never fill it
	notSent  []string           // what no run has taken; written by the worker that sends
	quit     chan struct{}      // closed when the user wants to leave
	lent     atomic.Bool        // another program has the terminal
	once     sync.Once

	partial  bool                // the store has only the last events; owned by tview's loop
	indexing sync.WaitGroup      // until all events of earlier processes can be read
	logs     []*journal.EventLog // that a screen may still read

	// read are the runs whose past is in the store, by their ids or prefixes of them, and how far their logs were read.
	// It belongs to the one worker that begins a run.
	read map[string]journal.LogPosition

	detached atomic.Bool     // the run is left running
	begins   context.Context // of the start of a run, which goes on if the run is left running

	mu        sync.Mutex // guards the following fields
	posts     []func()   // run by tview's loop before the next paint
	newEvents []contract.Event
	sending   *queuedCommand // that the run has not taken yet
	run       Run            // the current one
	broken    *Fault
	lost      error         // why the terminal was lost
	pace      time.Duration // until the next frame of an animation
}

// Fault is a panic of Arbiter. The terminal has been restored when it is returned.
type Fault struct {
	Panic string
	Stack []byte
}

func (f *Fault) Error() string { return "bug in arbiter's screen: " + f.Panic }

// queuedCommand is a command that waits to be sent to a run.
type queuedCommand struct {
	run  Run
	cmd  contract.Command
	sent time.Time
}

// New returns a frontend; it opens nothing before [Frontend.Run].
func New(o Options) (*Frontend, error) {
	f := &Frontend{
		options: o, app: tview.NewApplication(), box: newMailbox(),
		commands: make(chan queuedCommand, 64), quit: make(chan struct{}), read: map[string]journal.LogPosition{},
	}
	if o.Screen != nil {
		f.screen = render.WrapScreen(o.Screen)
	} else {
		var err error
		if f.screen, err = render.OpenTerminal(); err != nil {
			return nil, fmt.Errorf("open the terminal: %w", err)
		}
	}
	f.screen.OnLoss = f.lose
	f.pump = &pump{
		box: f.box, add: f.take, changed: f.changed, again: make(chan struct{}, 1), draw: f.draw, motion: f.motion,
	}
	return f, nil
}

// Run shows the frontend until a person leaves it or ctx ends. When it returns, the terminal is restored,
// and no goroutine of the frontend is left. A run that was begun continues: the host ends it.
func (f *Frontend) Run(ctx context.Context) error {
	f.history = history.New(history.Memory)
	defer func() {
		for _, log := range f.logs {
			log.Close()
		}
	}()
	begins, stop := context.WithCancel(ctx)
	defer stop()
	ctx, cancel := context.WithCancel(begins)
	defer cancel()
	f.ctx, f.begins = ctx, begins
	if err := f.open(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // waited for below
		defer close(ended)
		defer f.keepPanic()
		_ = f.app.Run() // it returns no error of its own: see [render.Screen.PollEvent]
	}()
	var pumping sync.WaitGroup
	pumping.Go(func() { defer f.keepPanic(); f.pump.run(ctx) })
	f.work(f.deliver)
	if f.options.Screen == nil {
		f.work(f.stopped)
	}
	f.post(f.root.start)
	over := false
	select {
	case <-f.quit: // also when the terminal is lost
	case <-ctx.Done():
	case <-ended: // a bug
		over = true
	}
	cancel()
	if !f.detached.Load() {
		stop()
	}
	pumped := make(chan struct{})
	go func() { pumping.Wait(); close(pumped) }()
	if !over {
		select {
		case <-pumped: // while the loop still answered
			// By the loop, because it may have lent the terminal at this moment: if tview were stopped
			// meanwhile, it would draw on a closed terminal forever. Wait for it, unless the loop ends
			// before.
			go f.app.QueueUpdate(f.app.Stop)
			<-ended
		case <-ended: // at the same time
			over = true
		}
	}
	if over {
		f.app.Stop() // releases the goroutine that reads the terminal, after a fault
		// If the pump requested a paint at that moment, the paint never returns (rivo/tview#1163); then the pump is left
		// behind, and ends with the process.
		select {
		case <-pumped:
		case <-time.After(10 * frame):
		}
	}
	f.workers.Wait()
	f.work(f.deliver) // what came after the last look, while the loop still ran
	f.workers.Wait()
	if f.detached.Load() && f.run != nil {
		f.run.Leave()
	}
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

// stopped suspends the screen when a signal asks for it. After a stop without a warning it takes the terminal anew,
// since a shell may have changed it. While the terminal is lent, the program that has it is stopped by the same signal,
// and this process stops with it: once caught, the signal does not do that by itself any more.
func (f *Frontend) stopped(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-signals:
			stop := sig == syscall.SIGTSTP
			switch {
			case f.lent.Load() && stop:
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // a process may always do that
			case f.lent.Load():
			case stop:
				f.post(func() { f.root.outside(Host.Suspend) })
			default:
				f.post(func() { f.root.outside(func(Host) error { return nil }) })
			}
		}
	}
}

// LostError reports that the terminal was lost.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

func (f *Frontend) open() (err error) {
	f.app.SetScreen(f.screen) // initialises it
	if f.screen.Failed() != nil {
		return fmt.Errorf("open the terminal: %w", f.screen.Failed())
	}
	opened := false
	defer func() {
		if p := recover(); p != nil { // before the loop runs, which handles its own panics
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
		return nil // painted at once, and no other primitive handles keys
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

// keepPanic keeps a panic for Run to return, and ends everything.
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

// lose ends the frontend because its terminal was lost.
func (f *Frontend) lose(err error) {
	f.mu.Lock()
	f.lost = err
	f.mu.Unlock()
	f.Leave()
}

// Leave ends the frontend, from any goroutine.
func (f *Frontend) Leave() { f.once.Do(func() { close(f.quit) }) }

// take receives an event from the pump.
func (f *Frontend) take(t queuedEvent) {
	f.history.Add(t.at, t.e)
	f.activity.Add(t.at, t.e)
	f.timeline.Add(t.at, t.e)
	if t.again || contract.Narrates(t.e.Body) {
		return
	}
	f.mu.Lock()
	f.newEvents = append(f.newEvents, t.e)
	f.mu.Unlock()
}

// cut ends what runs by the last reports of a process that has gone. The pump waits meanwhile.
func (f *Frontend) cut() {
	end := contract.Event{ID: contract.Supervisor, Body: contract.Result{Status: contract.StatusInterrupted}}
	f.history.Cut(end)
	f.activity.Add(now(), end)
	f.timeline.Add(now(), end)
}

// changed returns the channel that signals changes of the current run.
func (f *Frontend) changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == nil {
		return nil
	}
	return f.run.Changed()
}

// draw makes the loop update from new events, and paint. The pump calls it.
func (f *Frontend) draw() {
	f.app.QueueUpdateDraw(func() {
		f.mu.Lock()
		posts, newEvents := f.posts, f.newEvents
		f.posts, f.newEvents = nil, nil
		f.mu.Unlock()
		for _, p := range posts {
			p()
		}
		f.root.refresh(newEvents)
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

// post makes tview's loop call do before its next paint.
func (f *Frontend) post(do func()) {
	f.mu.Lock()
	f.posts = append(f.posts, do)
	f.mu.Unlock()
	backlog.Hint(f.pump.again)
}

// work calls do on a goroutine that Run waits for, because it may take time.
func (f *Frontend) work(do func(ctx context.Context)) {
	f.workers.Go(func() {
		defer f.keepPanic()
		do(f.ctx)
	})
}

// ask makes a worker read something, and hands it to tview's loop.
func ask[T any](f *Frontend, read func(context.Context) (T, error), then func(T, error)) {
	f.work(func(ctx context.Context) {
		found, err := read(ctx)
		f.post(func() { then(found, err) })
	})
}

// deliver sends commands to their runs, one after the other: when the frontend ends, those that wait, too, but it does
// not wait for a run that hangs.
func (f *Frontend) deliver(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sentSoon, stop) })()
	for {
		select {
		case o := <-f.commands:
			f.put(sending, o)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			return
		case o := <-f.commands:
			f.put(sending, o)
		}
	}
}

// put sends a command to its run.
func (f *Frontend) put(ctx context.Context, o queuedCommand) {
	o.sent = time.Now()
	f.setSending(&o)
	defer f.setSending(nil)
	text := written(o.cmd.Body)
	switch {
	case o.run.Put(ctx, o.cmd):
	case f.ctx.Err() != nil: // nothing is shown any more
		f.notSent = append(f.notSent, cmp.Or(text, o.cmd.Body.CommandType()))
	default:
		f.post(func() {
			f.root.flash("The run is over.")
			if text != "" && f.root.prompt.input.Empty() {
				f.root.prompt.input.SetText(literal(text))
				f.root.prompt.write()
			}
		})
	}
}

// Unsent returns what a person wrote that no run had taken when [Frontend.Run] returned.
func (f *Frontend) Unsent() []string { return f.notSent }

// written returns what a person wrote for a command; empty: nothing.
func written(b contract.CommandBody) string {
	switch b := b.(type) {
	case contract.Say:
		return b.Text
	case contract.EditMessage:
		return b.Text
	}
	return ""
}

// setSending notes the command that a run has not taken yet; nil: there is none.
func (f *Frontend) setSending(o *queuedCommand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sending = o
}

// unsent returns the words that a run has not taken for a while; empty: there are none.
func (f *Frontend) unsent() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sending == nil || time.Since(f.sending.sent) < sentSoon {
		return ""
	}
	text := cmp.Or(written(f.sending.cmd.Body), f.sending.cmd.Body.CommandType())
	if n := len(f.commands); n > 0 {
		text = fmt.Sprintf("%s, and %s", text, words.Count(n, "more command"))
	}
	return text
}

// sentSoon is how long a command may take before the screen says that it was not taken yet.
const sentSoon = time.Second

// follow makes a run the current one.
func (f *Frontend) follow(r Run) {
	f.mu.Lock()
	f.run = r
	f.mu.Unlock()
	backlog.Hint(f.pump.again)
}

// frame is the minimum time between two paints for events of the run. A key press paints at once.
const frame = 33 * time.Millisecond

// batchSize is how many events are added to the history between two checks of the clock, so that a flood
// cannot keep the screen from being painted.
const batchSize = 200

// pump passes what happens outside to the screen: it adds events to the history, and notifies tview's loop
// of changes. Only the pump does either.
type pump struct {
	box     *mailbox
	add     func(queuedEvent)
	changed func() <-chan struct{} // of the current run; nil without one
	again   chan struct{}          // capacity 1: there is another run, or another reason to check
	draw    func()                 // makes the loop draw, and waits until it did
	motion  func() time.Duration   // until the next frame of an animation; 0: none
}

func (p *pump) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d := p.motion(); d > 0 {
			timer.Reset(d)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-p.box.Wake():
		case <-p.changed():
		case <-p.again:
		case <-timer.C:
		}
		if !p.flow(ctx) {
			return
		}
	}
}

// flow paints until no more events wait, one frame after the other.
func (p *pump) flow(ctx context.Context) bool {
	for {
		began := time.Now()
		more := true
		for more && time.Since(began) < frame {
			var batch []queuedEvent
			batch, more = p.box.take(batchSize)
			for _, t := range batch {
				p.add(t)
			}
		}
		p.draw()
		rest := time.NewTimer(frame - time.Since(began))
		select {
		case <-ctx.Done():
			rest.Stop()
			return false
		case <-rest.C:
		}
		if !more {
			return true
		}
	}
}

// How many events may wait for the screen, and how many bytes of their texts. Beyond that, events that only
// narrate are dropped, and counted: a run never waits for a frontend.
const (
	mailboxLimit = 20_000
	mailboxBytes = 32 << 20
)

// queuedEvent is an event on its way to the history.
type queuedEvent struct {
	at    time.Time
	e     contract.Event
	again bool // it happened in an earlier process
}

// mailbox is the queue between the run's goroutine, which must not wait, and the pump.
type mailbox struct{ *backlog.Queue[queuedEvent] }

func newMailbox() *mailbox { return &mailbox{backlog.New[queuedEvent]()} }

// narration is how much may wait before an event that only narrates is dropped; recalled, before an event
// of an earlier process waits for room.
var (
	narration = backlog.Limit{Items: mailboxLimit, Bytes: mailboxBytes}
	recalled  = backlog.Limit{Items: mailboxLimit / 2, Bytes: mailboxBytes / 2}
)

// put is a supervisor.Sink: it never blocks.
func (m *mailbox) put(at time.Time, e contract.Event) { m.push(queuedEvent{at: at, e: e}) }

func (m *mailbox) push(t queuedEvent) {
	var limit backlog.Limit
	if contract.Narrates(t.e.Body) {
		limit = narration
	}
	m.Put(t, weight(t.e.Body), limit)
}

// recall adds an event that is shown again, and waits while there is no room. It returns false if cancel is
// closed.
func (m *mailbox) recall(cancel <-chan struct{}, at time.Time, e contract.Event) bool {
	for {
		if items, bytes := m.Waiting(); items < recalled.Items && bytes <= recalled.Bytes {
			m.push(queuedEvent{at: at, e: e, again: true})
			return true
		}
		select {
		case <-m.Taken():
		case <-cancel:
			return false
		}
	}
}

// take empties the mailbox, up to a number of events.
func (m *mailbox) take(most int) (batch []queuedEvent, more bool) {
	batch, dropped, more := m.Take(most)
	if dropped > 0 {
		batch = append(batch, queuedEvent{at: time.Now(),
			e: contract.Event{ID: contract.Supervisor, Body: contract.Notice{
				Text: words.Count(dropped, "event") + " came faster than the screen could show, left out here",
			}}})
	}
	return batch, more
}

// empty reports whether no event waits.
func (m *mailbox) empty() bool {
	items, _ := m.Waiting()
	return items == 0
}

// weight estimates the size of an event's content, in bytes.
func weight(b contract.Body) int {
	switch b := b.(type) {
	case contract.ToolResult:
		return len(b.Text)
	case contract.ToolUse:
		return len(b.Input)
	case contract.Assistant:
		return len(b.Text)
	case contract.Delta:
		return len(b.Text)
	case contract.Message:
		return len(b.Text)
	}
	return 0
}
