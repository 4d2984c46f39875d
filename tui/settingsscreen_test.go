package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func (h *fakeHost) Settings(context.Context) ([]Setting, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings, "/home/weaver/.config/arbiter/config.yaml", h.unreadable
}

func (h *fakeHost) ChangeSetting(_ context.Context, name, value string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set = append(h.set, name+"="+value)
	for i := range h.settings {
		if h.settings[i].Name == name {
			h.settings[i].Value = value
		}
	}
	return name + " is written", h.barred
}

func (h *fakeHost) OpenSettings() error { h.opened = append(h.opened, "settings"); return nil }

// configured adds some settings to the program.
func configured(_ *Options, h *fakeHost) {
	h.settings = []Setting{
		{Name: "model", About: "MODEL of every agent, such as opus or a full id.", Value: "opus",
			Source: "~/.config/arbiter/config.yaml:3: model", When: "with the next run; /model changes the present one"},
		{Name: "permissions", About: "What happens to a tool call that no rule covers.", Value: "ask", Default: "ask",
			Choices: []string{"ask", "rules", "accept-edits", "allow-all"}, When: "with the next run"},
		{Name: "allow", About: "Allow what RULE covers.", Value: `["Bash(git *)", "Edit(src/**)"]`, Source: "--allow",
			When: "with the next run"},
		{Name: "max-cost", Group: "Limits", About: "cost limit in US dollars (0: no limit, or so)", Value: "0",
			Default: "0", When: "with the next run"},
		{Name: "theme", Group: "The screen", About: "Colours of the screen.", Value: "evil\x1b[31m\u202e",
			Source: "$ARBITER_THEME", Choices: []string{"dark", "light"}, When: "at once"},
	}
}

// TestSettings: the page shows values and where they are set, and changes them in the file.
func TestSettings(t *testing.T) {
	play(t, 120, 40, configured, func(s *scene) {
		s.Press("F8")
		s.Expect("SETTINGS", "IN EFFECT", "Limits", "no limit", "The screen", "config.yaml",
			"opus", "$ARBITER_THEME", "Set by", "changes the present one")
		s.Press("Down", "Enter")
		s.Expect("accept-edits")
		s.Press("Down", "Enter")
		if got := strings.Join(s.host.set, " "); got != "permissions=rules" {
			t.Errorf("changed: %q", got)
		}
		s.Press("x")
		if got := strings.Join(s.host.set, " "); got != "permissions=rules permissions=" {
			t.Errorf("changed: %q", got)
		}
		s.Press("e", "Up", "Enter")
		s.Expect("/settings model opus")
		s.host.barred = errors.New("max-cost: \"x\" is not a number")
		s.Press("Ctrl+U")
		s.Type("/settings max-cost x\n")
		s.Expect("Nothing was written")
	})
}

// TestModelPicker: /model lists the models with their known properties, and selects one.
func TestModelPicker(t *testing.T) {
	play(t, 120, 40, nil, func(s *scene) {
		s.startWork()
		s.Type("/model\n")
		s.Expect("claude-opus-4-5", "$5 in, $25 out", "price unknown", "2026-10")
		s.Press("Down", "Enter")
		s.expectTook(contract.Configure{Model: "sonnet"})
	})
}
