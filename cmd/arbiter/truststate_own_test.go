package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
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
