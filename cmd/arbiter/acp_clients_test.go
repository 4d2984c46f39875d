package main

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// acpClients returns the directory with the packages of the Agent Client Protocol clients that scripts/setup
// installed. CI requires them.
func acpClients(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile("../../scripts/acp/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	tools := os.Getenv("ARBITER_TOOLS")
	if tools == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		tools = filepath.Join(cache, "arbiter")
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(lock)), lock...)) // the hash that Git gives this file
	dir := filepath.Join(tools, "acp", hex.EncodeToString(sum[:]), "node_modules")
	if _, err := os.Stat(filepath.Join(dir, ".bin", "node")); err != nil {
		if os.Getenv("ARBITER_REQUIRE_CLAUDE") != "" && os.Getenv("CI") != "" {
			t.Fatalf("no clients of the Agent Client Protocol (%v): run scripts/setup", err)
		}
		t.Skipf("no clients of the Agent Client Protocol (%v): scripts/setup installs them", err)
	}
	return dir
}

// TestACPWithTheSDK: a client built with the official TypeScript SDK prompts, answers questions, allows, loads
// the session after a kill, and cancels.
func TestACPWithTheSDK(t *testing.T) {
	clients := acpClients(t)
	for _, who := range players(t) {
		for name, capabilities := range acpEditors {
			t.Run(who.name+" "+name, func(t *testing.T) {
				who.long(t)
				t.Parallel()
				if name == "plain" {
					testkit.Long(t)
				}
				h := newTestHome(t, who)
				module := filepath.Join(clients, "@agentclientprotocol", "sdk", "dist", "v1", "unstable", "acp.js")
				script := absolute(t, "testdata/acp/conversation.mjs")
				args := slices.Concat([]string{script, module, capabilities, "arbiter", "acp", "--"},
					h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")))
				cmd := exec.Command(filepath.Join(clients, ".bin", "node"), args...)
				cmd.Env, cmd.Dir = h.env, h.work
				steps := talks(t, cmd, func(step acpStep) {
					if step.Step == "asked" {
						h.killed(step.SessionID)
					}
				})
				if len(steps) != 4 {
					t.Fatalf("the steps are %+v", steps)
				}
				asked, loaded, answered, cancelled := steps[0], steps[1], steps[2], steps[3]
				if asked.Stop != "end_turn" || asked.Version != 1 || !loaded.Same || loaded.Updates == 0 ||
					answered.Stop != "end_turn" || cancelled.Stop != "cancelled" || cancelled.Sessions != 2 {
					t.Errorf("the steps are %+v", steps)
				}
				if slices.Contains(answered.Kinds, "subagent_update") != (name == "subagents") ||
					!slices.Contains(answered.Kinds, "plan") || !slices.Contains(answered.Kinds, "usage_update") {
					t.Errorf("updates were of the kinds %v", answered.Kinds)
				}
			})
		}
	}
}

// acpStep is a step of conversation.mjs.
type acpStep struct {
	Step, SessionID, Stop      string
	Version, Updates, Sessions int
	Same                       bool
	Kinds                      []string
}

// talks runs a conversation. It calls between after each step; then the conversation continues.
func talks(t *testing.T, cmd *exec.Cmd, between func(acpStep)) []acpStep {
	t.Helper()
	var errs shared
	cmd.Stderr, cmd.WaitDelay = &errs, waitTimeout
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
	var steps []acpStep
	for dec := json.NewDecoder(out); ; {
		var s acpStep
		if err := dec.Decode(&s); err != nil {
			break
		}
		steps = append(steps, s)
		between(s)
		_, _ = fmt.Fprintln(in) // it may have ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
	return steps
}

// TestACPWithACPX: acpx prompts, answers and allows, with a separate process for each command.
func TestACPWithACPX(t *testing.T) {
	clients := acpClients(t)
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			testkit.Long(t)
			h := newTestHome(t, who)
			agent := "arbiter acp -- " + strings.Join(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), " ")
			acpx := func(args ...string) string {
				t.Helper()
				args = append([]string{filepath.Join(clients, "acpx", "dist", "cli.js"), "--agent", agent,
					"--approve-all", "--ttl", "1"}, args...)
				cmd := exec.Command(filepath.Join(clients, ".bin", "node"), args...)
				cmd.Env, cmd.Dir = h.env, h.work
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("acpx %v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			acpx("sessions", "new")
			if out := acpx("Make a thing"); !strings.Contains(out, "What shall it be called?") {
				t.Fatalf("nothing was asked:\n%s", out)
			}
			out := acpx("call it dawn")
			for _, want := range []string{"[plan]", "Orchestrator I: Bash", "request_permission", "(completed)",
				"The run ended: complete", "end_turn"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			acpx("sessions", "close")
		})
	}
}
