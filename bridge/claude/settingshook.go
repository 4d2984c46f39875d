package claude

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
)

// settingsCallback is the id of the hook that is called before changed settings take effect.
//
// A session reads its settings files again when they change: hooks, permission rules and helpers that an
// agent writes into .claude/settings.json would take effect within seconds, in the middle of the session.
// If a ConfigChange callback blocks the change, the settings with which the process was started stay in
// force (observed with CLI 2.1.329). The next process reads the files again, after the supervisor has
// checked them.
const settingsCallback = "arbiter-settings"

// settingsRegistration registers that hook for every source.
func settingsRegistration() map[string]any {
	return map[string]any{"hookCallbackIds": []string{settingsCallback}, "timeout": callbackSeconds,
		"onFailure": "block"}
}

// settingsAnswer is the answer to a change.
type settingsAnswer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// holdSettings keeps changed settings out of the session, and reports it.
func (a *agent) holdSettings(request, file string) {
	a.asks.writeAnswer(a.ctx, request,
		settingsAnswer{Decision: "block", Reason: "settings count from the next start of this agent"})
	if file == "" {
		file = "a settings file"
	}
	a.emit(bridge.Notice{Text: fmt.Sprintf("%.300s was changed while the agent runs; it counts from its next start, "+
		"if it is trusted then", file)})
}
