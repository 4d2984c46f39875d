package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestEveryMethodReachesItsAgent(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		ref := AgentRef{"orch-1", 1}
		res, err := r.Spawn(r.ctx, spawnParams("orch-1", 1))
		diff := cmp.Diff(SpawnResult{SessionID: "s-orch-1", PID: 4711, ClaudeVersion: "2.1.329"}, res)
		testkit.Check(t, err == nil && diff == "", "spawn: %v, -want +got:\n%s", err, diff)
		var got MessageParams
		r.l.agent(ref).message = func(_ context.Context, p MessageParams) error { got = p; return nil }
		sent := MessageParams{AgentRef: ref, MessageID: "m-1", Content: "<hello> & \"good\" day\n", Steer: true}
		testkit.Works(t, "message", r.Message(r.ctx, sent))
		testkit.Same(t, "message, -sent +received", sent, got)
		if res, err := r.Interrupt(r.ctx, ref); err != nil || len(res.StillQueued) != 1 {
			t.Errorf("interrupt: %v %v", res, err)
		}
		if res, err := r.Context(r.ctx, ref); err != nil || res.Pct != 25 {
			t.Errorf("context: %v %v", res, err)
		}
		if res, err := r.Ask(r.ctx, AskParams{AgentRef: ref, Question: "why"}); err != nil ||
			res.Answer != "the answer to why" {
			t.Errorf("ask: %v %v", res, err)
		}
		testkit.Works(t, "configure", r.Configure(r.ctx, ConfigureParams{AgentRef: ref, Model: "opus"}))
		testkit.Works(t, "rules alone", r.Configure(r.ctx, ConfigureParams{AgentRef: ref, Rules: &PermissionRules{}}))
		testkit.Fails(t, "nothing to configure", r.Configure(r.ctx, ConfigureParams{AgentRef: ref}), "at least one of")
		if err := r.Configure(r.ctx,
			ConfigureParams{AgentRef: ref, Model: "no-such-model"}); codeOf(err) != CodeRefused {
			t.Errorf("configure refused by the CLI: %v", err)
		}
		alive := ProbeResult{SilentMS: 1, CPUMS: 2, RSSBytes: 3, Processes: 4, Stopped: true, TranscriptBytes: 5,
			OutputBytes: 6, OutputPath: "/tmp/x.output", Answered: true}
		testkit.Same(t, "probe", alive, testkit.Must(r.Probe(r.ctx, ref))(t))
		if _, err := r.Probe(r.ctx, AgentRef{"orch-1", 2}); codeOf(err) != CodeStale {
			t.Errorf("probe of another generation: %v", err)
		}
		wantCheck, _ := (&fakeCollector{}).Check(r.ctx, Owner{Run: "run-1"}, oneCheck)
		testkit.Same(t, "check", wantCheck, testkit.Must(r.Check(r.ctx, oneCheck))(t))
		testkit.Fails(t, "a check that cannot be run",
			testkit.Err(r.Check(r.ctx, CheckParams{Command: "nowhere", CWD: "/x"})), "no such directory: /x")
		wantInspection, _ := (&fakeCollector{}).Inspect(r.ctx, oneInspection)
		testkit.Same(t, "survey", wantInspection, testkit.Must(r.Inspect(r.ctx, oneInspection))(t))
		testkit.Same(t, "trial", SandboxResult{Reason: "run-1 in /w", Version: "0.8.0"},
			testkit.Must(r.Sandbox(r.ctx, oneTrial))(t))
		wantQuery, _ := r.l.Query(r.ctx, Owner{Run: "run-1"}, ClaudeSpec{}, oneQuery)
		testkit.Same(t, "query", wantQuery, testkit.Must(r.Query(r.ctx, oneQuery))(t))
		var asked QueryParams
		r.l.query = func(_ context.Context, p QueryParams) (QueryResult, error) {
			asked = p
			return QueryResult{}, &RPCError{Code: CodeClaude, Category: CatUsageLimit, Message: "limit reached",
				Stderr: "words"}
		}
		_, err = r.Query(r.ctx, oneQuery)
		rpc, ok := errors.AsType[*RPCError](err)
		testkit.Check(t, ok && rpc.Category == CatUsageLimit && rpc.Stderr == "words", "a failure of the API: %#v", err)
		testkit.Same(t, "parameters of a query", oneQuery, asked)
		_, err = r.Resolve(r.ctx, ResolveParams{Paths: []string{"/x"}})
		testkit.Same(t, fmt.Sprintf("a request to a remote bridge: %v", err), CodeUnsupported, codeOf(err))
		testkit.Works(t, "kill", r.Kill(r.ctx, KillParams{AgentRef: ref}))
	})
}

