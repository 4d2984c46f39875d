package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// TestSound: sound is off by default. A player on PATH gets the file, and no secrets of the environment;
// without a player the bell rings instead.
func TestSound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if play, _ := openSound(settings.ScreenSettings{Sound: settings.SoundOff}); play != nil {
		t.Error("it is not off")
	}
	for bells, screen := range []settings.ScreenSettings{{Sound: settings.SoundOn,
		Notify: render.NotifyOptions{Bell: true}},
		{Sound: settings.SoundOn}} {
		play, silence := openSound(screen)
		testkit.Same(t, "bells", bells, play(tui.SoundAsked))
		testkit.Same(t, "bells at the end", 2, play(tui.SoundFailed))
		silence()
	}
	played := filepath.Join(dir, "heard")
	testkit.OK(t, syscall.Mkfifo(played, 0o600))
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	script := "#!/bin/sh\n{ printf '%s ' \"$1$ANTHROPIC_API_KEY\"; /usr/bin/head -c 4 \"$2\"; } >" + played + "\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "aplay"), []byte(script), 0o700))
	play, silence := openSound(settings.ScreenSettings{Sound: settings.SoundOn})
	defer silence()
	testkit.Same(t, "bells ring beside the player", 0, play(tui.SoundDone))
	if raw, err := os.ReadFile(played); err != nil || string(raw) != "-q RIFF" { // blocks until the player has run
		t.Errorf("the player heard %q, %v", raw, err)
	}
}
