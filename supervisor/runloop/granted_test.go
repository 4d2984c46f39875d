package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// memory keeps grants, or fails to.
type memory struct {
	list []trust.Grant
	err  error
}

func (m *memory) Add(g trust.Grant) error {
	m.list = append(m.list, g)
	return m.err
}

// TestAnswersHold: a human's answer to an action answers the same action again, in the run or in the workspace, and
// even
// against an ask rule; a deny rule comes first. A rule that a human has allowed answers nothing: it is the CLI's.
func TestAnswersHold(t *testing.T) {
	o := runconfig.Options{Permissions: "ask", Ask: []string{"Bash(npm *)"}, Deny: []string{"Bash(make install*)"}}
	l := court(t, o, func(s *supervisor.State) {
		s.Permission.Rules = []string{"Bash(make *)"}
		for _, command := range []string{"npm test", "make install"} {
			s.Permission.Actions = append(s.Permission.Actions, input.PermissionKey("Bash", bashCall(command).Input))
		}
	})
	kept := []trust.Grant{
		{Rule: "Bash(cargo *)"},
		{Action: input.PermissionKey("Bash", bashCall("npm ci").Input), Tool: "Bash"},
	}
	testkit.OK(t, l.Grants(&memory{}, kept))
	for command, want := range map[string]string{
		"make all": "ask mode", "make install": "deny rule", "npm test": "allow human", "npm test ": "ask rule",
		"npm run": "ask rule", "npm ci": "allow human", "cargo build": "ask mode",
	} {
		d := l.answer(toolCall{agent: "orch-1", tool: "Bash", input: bashCall(command).Input})
		got := d.Behavior + " " + d.By
		testkit.Check(t, got == want, "%s: %s, want %s (%s)", command, got, want, d.Reason)
		// A check of the same command is another action.
		check := l.answer(toolCall{agent: "orch-1", tool: "Bash", input: bashCall(command).Input, check: true})
		testkit.Check(t, check.By != contract.Human, "check %s: %+v", command, check)
	}
	testkit.Fails(t, "a rule that is none was taken", l.Grants(nil, []trust.Grant{{Rule: "Bash("}}))
}

// TestRuleHasToCover: an answer whose rule does not cover the request is rejected, and another may follow; a
// rule for always is kept, or it is reported that it is not.
func TestRuleHasToCover(t *testing.T) {
	for _, failing := range []error{nil, errors.New("the disk is full")} {
		synctest.Test(t, func(t *testing.T) {
			kept := &memory{err: failing}
			port := &fakePort{}
			port.answer = func(f *fakePort, p bridge.MessageParams) {
				f.loop.grants = kept
				asked := make(chan bridge.PermissionResult)
				go func() {
					r, _ := f.loop.Permission(t.Context(),
						bridge.PermissionParams{AgentRef: p.AgentRef, Request: "p1", Tool: "Read",
							Input: json.RawMessage(`{"file_path":"/x/data.txt"}`)})
					asked <- r
				}()
				for len(f.loop.Snapshot().Permission.Open) == 0 {
					synctest.Wait()
				}
				for _, c := range []contract.Permit{{Behavior: "deny", Scope: "run", Rule: "Read(src/**)"},
					{Behavior: "allow", Scope: "run", Rule: "Edit(src/**)"},
					{Behavior: "allow", Scope: "always", Rule: "Read(//x/**)"}} {
					c.Request = "p1"
					f.loop.give(c.Rule, c)
				}
				testkit.Like(t, "answer", bridge.PermissionResult{Behavior: bridge.Allow}, <-asked)
				synctest.Wait()
				f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
			}
			events, exit := perform(t, port, nil)
			testkit.Same(t, "exit", contract.ExitComplete, exit)
			var said []string
			for _, e := range events {
				switch b := e.Body.(type) {
				case contract.Rejected:
					said = append(said, "rejected "+b.Ref)
				case contract.Accepted:
					said = append(said, "accepted "+b.Ref)
				case contract.Notice:
					if strings.Contains(b.Text, "the disk is full") {
						said = append(said, "not kept")
					}
				}
			}
			want := []string{"rejected Read(src/**)", "rejected Edit(src/**)", "accepted Read(//x/**)"}
			if failing != nil {
				want = append(want, "not kept")
			}
			testkit.Same(t, "said", want, said)
			testkit.Check(t, len(kept.list) == 1 && kept.list[0].Rule == "Read(//x/**)" &&
				kept.list[0].Run == testRun && !kept.list[0].At.Before(time.Unix(1, 0)), "kept: %+v", kept.list)
		})
	}
}