func TestPendingMessagesOfASpawn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{}
		deliveries := []DeliveryStatus{{MessageID: "m-1", Status: DeliveryRuled,
			Verdict: json.RawMessage(`{"kind":"done"}`)}, {MessageID: "m-2", Status: DeliveryAbsent}}
		l.launch = func(_ context.Context, p SpawnParams, h Host) (Agent, error) {
			a := l.add(p, h)
			if len(p.Pending) == 2 {
				a.info.Resumed, a.info.Deliveries = true, deliveries
			}
			return a, nil
		}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		p := spawnParams("a", 1)
		p.Pending = []string{"m-1", "m-2"}
		res, err := r.Spawn(r.ctx, p)
		if diff := cmp.Diff(deliveries, res.Deliveries); err != nil || diff != "" || !res.Resumed {
			t.Errorf("spawn: %+v, %v, deliveries -want +got:\n%s", res, err, diff)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestNothingFollowsDone(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		a := r.spawn(t, "a", 1)
		a.host.Emit(Event{AgentRef{"somebody else", 9}, Assistant{Text: "one"}})
		a.end()
		a.host.Emit(Event{Body: Assistant{Text: "from beyond"}})
		b := r.spawn(t, "a", 2) // at once: `done` frees the id
		b.host.Emit(Event{Body: Assistant{Text: "two"}})
		synctest.Wait()
		want := []Event{
			{AgentRef{"a", 1}, Assistant{Text: "one"}},
			{AgentRef{"a", 1}, Done{SessionID: "s-a", Exit: Exit{Expected: true}}},
			{AgentRef{"a", 2}, Assistant{Text: "two"}},
		}
		testkit.Same(t, "", want, r.h.all())
	})
}

func TestConcurrentAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const agents, lines = 40, 50
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		errs := make(chan error, agents)
		for i := range agents {
			go func() {
				errs <- func() error {
					ref := AgentRef{string(rune('A' + i)), 1}
					if _, err := r.Spawn(r.ctx, spawnParams(ref.ID, 1)); err != nil {
						return err
					}
					a := r.l.agent(ref)
					a.message = func(context.Context, MessageParams) error {
						for n := range lines {
							a.host.Emit(Event{Body: Context{Tokens: n}})
						}
						return nil
					}
					if err := r.Message(r.ctx, MessageParams{ref, "m", "go", false, nil}); err != nil {
						return err
					}
					return r.Kill(r.ctx, KillParams{AgentRef: ref})
				}()
			}()
		}
		for range agents {
			err := <-errs
			testkit.Check(t, err == nil, "%v", err)
		}
		next := map[string]int{}
		for _, ev := range r.h.all() {
			switch b := ev.Body.(type) {
			case Context:
				testkit.Need(t, b.Tokens == next[ev.ID], "%s: event %d comes, want %d", ev.ID, b.Tokens, next[ev.ID])
				next[ev.ID]++
			case Done:
				testkit.Same(t, fmt.Sprintf("%s: done after events", ev.ID), lines, next[ev.ID])
			}
		}
		testkit.Same(t, "agents were heard", agents, len(next))
	})
}

func TestOneOfTwoSpawnsSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{}
		l.launch = func(_ context.Context, p SpawnParams, h Host) (Agent, error) {
			time.Sleep(time.Second)
			return l.add(p, h), nil
		}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- errOf(r.Spawn(r.ctx, spawnParams("a", 1))) }()
		}
		first, second := <-errs, <-errs
		testkit.Check(t, codeOf(first) == CodeAgentExists && second == nil,
			"got %v, then %v; want one refused at once, the other started", first, second)
	})
}

