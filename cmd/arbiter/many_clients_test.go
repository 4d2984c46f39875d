package main

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestOneRunManyClients plays one run by several clients: it is started on the screen, whose terminal is
// closed, watched by one that is stopped and by one that is killed, answered and allowed from a second
// terminal, and ends complete. The watcher that stays has the story as the event log has it, and nothing
// twice.
func TestOneRunManyClients(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			h := settle(t, who)
			p := h.play(absolute(t, "testdata/scenarios/screen.yaml"), "--task", "Make a thing")
			p.await("What shall it be called?", "The Arbiter awaits your answer.")
			run := h.runs()[0]
			var watched bytes.Buffer
			watch := h.client(&watched, "watch", run, "--since", "0")
			var ignored bytes.Buffer
			stopped, killed := h.client(&ignored, "watch", run), h.client(new(bytes.Buffer), "watch", run)
			_ = stopped.Process.Signal(syscall.SIGSTOP)
			_ = killed.Process.Kill()
			_ = killed.Wait() // it was killed
			p.HangUp()
			if _, err := p.Exit(p.ctx); err != nil {
				t.Fatal(err)
			}
			h.output("send", run, "call it dawn")
			h.waits("permission")
			h.output("allow", run, "all")
			if err := watch.Wait(); err != nil {
				t.Errorf("watch: %v", err)
			}
			_ = stopped.Process.Kill()
			_ = stopped.Wait() // it was killed
			awaitGone(t, run)
			lines := strings.Split(strings.TrimSpace(watched.String()), "\n")
			told := strings.Split(strings.TrimSpace(h.output("replay", run)), "\n")
			if len(lines) != len(told) {
				t.Errorf("%d lines were watched, %d were told", len(lines), len(told))
			}
			seen, answers := map[string]bool{}, 0
			for i, text := range lines {
				line, err := contract.DecodeLine([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				if line.Seq != uint64(i+1) || seen[text] {
					t.Errorf("line %d has number %d", i+1, line.Seq)
				}
				seen[text] = true
				if m, ok := line.Body.(contract.Message); ok && m.Text == "call it dawn" && m.From == contract.Human {
					answers++
				}
			}
			if answers != 1 {
				t.Errorf("the answer was told %d times", answers)
			}
		})
	}
}

// client starts one of arbiter's commands there, which writes to out.
func (h *abode) client(out *bytes.Buffer, args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env, cmd.Dir, cmd.Stdout = h.env, h.work, out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, perhaps
	return cmd
}

// waits waits until something of a kind waits for the human.
func (h *abode) waits(kind string) {
	h.t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(h.output("status", "--json"), `"kind":"`+kind) {
		select {
		case <-tick.C:
		case <-late:
			h.t.Fatalf("nothing waits: %s", h.output("status"))
		}
	}
}
