package terminal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/internal/ptypair"
)

const (
	// maxLog bounds how much of a program's output is kept.
	maxLog = 64 << 20
	// longCluster is the maximum size of such a part in bytes.
	longCluster = 64
	// afterlife is how long to wait for more output after the process has ended, if a process that it left
	// behind still holds the terminal.
	afterlife = 200 * time.Millisecond
	// idleChecks is how many times in a row no output must have come for that long.
	idleChecks = 2
)

// clusterWait is how long to wait for the rest of an incomplete character: the last bytes that the emulator
// gets end a cluster. A test changes it.
var clusterWait = 20 * time.Millisecond

// Line holds the terminal settings (termios). Two values are equal if no setting differs.
type Line = term.State

func line(file *os.File) (l Line, err error) {
	err = ptypair.Control(file, func(fd int) error {
		s, err := term.GetState(fd)
		if err == nil {
			l = *s
		}
		return err
	})
	if err != nil {
		return l, fmt.Errorf("read line settings: %w", err)
	}
	return l, nil
}

// ErrEnded reports that the program has ended and the screen will not change any more.
var ErrEnded = errors.New("the program has ended")

// Terminal is one terminal with a program in it. Its methods are safe for concurrent
// use.
type Terminal struct {
	cmd    *exec.Cmd
	master *os.File
	before Line
	wg     sync.WaitGroup

	mu        sync.Mutex
	emu       *emulator
	changed   chan struct{} // closed and replaced when any of these changes
	log       []byte
	failed    error // of the emulator
	hangUp    sync.Once
	exited    chan struct{}          // closed when the process was waited for
	drained   chan struct{}          // closed when no more output comes
	input     *backlog.Queue[[]byte] // for the program; nil ends it
	answered  []byte                 // the terminal's answers; answering guards it
	answering sync.Mutex
}

// Start starts cmd in a new session whose terminal is a new one of that size. TERM is xterm-256color unless
// the environment of cmd sets it; a nil environment is ours.
func Start(cmd *exec.Cmd, size Size) (*Terminal, error) {
	master, slave, err := ptypair.Open(size.Columns, size.Rows)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	before, err := line(master)
	if err != nil {
		master.Close()
		return nil, err
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if !slices.ContainsFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		master.Close()
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	t := &Terminal{
		cmd: cmd, master: master, before: before, emu: newEmulator(size),
		changed: make(chan struct{}), exited: make(chan struct{}), drained: make(chan struct{}),
		input: backlog.New[[]byte](),
	}
	t.wg.Go(t.read)
	t.wg.Go(t.takeAnswers)
	t.wg.Go(t.write)
	t.wg.Go(func() {
		_ = t.cmd.Wait() // the status is read from ProcessState
		close(t.exited)
		_ = t.master.SetReadDeadline(time.Now()) // makes read check exited
	})
	return t, nil
}

// read reads the program's output. After the last process that holds the terminal has ended, it reads EIO.
func (t *Terminal) read() {
	buf := make([]byte, 64<<10)
	feed := func(n int) {
		if n > 0 {
			t.update(func() { t.failed = cmp.Or(t.failed, t.emu.write(buf[:n])) })
		}
	}
	held := 0 // bytes at the beginning of buf that may be an incomplete character
	idle := 0 // checks in a row without output, since the program's end
	for giveUp := (time.Time{}); ; {
		began := time.Now()
		n, err := t.master.Read(buf[held:])
		t.mu.Lock()
		t.log = append(t.log, buf[held:held+min(n, maxLog-len(t.log))]...)
		t.mu.Unlock()
		got := held + n
		whole := got
		// The deadline at the program's end says nothing of what it has written: that is read next.
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) && t.over() {
			whole = wholePart(buf[:got])
		}
		feed(whole)
		held = copy(buf, buf[whole:got])
		now := time.Now()
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			t.end()
			return
		case !t.over():
			var soon time.Time
			if held > 0 { // incomplete output waits
				soon = now.Add(clusterWait)
			}
			_ = t.master.SetReadDeadline(soon)
			if t.over() { // this may just have undone the deadline at the program's end
				_ = t.master.SetReadDeadline(time.Now())
			}
			continue
		case giveUp.IsZero():
			giveUp = now.Add(50 * afterlife)
		case err == nil && now.Before(giveUp):
			idle = 0
		case err != nil && now.Before(giveUp) && idle < idleChecks:
			// On a busy machine the deadline may be over before the check, at any point between the two:
			// then a check without output proves nothing.
			if now.Sub(began) >= afterlife/2 {
				idle++
			}
		case err != nil || now.After(giveUp):
			feed(held)
			t.end()
			return
		}
		_ = t.master.SetReadDeadline(now.Add(afterlife))
	}
}