// waiting is how many requests wait for a human.
func waiting(l *Loop) int { return len(l.Snapshot().Permission.Open) }

// asks lets calls of an agent request permission, as requests p1, p2 and so on, and returns a channel for the
// answer to each. It returns when all that can wait do.
func asks(t *testing.T, l *Loop, ref bridge.AgentRef, commands ...string) []chan bridge.PermissionResult {
	var answers []chan bridge.PermissionResult
	for i, command := range commands {
		answer := make(chan bridge.PermissionResult, 1)
		answers = append(answers, answer)
		p := bridge.PermissionParams{AgentRef: ref, Request: fmt.Sprintf("p%d", i+1), Tool: "Bash",
			Input: bashCall(command).Input, Suggestions: []string{"Bash(" + strings.Fields(command)[0] + " *)"}}
		go func() {
			r, err := l.Permission(t.Context(), p)
			testkit.Check(t, err == nil, "%s: %v", command, err)
			answer <- r
		}()
		synctest.Wait()
	}
	return answers
}

// whileOneWorks plays a run whose only Orchestrator calls work in its one turn.
func whileOneWorks(t *testing.T, work func(l *Loop, ref bridge.AgentRef)) []contract.Event {
	t.Helper()
	port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
		switch {
		case p.ID != "arbiter":
			work(f.loop, p.AgentRef)
			f.ruled(p, report("done", "all of it", true))
		case f.loop.Snapshot().Spawned == 0:
			f.loop.call(t, p.AgentRef, "spawn_orchestrator", `{"prompt":"work"}`)
			f.ruled(p, ruling("CONTINUE", "Patience."))
		default:
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}
	}}
	events, exit := perform(t, port, nil)
	testkit.Same(t, "exit", contract.ExitComplete, exit)
	return events
}

// humanSays gives a command and waits until all its immediate effects have happened.
func humanSays(l *Loop, body contract.CommandBody) {
	l.give("r", body)
	synctest.Wait()
}

