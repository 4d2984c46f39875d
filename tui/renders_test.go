package tui

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	vt "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

var (
	renders     = flag.Int("renders", 400, "how many pictures of hostile text are painted")
	rendersSeed = flag.Uint64("renders-seed", 1, "where the texts begin")
)

// wire is a terminal that records what it gets.
type wire struct {
	w, h  int
	types chan []byte // what it sends; nil: it never does
	drain chan struct{}

	mu   sync.Mutex
	sent []byte
}

func (t *wire) Start() error        { t.drain = make(chan struct{}); return nil }
func (t *wire) Stop() error         { return nil }
func (t *wire) Drain() error        { close(t.drain); return nil }
func (t *wire) Close() error        { return nil }
func (t *wire) NotifyResize(func()) {}
func (t *wire) WindowSize() (tcell.WindowSize, error) {
	return tcell.WindowSize{Width: t.w, Height: t.h}, nil
}

func (t *wire) Read(p []byte) (int, error) {
	select {
	case typed := <-t.types:
		return copy(p, typed), nil
	case <-t.drain:
		return 0, nil
	}
}

func (t *wire) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, p...)
	return len(p), nil
}

func (t *wire) take() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent := t.sent
	t.sent = nil
	return sent
}

// screen returns a screen on that terminal.
func (t *wire) screen(tt *testing.T) tcell.Screen {
	info := testkit.Must(tcell.LookupTerminfo("xterm-256color"))(tt)
	own := *info
	own.PadChar = ""
	return testkit.Must(render.OnTerminal(t, &own))(tt)
}

// counting counts pictures.
type counting struct {
	tcell.Screen
	n *atomic.Int64
}

func (p counting) Show() { p.n.Add(1); p.Screen.Show() }

// drawing matches the sequences of a running screen: positions and colours, the cursor, the end of a frame,
// a title, the end of links, notifications.
var drawing = vt.OutputRules{
	Controls: "\b\a", Escapes: []string{"(B"}, CSI: []string{"m", "H", " q", "?h", "?l", ">t"},
	Modes: []ansi.DECMode{12, 25, 2026}, OSC: []string{"0", "2", "8", "9", "99", "777"},
}

// alien finds output that arbiter must not send to a terminal: sequences that a program that draws on the
// whole screen does not need, sequences that a terminal would answer or store, and text that hides or
// reorders. on says that the screen has already been set up.
func alien(sent []byte, on bool) []string {
	ours := drawing
	if !on {
		ours = vt.FullScreen
		ours.OSC = drawing.OSC
	}
	faults := ours.Check(sent)
	for _, s := range vt.Sequences(sent) {
		switch s.Kind {
		case vt.OSC:
			known := s.Name == "0" || s.Name == "2" || s.Name == "8" && s.Data == ";" ||
				s.Name == "777" && strings.HasPrefix(s.Data, "notify;") || s.Name == "99" || s.Name == "9"
			if !known || strings.ContainsFunc(s.Data, alienRune) {
				faults = append(faults, fmt.Sprintf("OSC %s %q", s.Name, s.Data))
			}
		case vt.Text:
			if strings.ContainsFunc(s.Bytes, alienRune) {
				faults = append(faults, fmt.Sprintf("text %q", s.Bytes))
			}
		}
	}
	return faults
}

