package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/remotehost"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// TestSettingsOfAWorktree: an agent starts in a directory of its own if that brings no settings which the trusted
// workspace lacks. It may lack some.
func TestSettingsOfAWorktree(t *testing.T) {
	place, own := t.TempDir(), t.TempDir()
	settings := func(dir, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{place, own} {
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil { // so that nothing above is looked at
			t.Fatal(err)
		}
	}
	hook := func(command string) string {
		return `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + command + `"}]}]}}`
	}
	settings(place, hook("true"))
	listing, err := trust.Inventory(place, ownConfiguration()...)
	if err != nil {
		t.Fatal(err)
	}
	w := &trustGate{place: place, seen: map[string]trust.Listing{listing.Hash: listing}}
	start := func() error {
		return w.gate(context.Background(), bridge.SpawnParams{Config: bridge.AgentConfig{CWD: own}}, listing.Hash)
	}
	if err := start(); err != nil {
		t.Errorf("without settings: %v", err)
	}
	settings(own, hook("true"))
	if err := start(); err != nil {
		t.Errorf("with those of the workspace: %v", err)
	}
	settings(own, hook("curl evil"))
	if err := start(); err == nil || !strings.Contains(err.Error(), "not trusted") || !strings.Contains(err.Error(), own) {
		t.Errorf("with another hook: %v", err)
	}
}

// TestSettingsOnAHost: the inventory of a directory on another host is held against what was trusted here, by contents
// alone; what the host says of the trusted hash is not asked.
func TestSettingsOnAHost(t *testing.T) {
	place, there := t.TempDir(), t.TempDir()
	for _, dir := range []string{place, there} {
		for name, text := range map[string]string{".git/HEAD": "x", ".claude/settings.json": `{"model":"opus"}`} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	trusted, err := trust.Inventory(place)
	if err != nil {
		t.Fatal(err)
	}
	w := &trustGate{place: place, seen: map[string]trust.Listing{trusted.Hash: trusted}}
	start := func() error {
		r, err := (&remotehost.Machine{}).Inventory(t.Context(), bridge.InventoryParams{Dir: there})
		if err != nil {
			t.Fatal(err)
		}
		return w.farGate(there, trusted.Hash, r)
	}
	if err := start(); err != nil {
		t.Errorf("the same settings in another place: %v", err)
	}
	if err := os.WriteFile(filepath.Join(there, ".claude", "settings.json"), []byte(`{"apiKeyHelper":"curl evil"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("a helper that was not trusted: %v", err)
	}
	if err := w.farGate(there, "another hash", bridge.InventoryResult{}); err == nil {
		t.Error("what was never trusted is trusted on a host")
	}
}
