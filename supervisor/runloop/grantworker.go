package runloop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// The loop's side of grants: where they are kept, and what the rule of a grant covers.

// Grants keeps grants for later runs in the workspace. *trust.GrantStore implements it. One goroutine calls it.
type Grants interface{ Add(trust.Grant) error }

// Grants sets where grants are kept, and the grants that exist already: rules that are added to the run's
// allow rules, and exact actions. Deny and ask rules still come first. Call it before [Loop.Run].
func (l *Loop) Grants(g Grants, kept []trust.Grant) error {
	l.grants = g
	l.kept = map[string]bool{}
	l.keptRules = nil
	for _, k := range kept {
		if k.Rule == "" {
			l.kept[k.Action] = true
			continue
		}
		rule, err := policy.ParseRule(k.Rule)
		if err != nil {
			return fmt.Errorf("what is always allowed here: %w", err)
		}
		l.keptRules = append(l.keptRules, rule)
	}
	return nil
}

func (l *Loop) remember(e input.Remember) {
	err := errors.New("this run keeps nothing")
	if l.grants != nil {
		g := trust.Grant{Rule: e.Grant.Rule, Run: l.Snapshot().Options.Run, At: l.clock.Now()}
		if g.Rule == "" {
			g.Action, g.Tool = e.Grant.Action, e.Grant.Tool
		}
		err = l.grants.Add(g)
	}
	l.Put(input.Remembered{Grant: e.Grant, Failed: textOf(err)})
}

func (l *Loop) keepWindow(e input.KeepWindow) {
	if l.Windows == nil {
		return
	}
	if err := l.Windows(e.Model, e.Tokens); err != nil { // the run knows it all the same
		l.log.Warn("the window of a model is not kept for later runs", "model", e.Model, "error", err)
	}
}

// vet checks an answer's rule against its request, before the command gets into the loop: an answer whose rule is
// neither offered with the request nor covers it becomes a malformed command. A permission mode that this user must not
// set is
// refused in the same way. vet may read the file system.
func (l *Loop) vet(f input.Body) input.Body {
	c, ok := f.(input.Command)
	if !ok {
		return f
	}
	if b, ok := c.Command.Body.(contract.Configure); ok && b.Permissions != "" && l.Refuses != nil {
		o := l.Snapshot().Options
		o.Permissions = b.Permissions
		if err := l.Refuses(o); err != nil {
			c.Command.Body = contract.Malformed{Problem: err.Error()}
			return c
		}
	}
	if say, ok := c.Command.Body.(contract.Say); ok && len(say.Images) > 0 {
		c.Command.Body = l.keepImages(say)
		return c
	}
	permit, ok := c.Command.Body.(contract.Permit)
	if !ok || permit.Rule == "" {
		return f
	}
	s := l.Snapshot()
	asked, known := s.Permission.Find(permit.Request)
	var rules []policy.Rule
	for _, text := range policy.SplitRules(permit.Rule) {
		rule, err := policy.ParseRule(text)
		if err != nil {
			return f // the loop refuses it
		}
		rules = append(rules, rule)
	}
	if !known {
		return f // the loop refuses it
	}
	q := asked.Params
	call := toolCall{agent: q.ID, tool: q.Tool, input: l.exact(q), cwd: q.CWD}
	if d := l.taken(call); permit.Behavior == bridge.Allow &&
		(d.By == policy.ByRule || asked.Params.ReasonType == "rule") {
		c.Command.Body = contract.Malformed{Problem: strings.TrimSpace("an ask rule "+d.Rule) + " is about request " +
			permit.Request + ", and comes before every rule that allows: allow this action, without a rule"}
		return c
	}
	p := l.bare(s, call.agent)
	covers := slices.Contains(asked.Suggestions, permit.Rule)
	if permit.Behavior == bridge.Deny {
		p.Deny = rules
		covers = p.Decide(call.request()).Behavior != ""
	} else if !covers {
		_, covers = p.Within(call.request(), rules)
	}
	if covers {
		return f
	}
	c.Command.Body = contract.Malformed{Problem: "the rule " + permit.Rule + " does not cover request " +
		permit.Request + ", which stays open: take one of its suggestions, or answer without a rule"}
	return c
}

