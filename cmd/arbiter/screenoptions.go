package main

import (
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/webnotify"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/notify"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// screenSettings is how the screen looks and calls.
type screenSettings struct {
	Theme  string
	ASCII  bool
	Still  bool
	Mouse  bool
	Notify notify.Options
	// Posts are where the run's process, not the screen, posts notifications to.
	Posts []webnotify.Target
	// Ritual is ritualFull, ritualScene or ritualOff.
	Ritual string
	// Sound is soundOff or soundOn.
	Sound string
	// OnHangup is hangupLeave or hangupStop.
	OnHangup string
}

// What becomes of the run when the terminal of its screen is gone.
const (
	hangupLeave = "leave"
	hangupStop  = "stop"
)

// readScreenSettings reads the settings of the screen.
func readScreenSettings(c *cli.Context) (screenSettings, error) {
	f := screenSettings{
		Theme: c.String("theme"), ASCII: c.Bool("ascii") || !command.SpeaksUTF8(os.Getenv), Still: c.Bool("reduced-motion"),
		Mouse: !c.Bool("no-mouse"), OnHangup: c.String("on-hangup"),
		Ritual: c.String("ritual"), Sound: c.String("sound"),
	}
	if f.Sound != soundOff && f.Sound != soundOn {
		return f, command.Usagef("--sound %q: use off or on", f.Sound)
	}
	if f.Ritual != ritualFull && f.Ritual != ritualScene && f.Ritual != ritualOff {
		return f, command.Usagef("--ritual %q: use full, scene or off", f.Ritual)
	}
	if f.OnHangup != hangupLeave && f.OnHangup != hangupStop {
		return f, command.Usagef("--on-hangup %q: use leave or stop", f.OnHangup)
	}
	if _, err := render.NewTheme(f.Theme, render.TrueColor); err != nil {
		return f, command.Usagef("--theme %q: use one of %s", f.Theme, strings.Join(render.ThemeNames(), ", "))
	}
	f.Notify.Terminal = notify.Detect(os.Getenv)
	for word := range strings.SplitSeq(c.String("notify"), ",") {
		word = strings.TrimSpace(word)
		if webnotify.IsTarget(word) {
			target, err := webnotify.Parse(word)
			if err != nil {
				return f, command.Usagef("--notify %q: %v", word, err)
			}
			f.Posts = append(f.Posts, target)
			continue
		}
		switch word {
		case "bell":
			f.Notify.Bell = true
		case "desktop":
			f.Notify.Desktop = true
		case "finished":
			f.Notify.Finished = true
		case "off", "":
		default:
			return f, command.Usagef("--notify %q: use bell, desktop, finished, ntfy:URL and webhook:URL, separated by "+
				"commas, or off", word)
		}
	}
	return f, nil
}

// painting is called before each paint of the screen; of tests.
var painting func()

// screenCommand is the full screen.
func (e env) screenCommand(c choices) error {
	if problem := noScreen(); problem != "" {
		return command.Usagef("cannot show the screen: %s; use --plain for lines of text, or --json for scripts", problem)
	}
	if _, err := c.readPlay(); err != nil { // what is wrong with a file is said before a screen hides it
		return err
	}
	if !c.Resume { // else the run says where its files are
		if err := c.readInstructions(); err != nil {
			return err
		}
	}
	h := newHost(e, c)
	options := tui.Options{
		Host: h, Rehearsal: c.Rehearse, Theme: c.Face.Theme, ASCII: c.Face.ASCII, Still: c.Face.Still,
		Mouse: c.Face.Mouse, Notify: c.Face.Notify, Around: render.Surroundings{ColorFGBG: os.Getenv("COLORFGBG")},
		Painting: painting,
	}
	options.Ritual = readRitual(c, time.Now())
	var silence func()
	options.Ritual.Sound, silence = openSound(c.Face)
	defer silence()
	options.Home, _ = os.UserHomeDir() // without one, rules with ~ match nothing
	// Beside the runs, because /tmp may be memory; the files have no names.
	if err := os.MkdirAll(c.StateDir, 0o700); err == nil {
		options.Scratch = c.StateDir
	}
	here, live := liveHere(c)
	switch {
	case c.Resume:
		run, err := h.find(c)
		if err != nil {
			return err
		}
		options.Begin = &tui.Begin{Resume: run, Task: c.Options.Task}
	case live:
		options.Begin = &tui.Begin{Resume: here}
	case c.Options.Task != "":
		options.Begin = &tui.Begin{Task: c.Options.Task}
	}
	f, err := tui.New(options)
	if err != nil {
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", err)
	}
	return e.playScreen(h, f)
}

// noScreen says why the terminal can show no screen, empty if it can.
func noScreen() string {
	switch {
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return "stdin is not a terminal"
	case !term.IsTerminal(int(os.Stdout.Fd())):
		return "stdout is not a terminal"
	case os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb":
		return "TERM says that the terminal cannot place its cursor"
	}
	return ""
}
