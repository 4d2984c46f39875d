package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
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
		Host: h, Rehearsal: c.Options.Rehearsal, Theme: c.Screen.Theme, ASCII: c.Screen.ASCII, Still: c.Screen.Still,
		Mouse: c.Screen.Mouse, Notify: c.Screen.Notify, Around: render.Surroundings{ColorFGBG: os.Getenv("COLORFGBG")},
		Painting: painting,
	}
	options.Ritual = readRitual(c, time.Now())
	var stopSound func()
	options.Ritual.Sound, stopSound = openSound(c.Screen)
	defer stopSound()
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
	if c.Resume || c.Options.Rehearsal || c.Options.Task != "" {
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

// soundPlayers are the programs that play a WAV file, with the arguments that go before the file's name.
var soundPlayers = [][]string{
	{"afplay"}, {"pw-play"}, {"paplay"}, {"aplay", "-q"}, {"play", "-q"},
	{"ffplay", "-nodisp", "-autoexit", "-loglevel", "quiet"},
}

// soundVariables are the environment variables that a player gets: it needs them to find this machine's sound
// server.
var soundVariables = []string{"HOME", "PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG"}

// openSound returns a function that plays sounds, and one that ends the player. Without a player the terminal's bell
// replaces it, unless the bell rings anyway.
func openSound(screen settings.ScreenSettings) (play func(tui.Sound) (bells int), stop func()) {
	stop = func() {}
	if screen.Sound != settings.SoundOn {
		return nil, stop
	}
	for _, player := range soundPlayers {
		path, err := exec.LookPath(player[0])
		if err != nil {
			continue
		}
		c := subcommands.NewChime(func(ctx context.Context, file string) error {
			return playSound(ctx, path, append(slices.Clone(player[1:]), file)...)
		})
		return func(s tui.Sound) int {
			c.Play(s)
			return 0
		}, c.Close
	}
	return func(s tui.Sound) int {
		switch {
		case s == tui.SoundAsked && screen.Notify.Bell, s != tui.SoundAsked && screen.Notify.Finished && screen.Notify.Bell:
			return 0
		case s == tui.SoundAsked:
			return 1
		}
		return 2
	}, stop
}

// playSound plays a file. It returns when the player has ended, which is killed if ctx is cancelled.
func playSound(ctx context.Context, player string, args ...string) error {
	cmd := exec.CommandContext(ctx, player, args...)
	cmd.WaitDelay = time.Second
	for _, name := range soundVariables {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd.Run()
}

// ritualFile, in the state directory, holds the day on which the title was last shown, and the person's chosen
// role: "2006-01-02 seeker".
const ritualFile = "ritual"

// readRitual returns the screen's ornaments. As they are only ornaments, errors of reading and writing are
// ignored.
func readRitual(c settings.Choices, now time.Time) tui.Ritual {
	r := tui.Ritual{Scene: c.Screen.Ritual != settings.RitualOff}
	dir, err := statedir.Open(c.StateDir)
	if err != nil {
		return r
	}
	defer dir.Close()
	raw, _ := dir.Read(ritualFile, 100)
	day, kind, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	for _, k := range view.RitualKinds() {
		if k.String() == kind {
			r.Human = k
		}
	}
	today := now.Format(time.DateOnly)
	r.Title = c.Screen.Ritual == settings.RitualFull && day != today
	r.Remember = func(k view.RitualKind) {
		dir, err := statedir.Open(c.StateDir)
		if err != nil {
			return
		}
		defer dir.Close()
		_ = dir.ReplaceUnsynced(ritualFile, []byte(today+" "+k.String()+"\n"))
	}
	return r
}
