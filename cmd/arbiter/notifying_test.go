package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestNotifications: a run without a screen posts once that a question waits, that a permission request waits,
// and that it has ended. The posts contain no text that agents wrote. A server that fails is reported once,
// without its URL's secret, and the run continues.
func TestNotifications(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		posts := make(chan string, 100)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/SECRET" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			posts <- string(raw)
		}))
		t.Cleanup(server.Close)
		next := func() (m map[string]string) {
			t.Helper()
			select {
			case raw := <-posts:
				var all map[string]any
				testkit.OK(t, json.Unmarshal([]byte(raw), &all))
				for _, word := range []string{"called", "echo", "dawn"} {
					if strings.Contains(raw, word) {
						t.Errorf("it tells what an agent wrote: %s", raw)
					}
				}
				m = map[string]string{}
				for name, value := range all {
					m[name], _ = value.(string)
				}
			case <-time.After(waitTimeout):
				t.Fatal("nothing is posted")
			}
			return m
		}

		h := newTestHome(t, who)
		ways := "off,ntfy:" + server.URL + "/SECRET,webhook:" + server.URL + "/hook"
		run := strings.TrimSpace(h.output(append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")),
			"--detach", "--notify", ways, "--task", "Make a thing")...))
		m := next()
		if m["event"] != "waits" || m["kind"] != "question" || m["agent"] != "arbiter" || m["run"] != run ||
			m["title"] != "Make a thing" {
			t.Errorf("of the question it tells %v", m)
		}
		h.output("send", "call it dawn")
		if m := next(); m["event"] != "waits" || m["kind"] != "permission" || m["agent"] != "orch-1" {
			t.Errorf("of the request it tells %v", m)
		}
		h.output("allow", "all")
		if m := next(); m["event"] != "ended" || m["status"] != "complete" {
			t.Errorf("of the end it tells %v", m)
		}
		awaitGone(t, run)
		replayed := h.output("replay", run)
		if strings.Count(replayed, "403 Forbidden") != 1 || strings.Contains(replayed, "SECRET") || len(posts) > 0 {
			t.Errorf("%d more posts; the run told\n%s", len(posts), replayed)
		}
	})
}

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