func alienRune(r rune) bool {
	return r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl,
		unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// hostileSource generates hostile texts with a grammar.
type hostileSource struct {
	*rand.Rand
	known []string
}

func (l hostileSource) pick(list ...string) string { return list[l.IntN(len(list))] }

func (l hostileSource) params() string {
	var b strings.Builder
	for range l.IntN(5) {
		fmt.Fprint(&b, l.pick("", "0", "1", "2", "5", "6", "8", "21", "38", "48", "1049", "2004", "99999999999"),
			l.pick(";", ":", ""))
	}
	return l.pick("", "", "?", ">", "=", "<") + b.String() + l.pick("", "", "", " ", "$", "!", "\"")
}

func (l hostileSource) atom() string {
	csi, osc := l.pick("\x1b[", "\u009b", "\x9b"), l.pick("\x1b]", "\u009d", "\x9d")
	st := l.pick("\x1b\\", "\a", "\u009c", "\x9c", "", "\x18", "\n")
	word := l.pick("red", "owned", "長い", "עברית", "é", "👩‍👧", "x", " ", "a b c", "▌ You", "COMPLETE")
	switch l.IntN(13) {
	case 0:
		return csi + l.params() + string(rune('@'+l.IntN(63)))
	case 1:
		return osc + l.pick("0;", "2;", "8;;https://evil.example", "52;c;?", "52;c;b3duZWQ=", "4;1;?", "10;?", "11;?",
			"9;", "99;", "777;notify;", "1337;File=:", "") + word + st
	case 2:
		return l.pick("\x1bP", "\u0090", "\x1b_", "\u009f", "\x1b^", "\x1bX", "\u0098") +
			l.pick("$qm", "+q544e", "q#0", "1$r", "Gf=100;") + word + st
	case 3:
		return "\x1b" + string(rune(0x20+l.IntN(0x5f)))
	case 4:
		return string(rune(l.IntN(0xa0))) // C0, ASCII, C1
	case 5:
		return l.pick("[red]", "[-]", "[-:-:-]", `["r"]`, `[""]`, "[:::https://evil.example]", "[:::-]", "[[", "[", "]",
			"[red[]", "[]", "[#ff0000:blue:b]", `["`) + word
	case 6:
		return string(rune(0xe0000+l.IntN(0x200))) + word
	case 7:
		return l.pick("\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
			"\u200e", "\u200f", "\u061c") + word
	case 8:
		return word + strings.Repeat(l.pick("\u0301", "\u0489", "\ufe0f", "\u200d", "\u200b", "\u20dd"), 1<<l.IntN(8))
	case 9:
		return strings.Repeat(l.pick("👩\u200d", "🏳️\u200d🌈", "🇩", "क\u094d", "長", "ﷺ"), 1+l.IntN(60))
	case 10:
		raw := make([]byte, l.IntN(6))
		for i := range raw {
			raw[i] = byte(0x80 + l.IntN(0x80))
		}
		return string(raw)
	case 11:
		return l.pick("\r", "\b\b\b", "\f", "\v", "\r\n", "\n", "\t", "\u2028", "\u2029", "\u0085", "\x00", "\x7f",
			"\x0e") + word
	}
	known := l.known[l.IntN(len(l.known))]
	from := l.IntN(len(known) + 1)
	return known[from:min(len(known), from+l.IntN(200))]
}

// texts returns n texts, of which every second continues where the one before was cut, at any byte.
func (l hostileSource) texts(n int) []string {
	list := make([]string, 0, n)
	for len(list) < n {
		var b strings.Builder
		for range 1 + l.IntN(7) {
			b.WriteString(l.atom())
		}
		text := b.String()
		if l.IntN(400) == 0 {
			text += "e" + strings.Repeat("\u0301", 10_000)
		}
		cut := l.IntN(len(text) + 1)
		list = append(list, text[:cut], text[cut:])
	}
	return list
}

// restless is a run whose state changes with each call.
type restless struct {
	stuffed
	now     atomic.Pointer[supervisor.State]
	changed chan struct{}
}

func (r *restless) Snapshot() *supervisor.State { return r.now.Load() }
func (r *restless) Changed() <-chan struct{}    { return r.changed }

// wander are keys that lead from screen to screen, a few at a time.
var wander = [][]string{
	{"Esc", "g"}, {"z", "G"}, {"K", "Tab"}, {"F3"}, {"G", "e"}, {"Enter"}, {"m", "Down"}, {"Esc", "d"}, {"q", "a"},
	{"G"}, {"q", "Alt+c"}, {"Ctrl+C", "n"}, {"Esc", "i", "F1"}, {"q", "F2"}, {"z", "g"},
	{"PgDn", "d"}, {"q", "F4"}, {"Down"}, {"Esc", "Alt+1"}, {"z", "PgDn"}, {"q", "Alt+0"},
	{"q", "Esc", "i", "/", "t", "o", " "}, {"Tab"}, {"Ctrl+U", "@"}, {"Esc", "Ctrl+U", "Ctrl+O"}, {"Esc", "Alt+p"},
	{"PgDn"}, {"Esc"}, {"F5"}, {"Enter", "n"}, {"q", "F8"}, {"Down"}, {"q", "F7"}, {"j", "4"}, {"A", "PgDn"}, {"Esc"},
}

// TestRendersAreClean: hostile texts, generated by a grammar and cut anywhere, in every field of the state,
// of every event and of the findings at the start, on all screens, through the drawing libraries down to
// the terminal. Only arbiter's own sequences are sent, and no query. With -renders it continues for that
// many pictures.
func TestRendersAreClean(t *testing.T) {
	testkit.WithoutRace(t)
	t.Setenv("TERM", "xterm-256color")
	var n atomic.Int64
	most, bytes := int64(*renders), 0
	if testkit.Race {
		most = min(most, 60)
	}
	began := time.Now()
	for seed := *rendersSeed; n.Load() < most && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) { bytes += renderSome(t, seed, &n, most) })
	}
	took := time.Since(began).Seconds()
	testkit.Check(t, int64(bytes) >= 200*n.Load(), "%d bytes were sent for %d pictures: nothing was shown", bytes,
		n.Load())
	t.Logf("%d pictures, %d bytes sent, %.0f pictures/s", n.Load(), bytes, float64(n.Load())/took)
}