func (t *Terminal) end() {
	t.update(func() { close(t.drained) })
	t.emu.close()
}

// wholePart returns how much of p can be given to the emulator, for which the end of its input ends a
// cluster of characters: a cluster that may continue is kept back.
func wholePart(p []byte) int {
	run := bytes.LastIndexFunc(p, func(r rune) bool { return r < utf8.RuneSelf }) + 1
	at := run
	for rest, state := p[run:], -1; len(rest) > longCluster; {
		var cluster []byte
		cluster, rest, _, state = uniseg.FirstGraphemeCluster(rest, state)
		at += len(cluster)
	}
	return at
}

func (t *Terminal) over() bool { return closed(t.exited) }

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// update changes the state and wakes the waiting callers.
func (t *Terminal) update(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// Screen returns the current screen.
func (t *Terminal) Screen() Screen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.screen()
}

// Wait waits until the screen fulfils a condition, and returns it. It ignores a frame that is half drawn
// (mode 2026). If the condition can no longer be met, or not within ctx, the error shows the last screen.
func (t *Terminal) Wait(ctx context.Context, until func(Screen) bool) (Screen, error) {
	for {
		t.mu.Lock()
		screen, changed, failed, ended := t.emu.screen(), t.changed, t.failed, closed(t.drained)
		t.mu.Unlock()
		if (ended || !screen.Modes[ansi.ModeSynchronizedOutput]) && until(screen) {
			return screen, nil
		}
		switch {
		case failed != nil:
			return screen, failed
		case ended:
			return screen, fmt.Errorf("%w%s with the screen\n%s", ErrEnded, t.status(), screen.Text())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return screen, fmt.Errorf("%w with the screen\n%s", context.Cause(ctx), screen.Text())
		}
	}
}

// status describes how the process ended, if it has: its output may end before.
func (t *Terminal) status() string {
	if !t.over() {
		return ""
	}
	return fmt.Sprintf(" (%v)", t.cmd.ProcessState)
}

// Output is all that the program has sent, or its first 64 MiB; as long as more may come,
// without an incomplete sequence at the end.
func (t *Terminal) Output() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.log)
	if closed(t.drained) {
		return out
	}
	// An incomplete sequence is at most a few kilobytes long.
	if list := Sequences(out[max(0, len(out)-4<<10):]); len(list) > 0 && list[len(list)-1].Kind == Broken {
		return out[:len(out)-len(list[len(list)-1].Bytes)]
	}
	return out
}

// Answers returns the terminal's answers to queries.
func (t *Terminal) Answers() []byte {
	t.answering.Lock()
	defer t.answering.Unlock()
	return slices.Clone(t.answered)
}

// Before returns the line settings at the program's start.
func (t *Terminal) Before() Line { return t.before }

// Line returns the current line settings. They can be read until Close.
func (t *Terminal) Line() (Line, error) { return line(t.master) }

// Process returns the program's process. It leads a session and a group.
func (t *Terminal) Process() *os.Process { return t.cmd.Process }

// Exit waits for the end of the program and of its output.
func (t *Terminal) Exit(ctx context.Context) (*os.ProcessState, error) {
	for _, done := range []chan struct{}{t.exited, t.drained} {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the program's end: %w with the screen\n%s", context.Cause(ctx),
				t.Screen().Text())
		}
	}
	return t.cmd.ProcessState, nil
}

// Resize changes the size of the terminal; the kernel signals the program.
func (t *Terminal) Resize(size Size) error {
	t.update(func() { t.emu.resize(size) })
	return ptypair.Resize(t.master, size.Columns, size.Rows)
}

// HangUp closes the terminal, like a closed window or a lost connection. The program may continue.
func (t *Terminal) HangUp() {
	t.hangUp.Do(func() {
		t.send(nil)
		t.master.Close()
	})
}

// Close kills the program's group if it still runs, and returns when the terminal is completely closed.
func (t *Terminal) Close() {
	if !t.over() {
		_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) // it may just have ended
	}
	<-t.exited
	t.HangUp()
	t.wg.Wait()
}

// send queues input for the program; nil ends it. The queue is unbounded, so that a test can detect a
// program that does not read.
func (t *Terminal) send(p []byte) { t.input.Put(p, len(p), backlog.Limit{}) }

// write sends the queue to the program.
func (t *Terminal) write() {
	for range t.input.Wake() {
		parts, _, _ := t.input.Take(0)
		for _, p := range parts {
			if p == nil {
				return
			}
			if _, err := t.master.Write(p); err != nil {
				return // the terminal is gone, and the program with it
			}
		}
	}
}