// TestAnswersSettleWhatElseTheyCover: what a human allows or denies for the run, or always, by a rule or by the action,
// answers all other requests for the same action, or with which the CLI offered the same rule. A denial also answers
// those that come later. Other requests stay open.
func TestAnswersSettleWhatElseTheyCover(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  contract.Permit
		settled []string
	}{
		"allow once": {contract.Permit{Behavior: bridge.Allow}, []string{"p2 human once "}},
		"allow by a rule, for run": {contract.Permit{Behavior: bridge.Allow, Scope: "run", Rule: "Bash(make *)"},
			[]string{"p2 human run Bash(make *)", "p1 human run Bash(make *)", "p4 human run Bash(make *)",
				"p5 human run Bash(make *)"}},
		"allow by a rule, always": {contract.Permit{Behavior: bridge.Allow, Scope: "always", Rule: "Bash(make *)"},
			[]string{"p2 human always Bash(make *)", "p1 human run Bash(make *)", "p4 human run Bash(make *)",
				"p5 human run Bash(make *)"}},
		"allow the same action": {contract.Permit{Behavior: bridge.Allow, Scope: "run"},
			[]string{"p2 human run ", "p5 human  "}},
		"deny once": {contract.Permit{Behavior: bridge.Deny}, []string{"p2 human  "}},
		"deny the same action": {contract.Permit{Behavior: bridge.Deny, Scope: "run"},
			[]string{"p2 human run ", "p5 human  ", "p6 human  "}},
		"deny by a rule": {contract.Permit{Behavior: bridge.Deny, Scope: "run", Rule: "Bash(make *)"},
			[]string{"p2 human run Bash(make *)", "p1 rule  Bash(make *)", "p4 rule  Bash(make *)", "p5 rule  Bash(make *)",
				"p6 rule  Bash(make *)"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				commands := []string{"make one", "make two", "npm test", "make three", "make two"}
				events := whileOneWorks(t, func(l *Loop, ref bridge.AgentRef) {
					answers := asks(t, l, ref, commands...)
					other := contract.Permit{Request: "p2", Behavior: tt.answer.Behavior, Scope: "run", Rule: "Bash(npm *)"}
					humanSays(l, other)
					testkit.Same(t, "requests wait after an answer that is none", len(commands), waiting(l))
					tt.answer.Request = "p2"
					humanSays(l, tt.answer)
					asked := len(commands)
					if tt.answer.Behavior == bridge.Deny {
						late := bridge.PermissionParams{AgentRef: ref, Request: "p6", Tool: "Bash",
							Input: bashCall("make two").Input}
						if tt.answer.Scope == "" {
							late.Input = bashCall("npm run").Input
						}
						answer := make(chan bridge.PermissionResult, 1)
						go func() {
							r, err := l.Permission(t.Context(), late)
							testkit.Check(t, err == nil, "%v", err)
							answer <- r
						}()
						synctest.Wait()
						answers, asked = append(answers, answer), asked+1
					}
					if n := waiting(l); n != asked-len(tt.settled) {
						t.Errorf("%d requests still wait", n)
						return
					}
					for _, line := range tt.settled {
						r := <-answers[line[1]-'1']
						testkit.Check(t, r.Behavior == tt.answer.Behavior &&
							(r.Behavior != bridge.Deny || r.Message != ""), "%s: %+v", line, r)
					}
				})
				var settled []string
				for _, e := range events {
					b, ok := e.Body.(contract.Permission)
					if ok && b.Behavior == tt.answer.Behavior && (b.By == contract.Human || b.By == "rule") {
						settled = append(settled, strings.Join([]string{b.Request, b.By, b.Scope, b.Rule}, " "))
						testkit.Check(t, b.Tool == "Bash" && len(b.Action) == 64 && e.ID == "orch-1", "%s: %+v", e.ID,
							b)
					}
				}
				testkit.Same(t, "settled", tt.settled, settled)
			})
		})
	}
}

// TestGate: the loop asks the gate before each start that loads the workspace's settings, and before no other.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := asksBack()
		n := newLiveRun(t, &fakeJournal{}, port)
		var mu sync.Mutex
		var asked, kept []string
		now := "h2"
		n.loop.Gate = func(_ context.Context, p bridge.SpawnParams, trusted Pinned) error {
			mu.Lock()
			defer mu.Unlock()
			pinned := trusted.Workspace
			asked = append(asked, p.ID+" "+pinned)
			if pinned != now {
				return &Untrusted{Message: "changed", Hash: now}
			}
			return nil
		}
		n.loop.KeepTrust = func(_ context.Context, _, hash string) error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, hash)
			return errors.New("no room")
		}
		n.begin(func(o *runconfig.Options) { o.Trusted, o.TrustHash, o.Task = true, "h1", "Build it" })
		synctest.Wait()
		testkit.Need(t, len(port.starts()) == 0 && len(hearing[contract.Error](n)) == 1, "starts %v, errors %v",
			port.starts(), hearing[contract.Error](n))
		n.give("1", contract.Choose{Option: "trust"})
		time.Sleep(time.Second)
		synctest.Wait()
		testkit.Check(t, cmp.Diff([]string{"arbiter h1", "arbiter h2"}, asked) == "" && len(port.starts()) == 1 &&
			slices.Equal(kept, []string{"h2"}), "asked %v, starts %v, kept %v", asked, port.starts(), kept)
		n.stop()
	})
	testkit.Check(t, loadsWorkspace([]string{"user", "local"}) && !loadsWorkspace([]string{"user"}) &&
		!loadsWorkspace(nil), "which sources are the workspace's")
}

