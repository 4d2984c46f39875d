package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// Query makes the fake launcher a [Querier].
func (l *fakeLauncher) Query(ctx context.Context, of Owner, claude ClaudeSpec, p QueryParams) (QueryResult, error) {
	if l.query != nil {
		return l.query(ctx, p)
	}
	return QueryResult{Output: json.RawMessage(`{"action":"CONTINUE"}`), Text: of.Run + claude.Path + ": " + p.Prompt,
		Usage: Usage{Input: 1, Output: 2}, CostUSD: 0.5, DurationMS: 9, Model: p.Model}, nil
}

// noQuerier hides the launcher's Query.
type noQuerier struct{ Launcher }

var oneQuery = QueryParams{Model: "haiku", Effort: "low", CWD: "/w", SystemPrompt: "You choose.", Prompt: "Which?",
	JSONSchema: json.RawMessage(`{"type":"object"}`), SettingSources: []string{"user"}, MaxBudgetUSD: 0.1,
	Env: map[string]string{"X": "y"}, TimeoutMS: 1000}

func TestQueryReachesTheQuerier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		var asked QueryParams
		got, err := r.Query(r.ctx, oneQuery)
		want, _ := l.Query(r.ctx, Owner{Run: "run-1"}, ClaudeSpec{}, oneQuery)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		l.query = func(_ context.Context, p QueryParams) (QueryResult, error) {
			asked = p
			return QueryResult{}, &RPCError{Code: CodeClaude, Category: CatUsageLimit, Message: "limit reached",
				Stderr: "words"}
		}
		_, err = r.Query(r.ctx, oneQuery)
		var rpc *RPCError
		if !errors.As(err, &rpc) || rpc.Category != CatUsageLimit || rpc.Stderr != "words" {
			t.Errorf("a failure of the API: %#v", err)
		}
		testkit.Same(t, "parameters", oneQuery, asked)
	})
}

func TestParametersOfAQueryAreChecked(t *testing.T) {
	testkit.WithoutRace(t)
	bubble(t, func(t *testing.T) {
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		for name, p := range map[string]QueryParams{
			"no prompt": {CWD: "/w"}, "no directory": {Prompt: "p"}, "a relative directory": {Prompt: "p", CWD: "."},
			"a negative time":     {Prompt: "p", CWD: "/w", TimeoutMS: -1},
			"a negative budget":   {Prompt: "p", CWD: "/w", MaxBudgetUSD: -1},
			"too long":            {Prompt: strings.Repeat("x", MaxQueryPrompt+1), CWD: "/w"},
			"a schema that is no": {Prompt: "p", CWD: "/w", JSONSchema: json.RawMessage(`[1]`)},
			"a nameless variable": {Prompt: "p", CWD: "/w", Env: map[string]string{"": "x"}},
		} {
			if _, err := r.Query(r.ctx, p); codeOf(err) != jsonrpc2.CodeInvalidParams {
				t.Errorf("query with %s: %v", name, err)
			}
		}
	})
}

func TestWithoutAQuerier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := joinedRigOf(t, noQuerier{&fakeLauncher{}}, &recorder{}, nil)
		defer r.leave(t)
		res, err := r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1"})
		if err != nil || slices.Contains(res.Capabilities, MethodQuery) {
			t.Errorf("capabilities: %v, %v", res.Capabilities, err)
		}
		if _, err := r.Query(r.ctx, oneQuery); codeOf(err) != CodeUnsupported {
			t.Errorf("query: %v", err)
		}
	})
}

// A query ends when its caller gives up, when the connection ends, and on shutdown.
func TestQueryEndsWithWhoWaits(t *testing.T) {
	ends := map[string]func(*rig, context.CancelFunc){
		"caller":   func(_ *rig, cancel context.CancelFunc) { cancel() },
		"client":   func(r *rig, _ context.CancelFunc) { r.Close() },
		"shutdown": func(r *rig, _ context.CancelFunc) { _, _ = r.Shutdown(r.ctx, ShutdownParams{}) },
		"bridge":   func(r *rig, _ context.CancelFunc) { r.stop() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l, begun, ended := &fakeLauncher{}, make(chan struct{}), make(chan struct{})
				l.query = func(ctx context.Context, _ QueryParams) (QueryResult, error) {
					close(begun)
					<-ctx.Done()
					close(ended)
					return QueryResult{}, ctx.Err()
				}
				r := newRig(t, l, &recorder{})
				ctx, cancel := context.WithCancel(r.ctx)
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := r.Query(ctx, oneQuery)
					failed <- err
				}()
				<-begun
				began := time.Now()
				end(r, cancel)
				<-ended
				if err := <-failed; err == nil {
					t.Error("it succeeded")
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
				synctest.Wait()
				if name == "caller" || name == "shutdown" {
					r.leave(t)
					return
				}
				r.Close()
				<-r.served
				r.stop()
			})
		})
	}
}
