package supervisor

// This part of the package selects the parts of a run's history that an audit needs (who did what), writes
// them as records of the event log, and reads them back. It has no effect on the run.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AuditEntry is something that an audit is about: who was started and how it ended, what was permitted, said,
// commanded and stopped. About is the agent that did it or that it was done to, if any.
type AuditEntry struct {
	What   string
	About  string
	Detail map[string]any // strings, whole numbers, truth values, Text and lists of strings
}

// AuditText is what somebody wrote. An audit shows its size and hash, unless the text is requested.
type AuditText string

// Sum is the SHA-256 of a text, in hexadecimal.
func (t AuditText) Sum() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(t))) }

type entries []AuditEntry

// add adds an entry. detail contains names and values in turn; empty values are left out.
func (d *entries) add(what, about string, detail ...any) {
	entry := AuditEntry{What: what, About: about, Detail: map[string]any{}}
	for i := 0; i+1 < len(detail); i += 2 {
		switch v := detail[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
		case AuditText:
			if v == "" {
				continue
			}
		case []string:
			if len(v) == 0 {
				continue
			}
		}
		entry.Detail[detail[i].(string)] = detail[i+1]
	}
	*d = append(*d, entry)
}

// haltedText is empty, and so left out, if it does not apply.
func haltedText(halted bool) string {
	if halted {
		return "yes"
	}
	return ""
}

// entriesOfInput are the entries of an input itself, without its events.
func entriesOfInput(f input.Body) (d entries) {
	switch f := f.(type) {
	case input.Began:
		d.processRun("begun", f.Options, f.Claude)
	case input.Resumed:
		d.processRun("resumed", f.Options, f.Claude)
	case input.BridgeBack:
		d.add("bridge_back", "", "claude", f.Claude.Path, "claude_version", f.Claude.Version, "claude_sha256",
			f.Claude.SHA256, "swept", f.Swept)
	case input.BridgeLost:
		d.add("bridge_lost", "", "reason", f.Message, "halted", haltedText(f.Halted))
	case input.NoBridge:
		d.add("not_begun", "", "category", string(f.Category), "reason", f.Message)
	case input.Command:
		d.command(f.Command)
	case input.Signal:
		d.add("signal", "", "signal", f.Signal, "fast", f.Fast)
	case input.Spawned:
		x := f.Result
		d.add("spawned", f.Agent.ID, "session_id", x.SessionID, "generation", f.Agent.Generation, "pid", x.PID, "argv",
			x.Argv, "cwd", x.CWD, "permission_mode", x.PermissionMode, "sandbox", x.Sandbox, "env", x.Env,
			"claude_version", x.ClaudeVersion, "claude_sha256", x.ClaudeSHA256, "resumed", x.Resumed)
	case input.NotSpawned:
		d.add("not_spawned", f.Agent.ID, "generation", f.Agent.Generation, "category", string(f.Category), "reason",
			f.Message)
	case input.PTYOpened:
		x := f.Result
		d.add("terminal_opened", f.Agent.ID, "generation", f.Agent.Generation, "failed", f.Failed, "pid", x.PID, "argv",
			x.Argv, "cwd", x.CWD, "sandbox", x.Sandbox)
	case input.NotSent:
		d.add("not_sent", f.Agent.ID, "wire_id", f.MessageID, "reason", f.Message)
	case input.ToolCalled:
		d.add("tool_called", f.Params.ID, "tool", f.Params.Tool, "call", f.Params.Call, "input", AuditText(f.Params.Input),
			"subagent", f.Params.Subagent)
	case input.PermissionAsked:
		d.add("permission_asked", f.Params.ID, "request", f.Params.Request, "tool", f.Params.Tool, "action", f.Action,
			"subagent", f.Params.Subagent, "rules_say", f.Behavior, "decided_by", f.By, "rule", f.Rule, "reason",
			f.Reason)
	case input.PermissionWithdrawn:
		d.add("permission_withdrawn", "", "request", f.Request)
	case input.CallDecided:
		d.add("judged", f.Params.ID, "tool", f.Params.Tool, "action", f.Action, "subagent", f.Params.Subagent,
			"behavior", f.Behavior, "decided_by", f.By, "rule", f.Rule, "reason", f.Reason)
	case input.Remembered:
		d.add("granted", "", "tool", f.Grant.Tool, "rule", f.Grant.Rule, "action", f.Grant.Action, "failed", f.Failed)
	case input.TrustRecorded:
		d.add("trusted", "", "hash", f.Hash, "failed", f.Failed)
	case input.Configured:
		d.add("model", f.Agent.ID, "model", f.Model, "failed", f.Failed)
	case input.Stopped:
		d.add("stopped", "", "unstopped", f.Unstopped)
	case input.AgentEvent:
		switch x := f.Event.Body.(type) {
		case bridge.ToolRan:
			d.add("tool_ran", f.Event.ID, "tool", x.Tool, "tool_use", x.ToolUse, "input", AuditText(x.Input), "subagent",
				x.Subagent)
		case bridge.Done:
			d.add("ended", f.Event.ID, "session_id", x.SessionID, "generation", f.Event.Generation, "exit_code",
				x.Exit.Code, "signal", x.Exit.Signal, "expected", x.Exit.Expected, "swept", x.Exit.Swept)
		}
	}
	return d
}

