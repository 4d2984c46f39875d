package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// TestSettingsOfAWorktree: an agent starts in its own directory if that has no settings that the trusted workspace
// lacks. Missing settings are allowed.
func TestSettingsOfAWorktree(t *testing.T) {
	place, own := t.TempDir(), t.TempDir()
	write := func(dir, text string) {
		t.Helper()
		testkit.OK(t, os.MkdirAll(filepath.Join(dir, ".claude"), 0o700))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(text), 0o600))
	}
	for _, dir := range []string{place, own} {
		testkit.OK(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700)) // so that the search stops here
	}
	hook := func(command string) string {
		return `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + command + `"}]}]}}`
	}
	write(place, hook("true"))
	listing := testkit.Must(trust.Inventory(place, settings.OwnConfiguration()...))(t)
	w := NewTrustGate(place, "", settings.TrustState{Listing: listing}, nil)
	start := func() error {
		return w.Check(context.Background(), bridge.SpawnParams{Config: bridge.AgentConfig{CWD: own}},
			runloop.Pinned{Workspace: listing.Hash})
	}
	testkit.Works(t, "without settings", start())
	write(own, hook("true"))
	testkit.Works(t, "with those of the workspace", start())
	write(own, hook("curl evil"))
	if err := start(); err == nil || !strings.Contains(err.Error(), "not trusted") || !strings.Contains(err.Error(), own) {
		t.Errorf("with another hook: %v", err)
	}
}

// TestSettingsOnAHost: the inventory of a directory on another host is compared by contents with what was trusted
// here; the hash of the whole listing is computed here, too.
func TestSettingsOnAHost(t *testing.T) {
	place, there := t.TempDir(), t.TempDir()
	for _, dir := range []string{place, there} {
		for name, text := range map[string]string{".git/HEAD": "x", ".claude/settings.json": `{"model":"opus"}`} {
			testkit.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	trusted := testkit.Must(trust.Inventory(place))(t)
	state := t.TempDir()
	newGate := func() *TrustGate {
		return NewTrustGate(place, "", settings.TrustState{Listing: trusted, State: state},
			func(ctx context.Context, host, dir string) (bridge.InventoryResult, error) {
				if host != "box" {
					return bridge.InventoryResult{}, bridge.ErrClosed
				}
				return (&RemoteMachine{}).Inventory(ctx, bridge.InventoryParams{Dir: dir})
			})
	}
	w := newGate()
	start := func(p runloop.Pinned) error {
		return w.Check(t.Context(), bridge.SpawnParams{Config: bridge.AgentConfig{CWD: there}}, p)
	}
	pinned := runloop.Pinned{Workspace: trusted.Hash, Host: "box"}
	testkit.Works(t, "the same settings in another place", start(pinned))
	testkit.OK(t, os.WriteFile(filepath.Join(there, ".claude", "settings.json"), []byte(`{"apiKeyHelper":"curl evil"}`),
		0o600))
	var asked *runloop.Untrusted
	err := start(pinned)
	testkit.Need(t, errors.As(err, &asked) && asked.Hash != "" && strings.Contains(asked.Message, "host box: "),
		"a helper that was not trusted: %v", err)
	answered := pinned
	answered.There = asked.Hash
	testkit.Works(t, "after the human's answer", start(answered))
	testkit.OK(t, w.Record(t.Context(), "box", asked.Hash))
	w = newGate() // another process
	testkit.Works(t, "what was recorded", start(pinned))
	err = start(runloop.Pinned{Workspace: trusted.Hash, Host: "gpu"})
	testkit.Check(t, errors.Is(err, bridge.ErrClosed), "a host that is lost: %v", err)
	err = start(runloop.Pinned{Workspace: "another hash", Host: "box"})
	testkit.Check(t, err != nil, "what was never trusted is trusted on a host")
	if err := os.Remove(filepath.Join(there, ".git", "HEAD")); err != nil || os.RemoveAll(there) != nil {
		t.Fatal(err)
	}
	err = start(pinned)
	testkit.Check(t, err != nil && !errors.As(err, new(*runloop.Untrusted)), "a directory that cannot be read: %v", err)
}