// takeAnswers passes the emulator's answers on. It does not take the lock of the emulator, which the writer
// holds while it waits for this.
func (t *Terminal) takeAnswers() {
	for {
		buf := make([]byte, 4<<10)
		n, err := t.emu.vt.Read(buf) // until close: write blocks while nobody reads
		t.answering.Lock()
		t.answered = append(t.answered, buf[:n]...)
		t.answering.Unlock()
		t.send(buf[:n])
		if err != nil {
			return
		}
	}
}

// Press presses keys, by name: "a", "Enter", "Ctrl+C", "Alt+y", "Shift+Tab", "F1", "PgUp". They are sent
// like xterm does. A combination that only the extended protocol has ("Shift+Enter") is sent in that
// protocol if the program asked for it, and otherwise like the key alone, as xterm does.
func (t *Terminal) Press(names ...string) error {
	for _, name := range names {
		s := t.Screen()
		sent, err := encode(name, s.Modes[ansi.ModeCursorKeys], s.Keyboard > 0)
		if err != nil {
			return err
		}
		t.Send(sent)
	}
	return nil
}

// Type types a text. A newline is the key Enter.
func (t *Terminal) Type(text string) { t.Send(strings.ReplaceAll(text, "\n", "\r")) }

// Paste pastes a text, in brackets if the program asked for them.
func (t *Terminal) Paste(text string) {
	if t.Screen().Modes[ansi.ModeBracketedPaste] {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	t.Type(text)
}

// Send sends bytes unchanged, including those that no keyboard sends.
func (t *Terminal) Send(raw string) { t.send([]byte(raw)) }

// The bits of modifiers, as in xterm's sequences.
const (
	shift = 1 << iota
	alt
	ctrl
)

var charKeys = map[string]rune{
	"enter": '\r', "tab": '\t', "backspace": 0x7f, "esc": 0x1b, "escape": 0x1b, "space": ' ',
}

// seqKeys have CSI's final byte, or number and "~", of keys without a character.
var seqKeys = map[string]string{
	"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H",
	"f1": "P", "f2": "Q", "f3": "R", "f4": "S",
	"insert": "2~", "delete": "3~", "pgup": "5~", "pgdn": "6~",
	"f5": "15~", "f6": "17~", "f7": "18~", "f8": "19~", "f9": "20~", "f10": "21~", "f11": "23~", "f12": "24~",
}

// encode returns what xterm sends for a key. The part after the last + is the key, and may be a + itself.
func encode(name string, applicationKeys, extended bool) (string, error) {
	mod, rest := 0, name
	for {
		word, after, found := strings.Cut(rest, "+")
		bit := map[string]int{"shift": shift, "alt": alt, "ctrl": ctrl}[strings.ToLower(word)]
		if !found || bit == 0 {
			break
		}
		mod, rest = mod|bit, after
	}
	if runes := []rune(rest); len(runes) == 1 {
		return encodeChar(runes[0], mod, extended), nil
	}
	if char := charKeys[strings.ToLower(rest)]; char != 0 {
		return encodeChar(char, mod, extended), nil
	}
	seq := seqKeys[strings.ToLower(rest)]
	number, numbered := strings.CutSuffix(seq, "~")
	switch {
	case seq == "":
		return "", fmt.Errorf("%q is not a key", name)
	case mod != 0:
		if !numbered {
			number = "1"
		}
		return fmt.Sprintf("\x1b[%s;%d%c", number, 1+mod, seq[len(seq)-1]), nil
	case !numbered && (seq >= "P" || applicationKeys):
		return "\x1bO" + seq, nil
	}
	return "\x1b[" + seq, nil
}

func encodeChar(key rune, mod int, extended bool) string {
	char, legacy := key, true
	switch {
	case key == '\t' && mod == shift:
		return "\x1b[Z"
	case strings.ContainsRune("\r\t\x7f\x1b", key):
		legacy = mod&^alt == 0
	case mod&ctrl != 0:
		at := unicode.ToUpper(key) - '@'
		if key == ' ' {
			at = 0
		}
		control := at >= 0 && at < ' '
		if legacy = control && mod&shift == 0; control {
			char = at
		}
	case mod&shift != 0:
		char = []rune(strings.ToUpper(string(key)))[0]
	}
	switch {
	case !legacy && extended:
		return fmt.Sprintf("\x1b[%d;%du", key, 1+mod)
	case mod&alt != 0:
		return "\x1b" + string(char)
	}
	return string(char)
}
