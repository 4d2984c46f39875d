package main

import (
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// painting is called before each paint of the screen, if not nil. Tests set it.
var painting func()

// screenCommand runs the full screen.
func (e env) screenCommand(c settings.Choices) error {
	if problem := noScreen(); problem != "" {
		return command.Usagef("cannot show the screen: %s; use --plain for lines of text, or --json for scripts", problem)
	}
	if _, err := host.ReadScenario(c); err != nil { // an error in a file is reported before the screen hides it
		return err
	}
	if !c.Resume { // a resumed run knows its files
		if err := c.ReadInstructions(); err != nil {
			return err
		}
	}
	h := clients.NewScreen(e.Env, c)
	options := tui.Options{
		Host: h, Rehearsal: c.Rehearse, Theme: c.Screen.Theme, ASCII: c.Screen.ASCII, Still: c.Screen.Still,
		Mouse: c.Screen.Mouse, Notify: c.Screen.Notify, Around: render.Surroundings{ColorFGBG: os.Getenv("COLORFGBG")},
		Painting: painting,
	}
	options.Ritual = readRitual(c, time.Now())
	var stopSound func()
	options.Ritual.Sound, stopSound = openSound(c.Screen)
	defer stopSound()
	options.Home, _ = os.UserHomeDir() // without a home, rules with ~ match nothing
	here, live := liveHere(c)
	switch {
	case c.Resume:
		info, err := toResume(c)
		if err != nil {
			return err
		}
		options.Begin = &tui.Begin{Resume: info.Run, Task: c.Options.Task}
	case live:
		options.Begin = &tui.Begin{Resume: here}
	case c.Options.Task != "":
		options.Begin = &tui.Begin{Task: c.Options.Task}
	}
	f, err := tui.New(options)
	if err != nil {
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", err)
	}
	return h.Show(f)
}

// noScreen returns why the terminal cannot show the screen, or "" if it can.
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

// liveHere finds the live run of the directory; a screen that was started without a task shows it.
func liveHere(c settings.Choices) (run string, live bool) {
	if c.Resume || c.Rehearse || c.Options.Task != "" {
		return "", false
	}
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return "", false // beginning a run reports why
	}
	defer store.Close()
	list, err := store.Live("")
	i := slices.IndexFunc(list, func(i journal.Info) bool {
		return command.SameDir(i.CWD, c.Place) && store.Player(i.Run) != 0
	})
	if err != nil || i < 0 {
		return "", false
	}
	return list[i].Run, true
}
