package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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
