package tui

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestTraffic bounds what is sent to the terminal, in bytes per second: little while only seconds and
// figures change, more while four agents write and call tools, and almost nothing while all wait for the
// human. The clock is a bubble's, so that the figures are the same on every machine.
func TestTraffic(t *testing.T) {
	testkit.WithoutRace(t)
	const span = 20 // seconds
	for _, tt := range []struct {
		w, h                 int
		scene, still         bool
		timers, busy, waited int // the maximum, in bytes per second
	}{
		{w: 120, h: 40, timers: 5_000, busy: 15_000, waited: 500},
		{w: 120, h: 40, still: true, timers: 1_000, busy: 15_000, waited: 500},
		{w: 200, h: 50, scene: true, timers: 5_000, busy: 25_000, waited: 500}, // tiles show arriving text
	} {
		t.Run(fmt.Sprintf("%dx%d-still=%v", tt.w, tt.h, tt.still), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line := &wire{w: tt.w, h: tt.h}
				screen := line.screen(t)
				host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Login: LoginYes, CWD: "/home/weaver/loom"}}
				f, err := New(Options{Screen: screen, Host: host, Theme: "dark", Still: tt.still,
					Begin: &Begin{Task: "Let the shop export invoices"}, Ritual: Ritual{Scene: tt.scene, Human: view.RitualSmith}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				over := make(chan struct{})
				go func() { defer close(over); _ = f.Run(ctx) }()
				time.Sleep(time.Second)
				synctest.Wait()
				p := host.begunRun()
				p.fourAtWork()
				time.Sleep(2 * time.Second) // sent once: the picture, fading text
				synctest.Wait()
				line.take()
				sent := func(what string, most int, during func()) {
					for range span * 10 {
						during()
						time.Sleep(100 * time.Millisecond)
						synctest.Wait()
					}
					got := len(line.take()) / span
					t.Logf("%s: %d bytes/s", what, got)
					if got > most {
						t.Errorf("%s: %d bytes a second are sent, want %d at most", what, got, most)
					}
				}
				sent("only timers move", tt.timers, func() {})
				n := 0
				sent("four agents work", tt.busy, func() { n++; p.works(n) })
				for i := range 4 {
					p.endTurn(fmt.Sprint("orch-", i+1), reports("done", "It is written.", true))
				}
				p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Which format?"))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				line.take()
				sent("all wait", tt.waited, func() {})
				f.Leave()
				cancel()
				<-over
			})
		})
	}
}

// works makes each of four agents write a few words, and once a second end a call and start another.
func (p *fakeRun) works(n int) {
	for i := range 4 {
		id, use := fmt.Sprint("orch-", i+1), fmt.Sprint("w", i, "-", n/10)
		p.sink(time.Now(), contract.Event{ID: id, Body: contract.Delta{Text: "and a few words more, "}})
		if n%10 != i*2 {
			continue
		}
		p.does(id, bridge.ToolUse{Tool: "Bash", ToolUse: use,
			Input: fmt.Appendf(nil, `{"command":"go test ./invoice -run Test%d"}`, n)})
		p.does(id, bridge.ToolResult{ToolUse: use, Text: "ok  \tshop/invoice\t0.112s"})
		p.full(id, 20_000+50*n)
	}
}
