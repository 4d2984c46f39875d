package runloop

import (
	"context"
	"errors"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

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

// Trusts sets the gate, and how trust that the human gave during the run is recorded. Call it before
// [Loop.Run].
func (l *Loop) Trusts(gate Gate, record func(ctx context.Context, host, hash string) error) {
	l.gate, l.keepTrust = gate, record
}

// refusal returns the gate's reason against the start of an agent, or nil.
func (l *Loop) refusal(ctx context.Context, p bridge.SpawnParams) error {
	s, host := l.state.Load(), l.hostOf(p.ID)
	trusted := Pinned{Workspace: s.Options.TrustHash, Host: host, There: s.Lifecycle.Bridge(host).TrustHash}
	if l.gate == nil || trusted.Workspace == "" || !loadsWorkspace(p.Config.SettingSources) {
		return nil
	}
	return l.gate(ctx, p, trusted)
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
	f := input.TrustRecorded{Hash: hash}
	switch {
	case l.keepTrust == nil:
		f.Failed = "nothing is recorded in this run"
	default:
		if err := l.keepTrust(ctx, host, hash); err != nil {
			f.Failed = err.Error()
		}
	}
	l.Put(f)
}
