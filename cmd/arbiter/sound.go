package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/view"
)

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
	if player := findPlayerOfSound(); player != nil {
		c := subcommands.NewChime(func(ctx context.Context, file string) error { return playSound(ctx, player, file) })
		return func(s tui.Sound) int {
			c.Play(subcommands.Cue(s))
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

func findPlayerOfSound() []string {
	for _, p := range soundPlayers {
		if path, err := exec.LookPath(p[0]); err == nil {
			return append([]string{path}, p[1:]...)
		}
	}
	return nil
}

// playSound plays a file. It returns when the player has ended, which is killed if ctx is cancelled.
func playSound(ctx context.Context, player []string, file string) error {
	cmd := exec.CommandContext(ctx, player[0], append(player[1:len(player):len(player)], file)...)
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
