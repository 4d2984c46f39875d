package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// BenchmarkHook measures what a hook costs a session, from its start to its exit, by
// the median: with an answer, with nobody to ask, and against a program that does
// nothing, in turns.
func BenchmarkHook(b *testing.B) {
	arbiter, err := exec.LookPath("arbiter")
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "hook")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	h := newHouse()
	h.looked, h.tokens = make(chan string, 1<<20), 190_000
	speak := h.speak()
	speak.Agent = func(session string) (hookAgent, bool) { // a new one each time, so that it is told
		h.mu.Lock()
		defer h.mu.Unlock()
		h.agent.Generation++
		return h.agent, true
	}
	speak.Report = func(bridge.AgentRef, hookDecision) {}
	server, err := serveHooks(dir, speak, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	event := string(bashOf(hookSession).JSON())
	nobody := filepath.Join(dir, "nobody")
	kinds := []struct {
		name string
		args []string
		says bool
		took []time.Duration
	}{
		{name: "true", args: []string{"true"}},
		{name: "silent", args: []string{arbiter, "hook", "--socket", nobody}},
		{name: "told", args: []string{arbiter, "hook", "--socket", server.place.socket}, says: true},
	}
	for b.Loop() {
		for i := range kinds {
			k := &kinds[i]
			cmd := exec.Command(k.args[0], k.args[1:]...)
			cmd.Stdin = strings.NewReader(event)
			began := time.Now()
			out, err := cmd.Output()
			k.took = append(k.took, time.Since(began))
			if err != nil || (len(out) > 0) != k.says {
				b.Fatalf("%s: %v, %q", k.name, err, out)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, k := range kinds {
		slices.Sort(k.took)
		b.ReportMetric(float64(k.took[len(k.took)/2].Microseconds())/1000, k.name+"-ms")
	}
}
