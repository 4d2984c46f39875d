package decider

import (
	"bytes"
	"context"
	"encoding/json"
)

// Store keeps decisions by key, and may drop them at any time. It is safe for concurrent use.
type Store interface {
	Get(key string) (Decision, bool)
	Put(key string, d Decision)
}

// Cached answers the same input with the same decision, without asking again. A hit has the source `cache`, the
// first answer's reason, no prompt and no cost. Cached keeps only answers that a model gave at its first try.
// It does not keep COMPLETE (each end is checked again), decisions of rules (they cost nothing), and decisions
// after errors.
type Cached struct {
	Of    Decider
	Store Store
	Salt  string // further inputs of the answer: model, effort, templates
}

func (c Cached) Decide(ctx context.Context, in Input) (Decision, error) {
	key := c.key(in)
	if d, ok := c.hit(ctx, key, in); ok {
		return d, nil
	}
	d, err := c.Of.Decide(ctx, in)
	if err == nil && d.Source == ByModel && d.Decision != Complete && len(d.Warnings) == 0 {
		c.Store.Put(key, essence(d))
	}
	return d, err
}

// hit validates what the store returns: a store may be shared, and older than this program.
func (c Cached) hit(ctx context.Context, key string, in Input) (Decision, bool) {
	if ctx.Err() != nil {
		return Decision{}, false
	}
	d, ok := c.Store.Get(key)
	if !ok || d.Decision == Complete || !actionable(d, in) {
		return Decision{}, false
	}
	d = essence(d)
	d.Source = ByCache
	return d, true
}

// essence is a decision without the record of how it was made.
func essence(d Decision) Decision {
	return Decision{Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Summary: d.Summary,
		Source: d.Source}
}

// measured are the members that only measure time or money: they differ between two runs in the same situation.
var measured = map[string]bool{
	"duration_ms": true, "startedAt": true, "completedAt": true, "timestamp": true,
	"timeElapsedMs": true, "estimatedTimeRemaining": true, "estimatedTokensUsed": true, "costUsd": true,
	"tokens": true, "lastSuccess": true, "lastFailure": true,
}

// key identifies the situation, and who is asked: the SHA-256, in hex, of the input as canonical JSON without what only
// measures time or money.
func (c Cached) key(in Input) string {
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
	if text, err = json.Marshal([]any{in.Point(), c.Salt, bare(tree)}); err != nil {
		panic("decision: JSON that cannot be written again: " + err.Error())
	}
	return sum(text)
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
