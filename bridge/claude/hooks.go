package claude

import (
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
)

// callback is the id under which all our hooks are registered: the event says what
// it is about.
const callback = "arbiter"

// callbackSeconds is how long the CLI may wait for a callback. We answer at once or
// have ended; a machine that was suspended or busy meanwhile must not cost a
// message: a UserPromptSubmit that is answered too late drops its prompt, after 30 s
// unless told otherwise (observed with CLI 2.1.329).
const callbackSeconds = 600

// adviser is an agent's hook policy and what of it was spent. The reader decides
// with it, at once; a client may change the reminder meanwhile.
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
		policy: hooks.Policy{Role: cfg.Role, Warn: cfg.Warn, Critical: cfg.Critical,
			Reminder: cfg.Reminder, KeepContext: cfg.KeepContext},
		spent: hooks.SpentLevel(cfg.Spent),
	}
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

// hook serves hook_callback. Whatever is wrong with it, the answer is {}: after an
// error the CLI writes kilobytes of its source on stderr (observed with CLI 2.1.329).
func (r *reader) hook(f controlRequest) {
	a := r.a
	in, err := hooks.Parse(f.Request.get("input"))
	if err != nil {
		a.asks.say(a.ctx, f.ID, hooks.Answer{}.JSON())
		a.notice("hook", "a hook callback could not be read: "+err.Error())
		return
	}
	answer, effects := a.adviser.decide(in, a.gauge.now())
	a.asks.say(a.ctx, f.ID, answer.JSON()) // before anything that may wait for a client
	a.follow.found(in.TranscriptPath)
	for _, e := range effects {
		switch e := e.(type) {
		case hooks.Told:
			if !e.Again {
				a.emit(bridge.ContextWarning{Pct: e.Pct, Level: string(e.Level)})
			}
		case hooks.CompactionBlocked:
			r.blocked = true
			if e.Count == 1 { // before every call of the model it is tried anew
				a.emit(bridge.Compact{Trigger: e.Trigger, Blocked: true, PreTokens: a.gauge.now().Tokens})
			}
		}
	}
}

// compactFailed reports a compaction that was tried in vain, unless it was us who
// kept it from happening.
func (r *reader) compactFailed(f compactFailed) {
	if r.blocked {
		r.blocked = false
		return
	}
	r.a.emit(bridge.Error{Category: bridge.CatCompaction, Message: "compaction failed: " + f.Reason})
}