// processRun adds the settings that a process of the run works under.
func (d *entries) processRun(what string, o runconfig.Options, c bridge.ClaudeInfo) {
	sandbox := "unsandboxed"
	if o.Sandbox != nil {
		sandbox = "bubblewrap"
	}
	d.add(what, "",
		"cwd", o.CWD, "arbiter_version", o.Version, "claude", c.Path, "claude_version", c.Version, "claude_sha256",
		c.SHA256, "claude_identity", c.Identity, "permissions", o.Permissions, "allow", o.Allow, "deny", o.Deny, "ask",
		o.Ask, "sandbox", sandbox, "sandbox_reason", o.SandboxReason, "trusted", o.Trusted, "trust_hash", o.TrustHash,
		"task", AuditText(o.Task), "rehearsal", o.Rehearsal, "stand_in", c.StandIn, "human_present", o.HumanPresent,
		"max_orchestrators", o.MaxOrchestrators, "max_iterations", o.MaxIterations, "max_subagents",
		o.MaxSubagents, "max_subagents_per_hour", o.MaxSubagentsPerHour, "max_failures", o.MaxFailures,
		"max_cost_usd", fmt.Sprint(o.MaxCostUSD), "timeout", duration(o.Timeout), "permission_wait",
		duration(o.PermissionWait))
}

func duration(t time.Duration) string {
	if t <= 0 {
		return ""
	}
	return t.String()
}

// command adds a human's command. What the human wrote is text; everything else is included as it is.
func (d *entries) command(c contract.Command) {
	if bad, ok := c.Body.(contract.Malformed); ok {
		d.add("command", "", "command", "malformed", "reason", bad.Problem)
		return
	}
	detail := []any{"command", c.Body.CommandType(), "ref", c.Ref}
	raw, err := json.Marshal(c.Body)
	var fields map[string]any
	if err == nil && json.Unmarshal(raw, &fields) == nil {
		for name, value := range fields {
			switch v := value.(type) {
			case string:
				if name == "text" || name == "message" {
					detail = append(detail, name, AuditText(v))
				} else {
					detail = append(detail, name, v)
				}
			case nil:
			default:
				again, _ := json.Marshal(v)
				detail = append(detail, name, AuditText(again))
			}
		}
	}
	d.add("command", "", detail...)
}

// entriesOfEffect are the entries of an effect; after is the state after its input.
func entriesOfEffect(e effect.Effect, after *State) (d entries) {
	switch e := e.(type) {
	case effect.Spawn:
		d.add("spawn", e.Params.ID, "generation", e.Params.Generation, "session_id", e.Params.Config.SessionID,
			"resume", e.Params.Config.Resume)
	case effect.Send:
		m, _ := after.Conversation.SentAs(e.Params.MessageID)
		d.add("sent", e.Params.ID, "message_id", m.ID, "wire_id", e.Params.MessageID, "generation", e.Params.Generation,
			"content", AuditText(e.Params.Content), "steer", e.Params.Steer)
	case effect.Interrupt:
		d.add("interrupt", e.Agent.ID, "generation", e.Agent.Generation)
	case effect.Kill:
		d.add("kill", e.Agent.ID, "generation", e.Agent.Generation, "now", e.Now)
	case effect.Shutdown:
		d.add("shutdown", "", "fast", e.Fast)
	case effect.OpenPTY:
		d.add("terminal", e.Params.ID, "generation", e.Params.Generation, "session_id", e.Params.Config.SessionID)
	case effect.ClosePTY:
		d.add("terminal_close", e.Agent.ID, "generation", e.Agent.Generation)
	case effect.RunCheck:
		d.add("check", e.Agent.ID, "request", e.Request, "number", e.Number, "command", AuditText(e.Params.Command))
	case effect.PinTrust:
		d.add("trust", "", "host", e.Host, "hash", e.Hash)
	case effect.DropBridge:
		d.add("bridge_dropped", "")
	case effect.Finish:
		d.add("finished", "", "exit", int(e.Exit))
	}
	return d
}

// entriesOfEvent are the entries of events that frontends receive, where no other entry contains them.
func entriesOfEvent(e contract.Event) (d entries) {
	switch b := e.Body.(type) {
	case contract.Message:
		d.add("message", "", "message_id", b.MessageID, "from", b.From, "to", b.To, "kind", b.Kind, "text",
			AuditText(b.Text), "edited", b.Edited)
	case contract.Delivered:
		d.add("delivered", e.ID, "message_id", b.MessageID, "from", b.From, "session_id", b.SessionID, "generation",
			b.Generation, "sequence", b.Sequence)
	case contract.Withdrawn:
		d.add("withdrawn", "", "message_id", b.MessageID)
	case contract.Permission:
		d.add("permission", e.ID, "request", b.Request, "behavior", b.Behavior, "decided_by", b.By, "tool", b.Tool,
			"rule", b.Rule, "action", b.Action, "scope", b.Scope, "reason", b.Reason, "subagent", b.Subagent)
	case contract.Halted:
		d.add("halt", "", "channel", b.By)
	case contract.Takeover:
		d.add("takeover", e.ID, "state", b.State, "reason", b.Reason, "words", b.Words, "files", b.Files, "digest",
			AuditText(b.Digest))
	case contract.Error:
		d.add("error", e.ID, "category", string(b.Category), "reason", b.Message)
	case contract.Rejected:
		d.add("rejected", "", "ref", b.Ref, "reason", b.Message)
	case contract.Result:
		d.add("result", "", "status", b.Status, "summary", AuditText(b.Summary), "iterations", b.Iterations, "crashes",
			b.Crashes)
	}
	return d
}

// audited are the names of the events that entriesOfEvent covers.
var audited = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, body := range contract.Events() {
		if len(entriesOfEvent(contract.Event{Body: body})) > 0 {
			names[body.EventName()] = true
		}
	}
	return names
})
