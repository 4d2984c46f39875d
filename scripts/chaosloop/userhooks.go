package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

//go:embed userhooks.py
var userHook []byte

// interferes reports whether hooks of the user's settings refuse messages and rewrite calls in this round. The stand-in
// runs no such hooks.
func (r *round) interferes() bool { return r.o.userHooks && r.claude != "" && !r.acts() }

// prepareUserHooks writes the settings with those hooks.
func (r *round) prepareUserHooks() error {
	home := filepath.Join(r.dir, "home", ".claude")
	for _, dir := range []string{home, r.hooksNoted()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	script := filepath.Join(r.dir, "hook.py")
	if err := os.WriteFile(script, userHook, 0o600); err != nil {
		return err
	}
	hook := []any{map[string]any{"type": "command", "command": fmt.Sprintf("python3 '%s' '%s'", script, r.hooksNoted())}}
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{
		"UserPromptSubmit": []any{map[string]any{"hooks": hook}},
		"PreToolUse":       []any{map[string]any{"matcher": "Bash", "hooks": hook}},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600)
}

// hooksNoted is the directory with an empty file for each thing that a hook did.
func (r *round) hooksNoted() string { return filepath.Join(r.dir, "hooks") }

// checkUserHooks checks that the log says which calls ran in another form, and that none ran that a hook refused.
func (r *round) checkUserHooks(all []contract.Line) {
	if !r.interferes() {
		return
	}
	notices, ended := "", map[string]bool{}
	for _, l := range all {
		switch b := l.Body.(type) {
		case contract.Notice:
			notices += b.Text
		case contract.ToolResult:
			ended[b.ToolUse] = !b.IsError
		}
	}
	notes, err := os.ReadDir(r.hooksNoted())
	if err != nil {
		r.fail("%v", err)
	}
	for _, note := range notes {
		r.f.interfered++
		switch kind, call, _ := strings.Cut(note.Name(), "-"); {
		case kind == "rewritten" && ended[call] && !strings.Contains(notices, ": rewritten "+call+"; "):
			r.f.untrue++
			r.fail("the log does not say that call %s ran in another form", call)
		case kind == "call" && ended[call]:
			r.f.untrue++
			r.fail("call %s succeeded, although a hook refused it", call)
		}
	}
}