// TestKillDuringStart: a start that is under way ends at once, even if the launcher has made an agent meanwhile.
func TestKillDuringStart(t *testing.T) {
	kill := func(r *rig) error { return r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}}) }
	for name, c := range map[string]struct {
		end      func(*rig) error
		succeeds bool
	}{
		"kill": {end: kill}, "kill as the start succeeds": {end: kill, succeeds: true},
		"shutdown": {end: func(r *rig) error {
			res, err := r.Shutdown(r.ctx, ShutdownParams{})
			if len(res.Unstopped) > 0 {
				err = fmt.Errorf("not stopped: %v", res.Unstopped)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := &fakeLauncher{}
				l.launch = func(ctx context.Context, p SpawnParams, h Host) (Agent, error) {
					h.Emit(Event{Body: Stderr{Text: "starting"}})
					<-ctx.Done()
					if c.succeeds {
						return l.add(p, h), nil
					}
					h.Emit(Event{Body: Stderr{Text: "undone"}})
					return nil, ctx.Err()
				}
				r := newRig(t, l, &recorder{})
				defer r.leave(t)
				spawned := make(chan error)
				go func() { spawned <- errOf(r.Spawn(r.ctx, spawnParams("a", 1))) }()
				synctest.Wait()
				begun := time.Now()
				testkit.OK(t, c.end(r))
				testkit.Same(t, "the end took", 0, time.Since(begun))
				err := <-spawned
				testkit.Check(t, codeOf(err) == CodeEnded, "spawn: %v", err)
				if c.succeeds {
					<-l.agent(AgentRef{"a", 1}).done // else it lives on
				} else {
					testkit.Same(t, "events of the start", 2, len(r.h.all()))
				}
			})
		})
	}
}

func TestStartThatHangsIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{launch: func(ctx context.Context, _ SpawnParams, _ Host) (Agent, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		begun := time.Now()
		p := spawnParams("a", 1)
		p.Config.StartTimeoutMS = 1000
		_, err := r.Spawn(r.ctx, p)
		typed, ok := errors.AsType[*RPCError](err)
		testkit.Check(t, ok && typed.Code == CodeClaude && typed.Category == CatStart, "got %v", err)
		testkit.Same(t, "took", time.Second+startSlack, time.Since(begun))
	})
}

func TestShutdownStopsAllAndNamesTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := collectorRig(t, &fakeCollector{check: func(context.Context, Owner, CheckParams) (CheckResult, error) {
			<-release
			return CheckResult{}, nil
		}})
		r.l.sweep = func(string) int { return 2 }
		go r.Check(r.ctx, oneCheck)
		synctest.Wait()
		r.spawn(t, "good", 1)
		slow := r.spawn(t, "slow", 1)
		slow.stop = func(ctx context.Context, now bool) error {
			if !now {
				<-ctx.Done()
				return ctx.Err()
			}
			slow.end()
			return nil
		}
		stuck := r.spawn(t, "stuck", 1)
		stuck.stop = func(ctx context.Context, _ bool) error { <-ctx.Done(); return ctx.Err() }
		begun := time.Now()
		res, err := r.Shutdown(r.ctx, ShutdownParams{GraceMS: 500})
		want := ShutdownResult{Stopped: 2, Swept: 4, Unstopped: []string{"stuck#1", "a check"}}
		diff := cmp.Diff(want, res)
		testkit.Check(t, err == nil && diff == "", "shutdown: %v, -want +got:\n%s", err, diff)
		// A check is waited for, twice.
		testkit.Same(t, "took", 500*time.Millisecond+shutdownHard+2*endFlush, time.Since(begun))
		_, err = r.Spawn(r.ctx, spawnParams("late", 1))
		testkit.Check(t, codeOf(err) == CodeShuttingDown, "spawn after shutdown: %v", err)
		begun = time.Now()
		r.Close()
		var unstopped *UnstoppedError
		err = <-r.served
		testkit.Check(t, errors.As(err, &unstopped) &&
			cmp.Equal(unstopped.Names, []string{"stuck#1", "a check", "a request"}), "Serve: %v", err)
		took := time.Since(begun)
		testkit.Check(t, took <= 2*time.Second, "took %v", took)
		close(release)
		r.stop()
	})
}