// TestOptionsThatAreRefused: options that must not be given to this run are refused.
func TestOptionsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := whileOneWorks(t, func(l *Loop, _ bridge.AgentRef) {
			l.Refuses = func(o runconfig.Options) error {
				if o.Permissions == "allow-all" && o.CWD == "/w" {
					return errors.New("not here")
				}
				return nil
			}
			humanSays(l, contract.Configure{Permissions: "allow-all", AcceptRisk: true})
			humanSays(l, contract.Configure{Permissions: "rules"})
			testkit.Same(t, "permissions", "rules", l.Snapshot().Options.Permissions)
		})
		refused := func(e contract.Event) bool {
			r, ok := e.Body.(contract.Rejected)
			return ok && r.Message == "not here"
		}
		testkit.Check(t, slices.ContainsFunc(events, refused), "it is not rejected")
	})
}

// TestConfiguredPermissionsHoldAtOnce: for waiting requests and for later ones; what is always allowed in the
// workspace stays allowed.
func TestConfiguredPermissionsHoldAtOnce(t *testing.T) {
	unchanged := []string{"", "", "", "", "make six: pass ", "kept it: pass "}
	for name, tt := range map[string]struct {
		change contract.Configure
		want   []string // of the requests that waited, and then of one call each
	}{
		"allow": {contract.Configure{Allow: "Bash(make *)"},
			[]string{"make one: allow human", "make two: allow human", "", "", "make six: pass ", "kept it: pass "}},
		"ask": {contract.Configure{Ask: "Bash(make *)"},
			[]string{"", "", "", "", "make six: ask rule", "kept it: pass "}},
		"deny": {contract.Configure{Deny: "Bash(npm *)"},
			[]string{"", "", "npm test: deny rule", "", "make six: pass ", "kept it: pass "}},
		"deny what is kept": {contract.Configure{Deny: "Bash(kept *)"},
			[]string{"", "", "", "", "make six: pass ", "kept it: deny rule"}},
		"rules": {contract.Configure{Permissions: "rules"},
			[]string{"make one: deny mode", "make two: deny mode", "npm test: deny mode", "/w/a.go: deny mode",
				"make six: pass ", "kept it: pass "}},
		"accept-edits":         {contract.Configure{Permissions: "accept-edits"}, unchanged},
		"what is not a change": {contract.Configure{Permissions: "ask"}, unchanged},
		"what is not taken":    {contract.Configure{Permissions: "allow-all"}, unchanged},
		"a rule of no known":   {contract.Configure{Allow: "Bahs(make *)"}, unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				events := whileOneWorks(t, func(l *Loop, ref bridge.AgentRef) {
					testkit.Works(t, "Grants", l.Grants(&memory{}, []trust.Grant{{Rule: "Bash(kept *)"}}))
					asks(t, l, ref, "make one", "make two", "npm test")
					edit := toolClasses["edit"]
					go func() {
						_, _ = l.Permission(t.Context(),
							bridge.PermissionParams{AgentRef: ref, Request: "p4", Tool: edit.Tool, Input: edit.Input})
					}()
					synctest.Wait()
					testkit.Same(t, "requests wait", 4, waiting(l))
					humanSays(l, tt.change)
					for _, p := range l.Snapshot().Permission.Open {
						got = append(got, p.ID)
					}
					for _, command := range []string{"make six", "kept it"} {
						p := bashCall(command)
						p.AgentRef = ref
						f := l.decidedCall(p)
						got = append(got, command+": "+f.Behavior+" "+f.By)
					}
				})
				settled := map[string]string{"p1": "make one", "p2": "make two", "p3": "npm test", "p4": "/w/a.go"}
				want := slices.Clone(tt.want[4:])
				for i, how := range slices.Backward(tt.want[:4]) {
					id := fmt.Sprintf("p%d", i+1)
					if how == "" {
						want = slices.Insert(want, 0, id)
						continue
					}
					at := slices.IndexFunc(events, func(e contract.Event) bool {
						b, ok := e.Body.(contract.Permission)
						return ok && b.Request == id
					})
					b := events[at].Body.(contract.Permission)
					testkit.Check(t, settled[id]+": "+b.Behavior+" "+b.By == how && (b.Reason != "" || b.Rule != ""),
						"%s was settled as %+v, want %s", id, b, how)
				}
				testkit.Same(t, "still open, and judged", want, got)
			})
		})
	}
}
