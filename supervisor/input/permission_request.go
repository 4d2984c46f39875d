package input

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// PermissionRequest is a tool call that waits for a human.
type PermissionRequest struct {
	ID     string // of the first request for the action: it is kept if the process that asked ends
	Params bridge.PermissionParams
	Action string // [PermissionKey] of the call with its secrets, which Params does not contain
	Why    string `json:",omitempty"` // why a human is asked: a rule, or the mode
	At     time.Time
	// Suggestions are rules that the CLI offers with the call.
	Suggestions []string
	// Check marks the supervisor's own request to run a check of a hand-off document. It ends with the
	// check, not with the turn of the agent whose document it is.
	Check bool `json:",omitempty"`
}

// Key names the requested action exactly.
func (r *PermissionRequest) Key() string {
	if r.Action != "" {
		return r.Action
	}
	return PermissionKey(r.Params.Tool, r.Params.Input)
}

// Event is the event that asks a human.
func (r *PermissionRequest) Event() contract.PermissionRequest {
	var meanings []string
	for _, rules := range r.Suggestions {
		meanings = append(meanings, policy.Words(rules))
	}
	return contract.PermissionRequest{
		Meanings: meanings,
		Request:  r.ID, Tool: r.Params.Tool, Input: r.Params.Input,
		Subagent: r.Params.Subagent, Reason: r.Params.Reason, Action: r.Key(), Suggestions: r.Suggestions,
	}
}

// PermissionKey names an exact action: the SHA-256 of a tool and its input, byte by byte, in hexadecimal. A grant of an
// action covers the same tool with the same input, and nothing wider.
func PermissionKey(tool string, input []byte) string {
	h := sha256.New()
	h.Write([]byte(tool))
	h.Write([]byte{0})
	h.Write(input)
	return hex.EncodeToString(h.Sum(nil))
}

// PermissionFinding is what mode, rules and grants say about a call.
type PermissionFinding struct {
	Behavior string // allow, deny, ask
	By, Rule string
	Reason   string
}

// Denial is what an agent reads about a denied call.
func Denial(reason string) string {
	if reason == "" {
		reason = "not permitted"
	}
	return "Denied: " + reason + ". Do not try to get around it; find another way, or report that you cannot."
}