// TestServeEndsWithinTwoSeconds: however the connection ends, Serve returns within two seconds, and names
// the agents that did not stop.
func TestServeEndsWithinTwoSeconds(t *testing.T) {
	ends := map[string]func(*rig){
		"client closes":    func(r *rig) { r.Close() },
		"context is ended": func(r *rig) { r.stop() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := &fakeLauncher{}
				r := newRig(t, l, &recorder{})
				r.spawn(t, "good", 1)
				killed := make(chan time.Duration, 10)
				stuck := r.spawn(t, "stuck", 1)
				release := make(chan struct{})
				begun := time.Now()
				stuck.stop = func(_ context.Context, now bool) error {
					if now {
						killed <- time.Since(begun)
					}
					<-release // ignores its context, too
					return nil
				}
				hung := make(chan error, 1)
				l.launch = func(context.Context, SpawnParams, Host) (Agent, error) {
					<-release
					return nil, errors.New("late")
				}
				go func() { hung <- errOf(r.Spawn(r.ctx, spawnParams("hung", 1))) }()
				synctest.Wait()
				end(r)
				err := <-r.served
				took := time.Since(begun)
				testkit.Check(t, took <= 2*time.Second, "took %v", took)
				var unstopped *UnstoppedError
				want := []string{"hung#1", "stuck#1", "a request"}
				testkit.Check(t, errors.As(err, &unstopped) && cmp.Equal(unstopped.Names, want),
					"Serve: %v, want %v unstopped", err, want)
				if after := <-killed; after != endGrace || l.sweepCount() != 2 {
					t.Errorf("killed after %v, want after %v; swept %d times, want 2", after, endGrace, l.sweepCount())
				}
				testkit.Fails(t, "spawn at the end of the connection", <-hung, ErrClosed)
				close(release)
				r.Close()
				r.stop()
			})
		})
	}
}

// TestEndedAgentsAreReleased: of an agent that has ended the registry keeps the name, and nothing that the
// driver holds.
func TestEndedAgentsAreReleased(t *testing.T) {
	r := newRegistry(nil, nil, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	launch := func(id string, generation int, session string) *fakeAgent {
		t.Helper()
		inc := testkit.Must(r.claim(AgentRef{ID: id, Generation: generation}, session))(t)
		a := &fakeAgent{done: make(chan struct{})}
		testkit.Must(inc.start(t.Context(), time.Minute,
			func(context.Context) (Session, error) { return a, nil }))(t)
		return a
	}
	first := launch("orch-1", 1, "one")
	launch("orch-2", 1, "two")
	close(first.done)
	launch("orch-3", 1, "three")
	a := r.latest["orch-1"].agent
	testkit.Check(t, a == nil, "it is held still: %v", a)
	testkit.Check(t, r.latest["orch-2"].agent != nil, "one that lives was let go")
	for _, c := range []struct {
		generation int
		code       int
	}{{1, CodeEnded}, {2, CodeStale}} {
		_, err := r.find(AgentRef{ID: "orch-1", Generation: c.generation})
		testkit.Check(t, codeOf(err) == c.code, "generation %d: %v", c.generation, err)
	}
	err := r.latest["orch-1"].stop(t.Context(), true)
	testkit.Check(t, err == nil, "stopped again: %v", err)
	_, err = r.claim(AgentRef{ID: "orch-1", Generation: 1}, "one")
	testkit.Check(t, codeOf(err) == CodeStale, "the same generation again: %v", err)
	_, err = r.claim(AgentRef{ID: "orch-4", Generation: 1}, "three")
	testkit.Check(t, codeOf(err) == CodeAgentExists, "a session in use: %v", err)
	launch("orch-1", 2, "one")
	incs, _ := r.live()
	testkit.Check(t, len(incs) == 3, "%d live", len(incs))
}
