package subcommands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// This part of the package is the command that opens a live run, or the session of an agent, in a terminal.

// givenBack is how long a running arbiter may take to report what happened to a session.
const givenBack = 20 * time.Second

// AttachCommand is `arbiter attach`. app makes the program that shows the screen of a run.
func AttachCommand(e command.Env, app func() *cli.App) *cli.Command {
	return &cli.Command{
		Name: "attach", Usage: "open a live run, or an agent's session, in this terminal", ArgsUsage: "[RUN|AGENT]",
		Description: strings.TrimSpace(`
With a RUN, or without an argument, it opens the screen of a live run: of that one, or of the one of this directory. Any
number of screens can show one run.

With an AGENT (an id, such as orch-1 or arbiter) it stops the agent's process in order and opens its session here, in
Claude Code itself. Messages to the agent wait meanwhile. The detach key, leaving Claude Code or closing the terminal
ends the attachment: the agent continues the session, and the Arbiter gets a report of what you did. Only one terminal
can attach to a session.

Exit code 1: the session could not be opened, or was lost.`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "session", Usage: "the `RUN` (default: the live run of this directory)"},
			&cli.StringFlag{Name: "detach-key", Value: "ctrl+]",
				Usage: "the `KEY` that ends the attachment: ctrl+ and one of @ A…Z [ \\ ] ^ _"},
			settings.StateDirFlag(),
		},
		Action: func(c *cli.Context) error { return attach(e, c, app) },
	}
}

// attach opens a live run, or the session of an agent.
func attach(e command.Env, c *cli.Context, app func() *cli.App) error {
	agent := c.Args().First()
	if c.NArg() > 1 {
		return command.Usagef("attach: give one RUN or one AGENT, such as orch-1; arbiter sessions lists the runs")
	}
	if _, err := runstore.Orchestrator(agent); err != nil && agent != contract.Arbiter {
		return attachRun(c, app(), cmp.Or(agent, c.String("session")))
	}
	key, err := detachKey(c.String("detach-key"))
	if err != nil {
		return err
	}
	if c.IsSet("session") && c.String("session") == "" {
		return command.Usagef("--session is empty")
	}
	cols, rows, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		return command.Environmentf("attach needs a terminal, and stdin is not one: run it in a terminal")
	}
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, true)
	defer stop()
	l, err := runstore.Connect(c, c.String("session"), Progress(e.Stderr))
	if err != nil {
		return err
	}
	defer l.Close()
	if err := Knows(l.First, agent); err != nil {
		return err
	}
	p := control.AttachParams{Agent: agent, Size: control.Size{Cols: max(cols, 1), Rows: max(rows, 1)},
		Term: os.Getenv("TERM")}
	fmt.Fprintf(e.Stderr, "Attaching to %s. Ctrl+C gives up.\n", sanitize.Line(agent, 60))
	r, err := l.Attach(ctx, p)
	refused, ok := errors.AsType[*control.Refusal](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return command.BySignal(ctx, "given up")
	case ok && refused.Code != control.CodeUnopen:
		return command.Usagef("%s", refused.Message)
	case err != nil:
		return command.Failedf("%v", err)
	}
	return ShowAttach(ctx, e.Stderr, r, ptyproxy.Proxy{Detach: key}, l.Client)
}

// Progress returns a function that writes the progress of an attachment to w.
func Progress(w io.Writer) func(text string) {
	return func(text string) { fmt.Fprintln(w, sanitize.Line(text, 300)) }
}

// detachKey returns the letter of a "Ctrl+letter" or "^letter" key name.
func detachKey(name string) (byte, error) {
	letter, ok := strings.CutPrefix(strings.ToUpper(name), "CTRL+")
	if !ok {
		letter, ok = strings.CutPrefix(name, "^")
	}
	switch {
	case !ok || len(letter) != 1 || letter[0] < '@' || letter[0] > '_':
		return 0, command.Usagef("--detach-key %q: use ctrl+ and one of @ A…Z [ \\ ] ^ _", name)
	case strings.Contains("[IJM", letter):
		return 0, command.Usagef("--detach-key %q: a terminal reads it as Esc, Tab or Enter; use another key", name)
	}
	return letter[0], nil
}

// ShowAttach shows a session in the terminal until it ends or is given back, and reports to w. The caller closes the
// client.
func ShowAttach(
	ctx context.Context, w io.Writer, r control.AttachResult, proxy ptyproxy.Proxy, client *control.Client,
) error {
	fmt.Fprintf(w, "This is the session of %s (%s), run %s. Ctrl+%c gives it back.\n\n",
		eventtext.OnHost(sanitize.Line(r.Name, 60), r.Host), sanitize.Line(r.Agent, 40), command.ShortID(r.Run),
		cmp.Or(proxy.Detach, ']'))
	err := proxy.Join(ctx, os.Stdin, remoteClient{client})
	if errors.Is(err, ptyproxy.ErrDetached) {
		fmt.Fprintln(w, "\nThe session is being given back …")
	}
	ended, received := client.Detach(givenBack)
	switch {
	case errors.Is(err, ptyproxy.ErrGone):
		return &command.Error{Code: contract.ExitTerminated, Text: "the terminal is gone; the session was given back"}
	case ctx.Err() != nil:
		return command.BySignal(ctx, "the session was given back")
	case err != nil && !errors.Is(err, ptyproxy.ErrDetached):
		return command.Environmentf("%v", err)
	case !received:
		return command.Failedf("arbiter did not report how the attachment ended: arbiter status shows the agent")
	case ended.Dropped, ended.Lost:
		return command.Failedf("%s", ended.Reason)
	}
	fmt.Fprintln(w, detachNotice(r, ended))
	return nil
}

