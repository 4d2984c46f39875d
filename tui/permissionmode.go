package tui

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// modeCycle are the permission modes through which a single key cycles. allow-all is not among them: it has
// to be named, and its risk accepted.
var modeCycle = []policy.Mode{policy.ModeAsk, policy.ModeAcceptEdits, policy.ModeRules}

// modeMeans describes what happens to a call that no rule covers.
var modeMeans = map[policy.Mode]string{
	policy.ModeAsk:         "you are asked",
	policy.ModeAcceptEdits: "edits in the workspace are allowed, you are asked for the rest",
	policy.ModeRules:       "what no rule allows is denied without asking",
}

// mode returns the last requested permission mode, or that of the run; empty: there is no run.
func (q *permissions) mode() policy.Mode {
	if q.sent != "" {
		return q.sent
	}
	if q.d.session.state == nil {
		return policy.Mode(view.SlashWord(q.d.session.found.Permissions))
	}
	return policy.Mode(view.SlashWord(q.d.session.state.Options.Permissions))
}

// nextMode switches to the next permission mode. From allow-all it leads back to asking.
func (q *permissions) nextMode() {
	if q.d.session.run == nil || q.d.session.over() {
		q.d.flash("There is no run: --permissions sets the mode that one begins with.")
		return
	}
	next := modeCycle[(slices.Index(modeCycle, q.mode())+1)%len(modeCycle)]
	if q.d.session.send(contract.Configure{Permissions: string(next)}) {
		q.sent = next
		q.d.flash(string(next) + ": " + modeMeans[next] + ".")
	}
}

// clearRequested clears the requested mode: the run has accepted or refused it.
func (q *permissions) clearRequested() { q.sent = "" }
