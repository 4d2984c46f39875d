package main

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/tui/view"
)

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
