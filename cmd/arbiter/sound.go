package main

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/tui"
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
