package tui

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// watched is a simulated screen that reports when it was painted.
type watched struct {
	tcell.SimulationScreen
	painted func()                 // runs on the goroutine that paints; set before painting begins
	typing  atomic.Pointer[func()] // like painted, but may be set at any time
	paints  atomic.Int64
}

func (w *watched) Show() {
	w.SimulationScreen.Show()
	w.paints.Add(1)
	if w.painted != nil {
		w.painted()
	}
	if f := w.typing.Load(); f != nil {
		(*f)()
	}
}

func newWatched() *watched {
	w := &watched{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	return w
}

// typist presses keys and measures the time to the frame that shows them.
type typist struct {
	screen *watched
	length func() int // of the text, on the goroutine that paints
	seen   chan time.Time
	want   atomic.Int64
}

func newTypist(s *watched, length func() int) *typist {
	t := &typist{screen: s, length: length, seen: make(chan time.Time, 1)}
	painted := func() {
		if n := t.want.Load(); n > 0 && int64(t.length()) >= n {
			t.want.Store(0)
			t.seen <- time.Now()
		}
	}
	s.typing.Store(&painted)
	return t
}

func (t *typist) press(n int) time.Duration {
	t.want.Store(int64(n))
	began := time.Now()
	t.screen.InjectKey(tcell.KeyRune, 'x', tcell.ModNone)
	return (<-t.seen).Sub(began)
}

// flood calls put at a rate until it is stopped.
func flood(rate int, put func(i int)) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if rate == 0 {
			return
		}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		began, n := time.Now(), 0
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				// A receiver that is too slow does not have to catch up after the end.
				for due := int(time.Since(began).Seconds() * float64(rate)); n < due && !closed(quit); n++ {
					put(n)
				}
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

func closed(quit chan struct{}) bool {
	select {
	case <-quit:
		return true
	default:
		return false
	}
}

func event(i int) contract.Event {
	switch i % 4 {
	case 0:
		return contract.Event{ID: "arbiter", Body: contract.Message{MessageID: fmt.Sprint(i), From: "arbiter", To: "human",
			Kind: "report", Text: "The **thread** goes on, and on, and on, over many words, so that it has to be wrapped on " +
				"most windows that there are."}}
	case 1:
		return contract.Event{ID: "orch-1",
			Body: contract.ToolUse{Tool: "Bash", ToolUse: fmt.Sprint("t", i),
				Input: []byte(`{"command":"go test ./..."}`)}}
	case 2:
		return contract.Event{ID: "orch-1",
			Body: contract.ToolResult{ToolUse: fmt.Sprint("t", i-1),
				Text: "ok  \tloom/header\t0.012s\nok  \tloom/writer\t0.112s"}}
	}
	return contract.Event{ID: "arbiter", Body: contract.Delta{Text: "word ", Verdict: false}}
}

// benchFrontend is a frontend with a running task on a screen of 120×40.
func benchFrontend(b testing.TB, task string) (*Frontend, *watched, *fakeHost, func()) {
	b.Helper()
	screen := newWatched()
	host := &fakeHost{found: Findings{Claude: "2.1.329", Login: LoginYes}}
	f, err := New(Options{Screen: screen, Host: host, Theme: "dark", Begin: &Begin{Task: task}})
	testkit.OK(b, err)
	var wg sync.WaitGroup
	first := make(chan struct{})
	var once sync.Once
	screen.painted = func() { once.Do(func() { close(first) }) }
	wg.Go(func() {
		err := f.Run(context.Background())
		testkit.Check(b, err == nil, "%v", err)
	})
	<-first
	screen.SetSize(120, 40)
	for host.begunRun() == nil {
		runtime.Gosched()
	}
	return f, screen, host, func() { f.Leave(); wg.Wait() }
}

func (h *fakeHost) begunRun() *fakeRun { h.mu.Lock(); defer h.mu.Unlock(); return h.run }

// quantile of sorted durations, in milliseconds.
func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return float64(all[int(float64(len(all)-1)*q)]) / float64(time.Millisecond)
}

// BenchmarkKeyToFrame is the time from a key press to the frame that shows it, while events arrive. The
// baseline is a plain tview program, a text view above a text area, that draws for each event, as tview's
// documentation shows.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, rate := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("events=%d", rate), func(b *testing.B) {
			f, screen, host, end := benchFrontend(b, "Weave")
			typist := newTypist(screen, func() int { return len(f.root.prompt.input.Text()) })
			stop := flood(rate, func(i int) { host.begunRun().sink(time.Now(), event(i)) })
			paints, began := screen.paints.Load(), time.Now()
			all := pressKeys(b, typist)
			seconds := time.Since(began).Seconds()
			stop()
			b.ReportMetric(quantile(all, 0.5), "p50-ms")
			b.ReportMetric(quantile(all, 0.99), "p99-ms")
			b.ReportMetric((float64(screen.paints.Load()-paints)-float64(len(all)))/seconds, "other-paints/s")
			end()
			plain := plainTview(b, rate)
			b.ReportMetric(quantile(plain, 0.99), "plain-tview-p99-ms")
			b.ReportMetric(quantile(plain, 0.99)/quantile(all, 0.99), "x-plain-tview")
		})
	}
}

// pressKeys presses one key after the other, a few milliseconds apart, as fast as people or key repeat.
func pressKeys(b *testing.B, t *typist) []time.Duration {
	var all []time.Duration
	gap := time.NewTicker(7 * time.Millisecond)
	defer gap.Stop()
	for i := 0; i < 200 || b.Loop(); i++ {
		<-gap.C
		all = append(all, t.press(i+1))
	}
	return all
}

// plainTview is the baseline.
func plainTview(b *testing.B, rate int) []time.Duration {
	screen := newWatched()
	app := tview.NewApplication().SetScreen(screen)
	screen.SetSize(120, 40)
	view, area := tview.NewTextView(), tview.NewTextArea()
	app.SetRoot(tview.NewFlex().SetDirection(tview.FlexRow).AddItem(view, 0, 1, false).AddItem(area, 3, 0, true), true)
	typist := newTypist(screen, func() int { return area.GetTextLength() })
	var wg sync.WaitGroup
	wg.Go(func() { _ = app.Run() })
	stop := flood(rate, func(i int) {
		if m, ok := event(i).Body.(contract.Message); ok {
			app.QueueUpdateDraw(func() { fmt.Fprintln(view, m.Text) })
		}
	})
	var all []time.Duration
	gap := time.NewTicker(7 * time.Millisecond)
	defer gap.Stop()
	for i := range 100 {
		<-gap.C
		all = append(all, typist.press(i+1))
	}
	stop()
	app.Stop()
	wg.Wait()
	return all
}
