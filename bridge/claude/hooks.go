package claude

import (
	"context"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// callback is the id under which all our hooks are registered. Hooks are told apart by their event.
const callback = "arbiter"

// callbackSeconds is how long the CLI may wait for a callback. We answer at once unless we have ended; but
// a machine that was suspended or busy must not cost a message: if a UserPromptSubmit hook is answered too
// late, the CLI drops its prompt, by default after 30 s (observed with CLI 2.1.329).
const callbackSeconds = 600

// adviser is an agent's hook policy and the part of it that was used. The reader decides with it, at once;
// a client may change the reminder concurrently.
type adviser struct {
	mu     sync.Mutex
	policy hooks.Policy
	spent  hooks.Spent
}

// newAdviser returns nil for an agent without hooks.
func newAdviser(cfg *bridge.HookConfig) *adviser {
	if cfg == nil {
		return nil
	}
	return &adviser{
		policy: HookPolicy(*cfg),
		spent:  hooks.SpentLevel(cfg.Spent),
	}
}

// HookPolicy returns the policy of an agent's hooks.
func HookPolicy(c bridge.HookConfig) hooks.Policy {
	return hooks.Policy{Role: c.Role, Warn: c.Warn, Critical: c.Critical, Reminder: c.Reminder,
		KeepContext: c.KeepContext}
}

// HookEvent returns the client's event for an effect, or nil if it has none. r must be the reading that the
// decision used.
func HookEvent(e hooks.Effect, r hooks.Reading) bridge.EventBody {
	switch e := e.(type) {
	case hooks.LevelReported:
		if !e.Again {
			return bridge.ContextWarning{Pct: e.Pct, Level: string(e.Level)}
		}
	case hooks.CompactionBlocked:
		if e.Count == 1 { // it is tried again before every call of the model
			return bridge.Compact{Trigger: e.Trigger, Blocked: true, PreTokens: r.Tokens}
		}
	case hooks.Compacted:
		return bridge.Compact{Trigger: e.Trigger}
	case hooks.SubagentStarted:
		return bridge.SubagentStart{Description: e.Type, ToolUse: e.ID, Type: e.Type}
	case hooks.SubagentEnded:
		return bridge.SubagentStop{Description: e.Type, ToolUse: e.ID}
	}
	return nil
}

func (d *adviser) decide(in hooks.Input, r hooks.Reading) (hooks.Answer, []hooks.Effect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer, spent, effects := hooks.Decide(d.policy, in, r, d.spent)
	d.spent = spent
	return answer, effects
}

func (d *adviser) remind(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policy.Reminder = text
}

// hooked dispatches a hook_callback by the callback that it names, or otherwise by its event. It returns
// false if there is no handler.
func (r *reader) hooked(f controlRequest) bool {
	a := r.a
	in, _ := split(f.Request["input"]) // one that is not an object has no members
	id, event := text(f.Request, "callback_id"), text(in, "hook_event_name")
	switch {
	case a.Config.Judged && (id == judgeCallback || event == preToolUse || event == preSkillCommand):
		a.asks.serve(a.Ctx, f.ID, func(ctx context.Context) (any, error) { return a.judge(ctx, in), nil })
	case id == settingsCallback || event == "ConfigChange":
		a.holdSettings(f.ID, text(in, "file_path"))
	case a.adviser != nil:
		a.compareRan(in)
		r.hook(f)
	default:
		return false
	}
	return true
}

// hook serves the adviser's callbacks. After any error the answer is {}: after an error response the CLI
// would write kilobytes of its source to stderr (observed with CLI 2.1.329).
func (r *reader) hook(f controlRequest) {
	a := r.a
	in, err := hooks.Parse(f.Request["input"])
	if err != nil {
		a.asks.writeAnswer(a.Ctx, f.ID, hooks.Answer{}.JSON())
		a.notice("hook", "a hook callback could not be read: "+err.Error())
		return
	}
	reading := a.gauge.now()
	answer, effects := a.adviser.decide(in, reading)
	a.asks.writeAnswer(a.Ctx, f.ID, answer.JSON()) // before anything that may wait for a client
	a.follow.found(in.TranscriptPath)
	for _, e := range effects {
		switch e.(type) {
		case hooks.Compacted, hooks.SubagentStarted, hooks.SubagentEnded:
			continue // later frames of the CLI report more about it
		case hooks.CompactionBlocked:
			r.blocked = true
		}
		if body := HookEvent(e, reading); body != nil {
			a.Emit(body)
		}
	}
}

// compactFailed reports a failed compaction, unless our own hook prevented it.
func (r *reader) compactFailed(f compactFailed) {
	if r.blocked {
		r.blocked = false
		return
	}
	r.a.Emit(bridge.Error{Category: bridge.CatCompaction, Message: "compaction failed: " + f.Reason})
}

// settingsCallback is the id of the hook that is called before changed settings take effect.
//
// A session reads its settings files again when they change: hooks, permission rules and helpers that an
// agent writes into .claude/settings.json would take effect within seconds, in the middle of the session.
// If a ConfigChange callback blocks the change, the settings with which the process was started stay in
// force (observed with CLI 2.1.329). The next process reads the files again, after the supervisor has
// checked them.
const settingsCallback = "arbiter-settings"

// holdSettings keeps changed settings out of the session, and reports it.
func (a *agent) holdSettings(request, file string) {
	a.asks.writeAnswer(a.Ctx, request,
		map[string]string{"decision": "block", "reason": "settings count from the next start of this agent"})
	if file == "" {
		file = "a settings file"
	}
	a.Emit(bridge.Notice{Text: jsonl.Cut(file, 300) + " was changed while the agent runs; it counts from its next " +
		"start, if it is trusted then"})
}