func renderSome(t *testing.T, seed uint64, n *atomic.Int64, most int64) (sent int) {
	source := hostileSource{rand.New(rand.NewPCG(seed, 4)), tuitest.Hostile()}
	return renderTexts(t, seed, source, func() []string { return source.texts(60) }, wander, n, most)
}

// renderTexts fills everything with texts, changing them before each few keys on the way from screen to
// screen, and checks that only arbiter's own sequences are sent.
func renderTexts(t *testing.T, seed uint64, source hostileSource, texts func() []string, ways [][]string,
	n *atomic.Int64, most int64) (sent int) {
	f := &hostileFiller{texts: texts(), n: int(seed), now: time.Now()}
	size := sizes[int(seed)%len(sizes)]
	line := &wire{w: size[0], h: size[1]}
	screen := line.screen(t)
	h := &fakeHost{t: t, files: f.texts}
	f.fill(reflect.ValueOf(&h.found).Elem())
	h.found.Missing, h.found.Login, h.found.Claude = false, LoginYes, "2 "+f.text()
	run := &restless{stuffed: stuffed{done: make(chan struct{})}, changed: make(chan struct{}, 1)}
	var emit runloop.Sink
	stuff := func() {
		f.texts = texts()
		state := &supervisor.State{}
		f.fill(reflect.ValueOf(state).Elem())
		state.Task.Phase, state.Ending = machine.Executing, nil
		for i, id := range []string{"arbiter", "orch-1", "orch-2"} {
			state.Agents[i].ID = id
			state.Permission.Open[i].Params.ID = id
		}
		run.now.Store(state)
		events := contract.Events()
		for range 8 {
			body := reflect.New(reflect.TypeOf(events[source.IntN(len(events))])).Elem()
			f.fill(body)
			if emit != nil {
				emit(time.Now(), contract.Event{ID: source.pick("orch-1", "arbiter", "orch-2", f.text()),
					Body: body.Interface().(contract.Body)})
			}
		}
		select {
		case run.changed <- struct{}{}:
		default:
		}
	}
	h.strange = func(sink runloop.Sink) Run { emit = sink; stuff(); return run }
	o := Options{Screen: counting{screen, n}, Host: h, Theme: "dark", Mouse: true,
		Notify: render.NotifyOptions{Bell: true, Desktop: true, Finished: true,
			Terminal: render.NotifyTerminal{Protocol: render.NotifyProtocol(seed % 4)}}}
	frontend := testkit.Must(New(o))(t)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); _ = frontend.Run(ctx) }()
	up := false
	look := func(keys ...string) {
		for _, key := range keys {
			e := testkit.Must(tuitest.Key(key))(t)
			_ = screen.PostEvent(e)
			synctest.Wait()
		}
		time.Sleep(2 * frame)
		synctest.Wait()
		out := line.take()
		sent += len(out)
		faults := alien(out, up)
		testkit.Check(t, faults == nil, "seed %d, after %v: %.2000q", seed, keys, faults)
	}
	look()
	up = true
	look("W", "Enter")
	for range 6 {
		for _, keys := range ways {
			stuff()
			select {
			case <-over:
				t.Fatalf("seed %d: the screen is gone", seed)
			default:
			}
			if look(keys...); n.Load() >= most || t.Failed() {
				break
			}
		}
	}
	frontend.Leave()
	cancel()
	<-over
	faults := alien(line.take(), false)
	testkit.Check(t, faults == nil, "seed %d, after the end: %.2000q", seed, faults)
	return sent
}

// TestHostileTextIsDetected: alien finds the hostile texts that it must find.
func TestHostileTextIsDetected(t *testing.T) {
	for _, text := range tuitest.Hostile() {
		testkit.Check(t, !strings.ContainsFunc(text, alienRune) || strings.Contains(text, "777;notify") ||
			alien([]byte(text), true) != nil, "%.100q is accepted as arbiter's own", text)
	}
	for _, text := range []string{"\x1b[6n", "\x1b[c", "\x1b[21t\x1b[5n", "\x1b]52;c;eA==\a", "\x1b]11;?\a",
		"\x1b]8;;https://x\a", "\x1b]0;a\u202eb\a", "\x1bP$qm\x1b\\", "\u009b31m", "\x9b31m", "\x1b[?1$p", "\U000E0041",
		"\x1bc", "\x1b]777;x\a", "\x1b[2J", "\x1b[?1049l", "\n", "\r"} {
		testkit.Check(t, alien([]byte(text), true) != nil, "%q is accepted as arbiter's own", text)
	}
}
