package claude

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// settingsCallback is the id of the hook that is asked before changed settings take effect.
//
// A session reads its settings files again when they change: hooks, permission rules and
// helpers that an agent writes into .claude/settings.json would count within seconds, in
// the middle of the session. A ConfigChange callback that blocks leaves those in force
// that the process was started with (observed with CLI 2.1.329). The next process reads
// them anew, after whoever starts it has looked at them.
const settingsCallback = "arbiter-settings"

// settingsRegistration registers that hook for every source.
func settingsRegistration() map[string]any {
	return map[string]any{"hookCallbackIds": []string{settingsCallback}, "timeout": callbackSeconds, "onFailure": "block"}
}

// settingsAnswer is what a change is answered.
type settingsAnswer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// asksOfSettings says whether a control request is about changed settings.
func asksOfSettings(f controlRequest) bool {
	if f.Subtype != "hook_callback" {
		return false
	}
	if id, err := jsonl.String(f.Request.get("callback_id")); err == nil && id == settingsCallback {
		return true
	}
	in, err := split(f.Request.get("input"))
	return err == nil && text(in, "hook_event_name") == "ConfigChange"
}

// holdSettings keeps changed settings out of the session, and says so.
func (a *agent) holdSettings(f controlRequest) {
	a.asks.say(a.ctx, f.ID, settingsAnswer{Decision: "block", Reason: "settings count from the next start of this agent"})
	file := "a settings file"
	if in, err := split(f.Request.get("input")); err == nil && text(in, "file_path") != "" {
		file = text(in, "file_path")
	}
	a.emit(bridge.Notice{Text: fmt.Sprintf("%.300s was changed while the agent runs; it counts from its next start, if it is trusted then", file)})
}
