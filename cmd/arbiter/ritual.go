package main

import (
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/view"
)

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
