package bridge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
		if codeOf(first) != CodeAgentExists || second != nil {
			t.Errorf("got %v, then %v; want one refused at once, the other started", first, second)
		}
	})
}

func TestKillDuringStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{launch: func(ctx context.Context, _ SpawnParams, h Host) (Agent, error) {
			h.Emit(Event{Body: Stderr{Text: "starting"}})
			<-ctx.Done()
			h.Emit(Event{Body: Stderr{Text: "undone"}})
			return nil, ctx.Err()
		}}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		spawned := make(chan error)
		go func() { spawned <- errOf(r.Spawn(r.ctx, spawnParams("a", 1))) }()
		synctest.Wait()
		begun := time.Now()
		if err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}}); err != nil {
			t.Errorf("kill: %v", err)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("kill took %v", took)
		}
		if err := <-spawned; codeOf(err) != CodeEnded {
			t.Errorf("spawn: %v", err)
		}
		if n := len(r.h.all()); n != 2 {
			t.Errorf("%d events, want both of the start", n)
		}
	})
}

// A launcher that finishes at the moment of the kill has made an agent that no caller waits for.
func TestKillAsStartSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{}
		l.launch = func(ctx context.Context, p SpawnParams, h Host) (Agent, error) {
			<-ctx.Done()
			return l.add(p, h), nil
		}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		spawned := make(chan error)
		go func() { spawned <- errOf(r.Spawn(r.ctx, spawnParams("a", 1))) }()
		synctest.Wait()
		if err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}}); err != nil {
			t.Errorf("kill: %v", err)
		}
		if err := <-spawned; codeOf(err) != CodeEnded {
			t.Errorf("spawn: %v", err)
		}
		select {
		case <-l.agent(AgentRef{"a", 1}).done:
		default:
			t.Error("the agent lives on")
		}
	})
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
		var typed *RPCError
		if !errors.As(err, &typed) || typed.Code != CodeClaude || typed.Category != CatStart {
			t.Errorf("got %v", err)
		}
		if took, want := time.Since(begun), time.Second+startSlack; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}
