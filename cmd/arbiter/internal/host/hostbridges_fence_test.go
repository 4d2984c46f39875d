package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// TestHostsAreFencedBeforeARunContinues: for a host on which processes of an earlier process may still run, the
// `end` command runs. The host counts as fenced if the command succeeds.
func TestHostsAreFencedBeforeARunContinues(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ended")
	end := func(name, then string) hosts.Host {
		return hosts.Host{Name: name, End: []string{"sh", "-c", "echo " + name + " >> " + mark + "; " + then}}
	}
	var left supervisor.LifecycleState
	left.Start(bridge.ClaudeInfo{})
	c := &effect.Collector{}
	for _, name := range []string{"pod", "node", "box", "old"} {
		left.Back(c, name, bridge.ClaudeInfo{}, "/srv")
	}
	left.Leave(c, "old") // no agent was there any more
	log := slog.New(slog.DiscardHandler)
	if got := FenceHost(t.Context(), hosts.Config{}, "", nil, log); got != nil {
		t.Errorf("of a new run: %v", got)
	}
	resumed := &supervisor.State{}
	resumed.Lifecycle = left
	known := hosts.Config{Hosts: []hosts.Host{end("pod", "exit 0"), end("node", "exit 3"), {Name: "box"},
		end("old", "exit 0")}}
	if got := FenceHost(t.Context(), known, "", resumed, log); !slices.Equal(got, []string{"pod"}) {
		t.Errorf("fenced: %v", got)
	}
	raw, err := os.ReadFile(mark)
	if text := string(raw); err != nil || text != "pod\nnode\n" && text != "node\npod\n" {
		t.Errorf("ended: %q, %v", text, err)
	}
}
