package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestEveryKeyMeansSomething: each key does on its screen what the table of keys says, and the help of that
// screen lists it.
func TestEveryKeyMeansSomething(t *testing.T) {
	testkit.WithoutRace(t)
	ways := map[keys.Context]string{
		keys.Insert: "", keys.Normal: "Esc", keys.Focus: "Alt+1", keys.Logbook: "F2", keys.Plan: "F3",
		keys.Sessions: "F4", keys.Changes: "F5", keys.Settings: "F8", keys.Timeline: "F6", keys.Help: "F1",
	}
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		d := s.frontend.root
		for c, way := range ways {
			for _, b := range slices.Concat(keys.Own(c), keys.Reading(c), keys.Own(keys.Everywhere)) {
				for _, key := range b.Keys {
					if a, _ := keys.Look(c, key); a != b.Action || a == keys.Detach {
						continue // the context has another use for it, or it ends the program
					}
					s.do(func() {
						d.dialogs.open, d.picker, d.search = nil, picker{}, searchBar{}
						d.base(d.runScreen)
						d.prompt.write()
					})
					if way != "" {
						s.Press(way)
					}
					s.do(func() {
						if got := d.context(); got != c {
							t.Errorf("%s leads to %q, not to %q", way, got, c)
						}
						if !d.screen().act(b.Action, key) && !d.act(b.Action) {
							t.Errorf("%s: %s (%s) means nothing", c, key, b.Action)
						}
					})
				}
			}
		}
	})
}

// do runs something on tview's loop.
func (s *scene) do(something func()) {
	s.frontend.post(something)
	s.Settle()
}

func TestHelpListsEveryKey(t *testing.T) {
	for _, c := range keys.Contexts {
		var listed []string
		for _, row := range helpFor(c, c == keys.Insert || c == keys.Normal || c == keys.Focus) {
			listed = append(listed, row.Find)
		}
		for _, b := range slices.Concat(keys.For(c), map[bool][]keys.Binding{true: keys.Editing}[c == keys.Insert]) {
			if !slices.Contains(listed, strings.Join(b.Keys, "  ")+" "+b.Help) {
				t.Errorf("the help of %q lacks %v: %s", c, b.Keys, b.Help)
			}
		}
		if c == keys.Insert || c == keys.Normal {
			for _, s := range view.EditorCommands {
				if !slices.Contains(listed, s.Usage()+" "+s.Help) {
					t.Errorf("the help of %q lacks %s", c, s.Usage())
				}
			}
		}
	}
}

// TestEverySlashCommandIsDone: every command that the editor accepts has a handler.
func TestEverySlashCommandIsDone(t *testing.T) {
	for _, s := range view.EditorCommands {
		_, order, _ := view.CommandsFor(nil, view.EditorCommand{Name: s.Name, Rest: "set x"})
		_, here := slashHere[s.Name]
		_, answers := view.SlashAnswers[s.Name]
		if !order && !here && !answers {
			t.Errorf("no handler for /%s", s.Name)
		}
		if (order && here || here && answers || answers && order) && s.Name != "plan" {
			t.Errorf("/%s is done twice", s.Name)
		}
	}
	for name := range view.SlashAnswers {
		if _, ok := view.Lookup(name); !ok {
			t.Errorf("/%s cannot be written", name)
		}
	}
	for name := range slashHere {
		if _, ok := view.Lookup(name); !ok {
			t.Errorf("/%s cannot be written", name)
		}
	}
}
