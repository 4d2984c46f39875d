package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
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

// TestTitleOncePerDay: the title is shown once a day, and the person's chosen role is kept.
func TestTitleOncePerDay(t *testing.T) {
	c := settings.Choices{StateDir: t.TempDir(), Screen: settings.ScreenSettings{Ritual: settings.RitualFull}}
	monday := time.Date(2026, 1, 5, 9, 0, 0, 0, time.Local)
	first := readRitual(c, monday)
	if !first.Title || !first.Scene || first.Human != view.RitualNobody {
		t.Fatalf("at first: %+v", first)
	}
	first.Remember(view.RitualSmith)
	if again := readRitual(c, monday.Add(10*time.Hour)); again.Title || again.Human != view.RitualSmith {
		t.Errorf("on the same day: %+v", again)
	}
	if next := readRitual(c, monday.Add(24*time.Hour)); !next.Title || next.Human != view.RitualSmith {
		t.Errorf("on the next day: %+v", next)
	}
	for value, scene := range map[string]bool{settings.RitualScene: true, settings.RitualOff: false} {
		c.Screen.Ritual = value
		if r := readRitual(c, monday.Add(48*time.Hour)); r.Title || r.Scene != scene {
			t.Errorf("%s: %+v", value, r)
		}
	}
}