// reconsider checks each request that waits for a human against the present mode, rules and grants. It reads
// the file system, so it runs on a worker.
func (l *Loop) reconsider() {
	s := l.Snapshot()
	f := input.Reconsidered{Changes: s.Permission.Changes}
	for _, p := range s.Permission.All() {
		q := p.Params
		call := toolCall{agent: q.ID, tool: q.Tool, input: l.exact(q), cwd: q.CWD, check: p.Check}
		d := l.answer(call)
		if d.Behavior == bridge.Ask {
			continue
		}
		f.Resolutions = append(f.Resolutions, input.PermissionResolution{
			Request: p.ID, Asked: p.Params.Request,
			Behavior: d.Behavior, By: d.By, Rule: d.Rule, Reason: d.Reason,
		})
	}
	l.Put(f)
}

// suggest returns rules that a human may allow with a request: those that the CLI offers, and for an edit in the
// agent's directory all edits there, instead of the CLI's mode that allows more.
func (l *Loop) suggest(p bridge.PermissionParams) []string {
	var list []string
	for _, text := range p.Suggestions {
		ok := true
		for _, rule := range policy.SplitRules(text) {
			_, err := policy.ParseRule(rule)
			ok = ok && err == nil
		}
		if ok {
			list = append(list, text)
		}
	}
	file, dir := filepath.Clean(bridge.FileOf(p.Input)), l.bare(l.Snapshot(), p.ID).CWD
	edits, ok := policy.EditsBelow(dir)
	if ok && p.ReasonType == "" && bridge.IsEditor(p.Tool) &&
		strings.HasPrefix(file, dir+"/") {
		list = append([]string{edits}, list...)
	}
	return list
}

// The loop's side of trust: an agent that loads the workspace's own settings is started only after these
// settings were checked.

// Gate reports whether an agent may be started in the workspace as it is now. An [*Untrusted] says that the
// workspace has changed since it was trusted; any other error says that this cannot be determined. It is called
// right before each start of an agent that loads the workspace's own settings, on a worker.
type Gate func(ctx context.Context, p bridge.SpawnParams, trusted Pinned) error

// Pinned holds the hashes of the files that the human trusts.
type Pinned struct {
	Workspace string // what the workspace contains
	Host      string // where the agent is started; [lifecycle.Here]: on this one
	There     string // what agents on that host may load in addition; empty: nothing
}

// Untrusted is the error of a workspace that has changed since it was trusted.
type Untrusted struct {
	Message string // what changed, for a person
	Hash    string // of what is there now
}

func (e *Untrusted) Error() string { return e.Message }

// refusal returns the gate's reason against the start of an agent, or nil.
func (l *Loop) refusal(ctx context.Context, p bridge.SpawnParams) error {
	s, host := l.state.Load(), l.hostOf(p.ID)
	trusted := Pinned{Workspace: s.Options.TrustHash, Host: host, There: s.Lifecycle.Bridge(host).TrustHash}
	if l.Gate == nil || trusted.Workspace == "" || !loadsWorkspace(p.Config.SettingSources) {
		return nil
	}
	return l.Gate(ctx, p, trusted)
}

// passes asks the gate. If the gate refuses the start, it puts the refusal in as an input.
func (l *Loop) passes(ctx context.Context, p bridge.SpawnParams) bool {
	err := l.refusal(ctx, p)
	switch {
	case err == nil:
		return true
	case errors.Is(err, bridge.ErrClosed):
		return false // the bridge is gone, which is reported once, as BridgeLost
	}
	f := input.NotSpawned{Agent: p.AgentRef, Category: bridge.CatTrust, Message: err.Error()}
	var u *Untrusted
	if errors.As(err, &u) {
		f.Trust = u.Hash
	}
	l.Put(f)
	return false
}

// loadsWorkspace reports whether setting sources include those of the workspace.
func loadsWorkspace(sources []string) bool {
	return slices.Contains(sources, "project") || slices.Contains(sources, "local")
}

// pin records what the human trusted.
func (l *Loop) pin(ctx context.Context, host, hash string) {
	err := errors.New("nothing is recorded in this run")
	if l.KeepTrust != nil {
		err = l.KeepTrust(ctx, host, hash)
	}
	l.Put(input.TrustRecorded{Hash: hash, Failed: textOf(err)})
}
