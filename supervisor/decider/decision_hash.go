package decider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// measured are the members that only measure time or money: they differ between two runs in the same situation.
var measured = map[string]bool{
	"duration_ms": true, "startedAt": true, "completedAt": true, "timestamp": true,
	"timeElapsedMs": true, "estimatedTimeRemaining": true, "estimatedTokensUsed": true, "costUsd": true,
	"tokens": true, "lastSuccess": true, "lastFailure": true,
}

// Key identifies the situation: the SHA-256, in hex, of the input as canonical JSON without what only measures
// time or money. Inputs of two points never have the same key.
func (in SelectAgentInput) Key() string { return key(PointSelect, in) }

// Key identifies the situation, like the Key of SelectAgentInput.
func (in EvaluateProgressInput) Key() string { return key(PointEvaluate, in) }

func key(p DecisionPoint, in any) string {
	text, err := json.Marshal(in)
	if err != nil {
		panic("decision: an input that is not JSON: " + err.Error()) // NaN in a number: a bug
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		panic("decision: JSON that cannot be read back: " + err.Error())
	}
	if text, err = json.Marshal(bare(tree)); err != nil {
		panic("decision: JSON that cannot be written again: " + err.Error())
	}
	h := sha256.New()
	h.Write([]byte(p))
	h.Write([]byte{'\n'})
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// bare removes measurements and empty members: an absent list and one without elements are the same. Maps are
// written in the order of their keys.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = bare(x); measured[k] || empty(x) {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
	case []any:
		for i, x := range v {
			v[i] = bare(x)
		}
	}
	return v
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
