package runloop

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// TestOptionsThatAreRefused: options that must not be given to this run are refused.
func TestOptionsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := whileOneWorks(t, runconfig.Options{}, func(l *Loop, _ bridge.AgentRef) {
			l.Refuse(func(o runconfig.Options) error {
				if o.Permissions == "allow-all" && o.CWD == "/w" {
					return errors.New("not here")
				}
				return nil
			})
			humanSays(l, contract.Configure{Permissions: "allow-all", AcceptRisk: true})
			humanSays(l, contract.Configure{Permissions: "rules"})
			testkit.Same(t, "permissions", "rules", l.Snapshot().Options.Permissions)
		})
		refused := func(e contract.Event) bool {
			r, ok := e.Body.(contract.Rejected)
			return ok && r.Message == "not here"
		}
		if !slices.ContainsFunc(events, refused) {
			t.Error("it is not rejected")
		}
	})
}

// TestConfiguredPermissionsHoldAtOnce: for waiting requests and for later ones; what is always allowed in the
// workspace stays allowed.
func TestConfiguredPermissionsHoldAtOnce(t *testing.T) {
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
		"accept-edits": {contract.Configure{Permissions: "accept-edits"},
			[]string{"", "", "", "", "make six: pass ", "kept it: pass "}},
		"what is not a change": {contract.Configure{Permissions: "ask"},
			[]string{"", "", "", "", "make six: pass ", "kept it: pass "}},
		"what is not taken": {contract.Configure{Permissions: "allow-all"},
			[]string{"", "", "", "", "make six: pass ", "kept it: pass "}},
		"a rule of no known": {contract.Configure{Allow: "Bahs(make *)"},
			[]string{"", "", "", "", "make six: pass ", "kept it: pass "}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				events := whileOneWorks(t, runconfig.Options{}, func(l *Loop, ref bridge.AgentRef) {
					if err := l.Grants(&memory{}, []trust.Grant{{Rule: "Bash(kept *)"}}); err != nil {
						t.Error(err)
					}
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
					if b := events[at].Body.(contract.Permission); settled[id]+": "+b.Behavior+" "+b.By != how ||
						b.Reason == "" && b.Rule == "" {
						t.Errorf("%s was settled as %+v, want %s", id, b, how)
					}
				}
				testkit.Same(t, "still open, and judged", want, got)
			})
		})
	}
}