// detachNotice summarizes in one line what happened during an attachment.
func detachNotice(r control.AttachResult, ended control.Ended) string {
	var did []string
	switch n := ended.Words; n {
	case 0:
	case 1:
		did = append(did, "one message of yours")
	default:
		did = append(did, fmt.Sprintf("%d messages of yours", n))
	}
	if n := len(ended.Files); n > 0 {
		did = append(did, words.Count(n, "file")+" changed")
	}
	text := eventtext.OnHost(sanitize.Line(r.Name, 60), r.Host) + " continues."
	switch ended.Reason {
	case "", "the human gave it back", "the human left it": // the person at this terminal knows
	default:
		text = fmt.Sprintf("The session was given back: %s.", strings.TrimSuffix(sanitize.Line(ended.Reason, 300), "."))
	}
	if len(did) > 0 {
		text += " The Arbiter learns of " + strings.Join(did, " and ") + "."
	}
	return text
}

// remoteClient implements ptyproxy.Remote on a control connection.
type remoteClient struct{ *control.Client }

// Leave implements ptyproxy.Remote.
func (r remoteClient) Leave() { r.EndView() }

// attachRun opens the screen of a live run: the named one, or the one of this directory.
func attachRun(c *cli.Context, app *cli.App, named string) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	info, err := runstore.FindLive(store, named)
	_ = store.Close() // it was only read
	if err != nil {
		return err
	}
	// A configuration may name another state directory.
	return app.RunContext(c.Context, []string{"arbiter", "--session", info.Run, "--state-dir", store.Root})
}

// This part of the package computes short sounds for a person who is not watching the screen (one when a run
// waits for an answer, one for each way a run can end) and plays them one at a time. A [Chime] never blocks
// its caller.

// longest is the maximum time that a player may take.
const longest = 3 * time.Second

// Chime plays cues, one at a time. Its methods are safe for concurrent use.
type Chime struct {
	play   func(ctx context.Context, file string) error
	cues   chan tui.Sound
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// NewChime makes a chime that plays sounds with play, which must return when its context ends. The owner of the chime
// closes it.
func NewChime(play func(ctx context.Context, file string) error) *Chime {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Chime{play: play, cues: make(chan tui.Sound, 1), cancel: cancel}
	c.work.Go(func() {
		for ctx.Err() == nil { // otherwise a waiting cue could be played after Close
			select {
			case cue := <-c.cues:
				_ = c.sound(ctx, cue) // the error is ignored: the screen shows the same
			case <-ctx.Done():
			}
		}
	})
	return c
}

// Play plays a cue. It drops the cue if one is playing and another waits.
func (c *Chime) Play(cue tui.Sound) {
	select {
	case c.cues <- cue:
	default:
	}
}

// Close stops the sound that is playing and waits for its end.
func (c *Chime) Close() {
	c.cancel()
	c.work.Wait()
}

// sound writes the sound to a private file and plays it.
func (c *Chime) sound(ctx context.Context, cue tui.Sound) error {
	f, err := os.CreateTemp("", "arbiter-sound-*.wav")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(wave(cues[cue]))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	return c.play(ctx, f.Name())
}

// rate is the number of samples per second: 16 bits, mono.
const rate = 22050

// note is a tone that begins at a time and fades away. Times are in seconds, the frequency in hertz.
type note struct{ at, frequency, length float64 }

// cues are the sounds: two rising notes ask, three make a chord of what is done, two falling ones report a failure.
var cues = [...][]note{
	tui.SoundAsked:  {{0, 587.33, 0.5}, {0.16, 880, 0.7}},
	tui.SoundDone:   {{0, 392, 0.9}, {0.12, 493.88, 0.9}, {0.24, 587.33, 1.1}},
	tui.SoundFailed: {{0, 440, 0.5}, {0.2, 329.63, 0.8}},
}

// wave computes a sound as a WAV file.
func wave(notes []note) []byte {
	end := 0.0
	for _, n := range notes {
		end = math.Max(end, n.at+n.length)
	}
	sum := make([]float64, int(end*rate))
	for _, n := range notes {
		for i := int(n.at * rate); i < len(sum); i++ {
			t := float64(i)/rate - n.at
			if t > n.length {
				break
			}
			// A soft attack, then the decay of a bell; two overtones make it sound like one.
			loud := math.Min(t/0.008, 1) * math.Exp(-5*t/n.length) * math.Min((n.length-t)/0.02, 1)
			angle := 2 * math.Pi * n.frequency * t
			sum[i] += loud * (math.Sin(angle) + 0.35*math.Sin(2.01*angle) + 0.12*math.Sin(3.98*angle))
		}
	}
	const loudest = 0.25 // of full scale
	peak := 1e-9
	for _, v := range sum {
		peak = math.Max(peak, math.Abs(v))
	}
	var b bytes.Buffer
	b.WriteString("RIFF")
	size := uint32(2 * len(sum))
	for _, v := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate),
		uint32(2 * rate), uint16(2), uint16(16), []byte("data"), size} {
		_ = binary.Write(&b, binary.LittleEndian, v) // a buffer accepts everything
	}
	for _, v := range sum {
		_ = binary.Write(&b, binary.LittleEndian, int16(v/peak*loudest*math.MaxInt16))
	}
	return b.Bytes()
}
