package runloop

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	securejoin "github.com/cyphar/filepath-securejoin"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// another is a file system of links and files by their path.
type another struct {
	links    map[string]string // where a path leads
	requests int
	err      error
}

func (a *another) look(paths []string) ([]Found, error) {
	a.requests++
	if a.err != nil {
		return nil, a.err
	}
	found := make([]Found, len(paths))
	for i, path := range paths {
		to, linked := a.links[path]
		switch {
		case to == "error":
			found[i].Err = errors.New("permission denied")
		case linked:
			found[i].Path = to
		default:
			found[i].Path = path
		}
	}
	return found, nil
}

func asking(tool string, input map[string]string) policy.Request {
	raw, _ := json.Marshal(input) // strings
	return policy.Request{Tool: tool, Input: raw}
}

// TestElsewhere checks requests against rules on the host where they would be carried out: its home, its
// directory, its links. This machine's files do not matter.
func TestElsewhere(t *testing.T) {
	p := policy.Policy{CWD: "/srv/far/run8/orch-1", Home: "/home/far",
		Deny: parsed([]string{"Read(~/.ssh/**)"}), Ask: parsed([]string{"Edit(src/**)"})}
	there := &another{links: map[string]string{
		"/home/far":                        "/data/home/far",
		"/home/far/.ssh":                   "/data/home/far/.ssh",
		"/home/far/.ssh/id":                "/data/home/far/.ssh/id",
		"/srv/far/run8/orch-1/keys":        "/data/home/far/.ssh",
		"/srv/far/run8/orch-1/keys/id":     "/data/home/far/.ssh/id",
		"/srv/far/run8/orch-1/src/out":     "/etc",
		"/srv/far/run8/orch-1/src/out/x":   "/etc/x",
		"/srv/far/run8/orch-1/src/secret":  "error",
		"/srv/far/run8/orch-1/closed/file": "error",
	}}
	near := t.TempDir()
	testkit.OK(t, os.MkdirAll(filepath.Join(near, "src"), 0o700))
	rules := view{look: there.look}
	file := func(tool, path string) policy.Request { return asking(tool, map[string]string{"file_path": path}) }
	for what, tc := range map[string]struct {
		r    policy.Request
		want string
	}{
		"a key of the host":              {file("Read", "/home/far/.ssh/id"), bridge.Deny},
		"a key by its path":              {file("Read", "/data/home/far/.ssh/id"), bridge.Deny},
		"a key through a link":           {file("Read", "keys/id"), bridge.Deny},
		"a key by a command":             {asking("Bash", map[string]string{"command": "cat ~/.ssh/id"}), bridge.Deny},
		"an edit in src":                 {file("Edit", "src/a.go"), bridge.Ask},
		"an edit by its whole path":      {file("Edit", p.CWD+"/src/a.go"), bridge.Ask},
		"an edit through a link out":     {file("Edit", "src/out/x"), bridge.Ask},
		"an edit that nobody can follow": {file("Edit", "src/secret"), bridge.Ask},
		"an edit here":                   {file("Edit", near+"/src/a.go"), ""},
		"a file of the directory":        {file("Read", "README.md"), ""},
		"a file that is not to follow":   {file("Read", "closed/file"), bridge.Ask},
	} {
		got := rules.decide(p, tc.r)
		testkit.Check(t, got.Behavior == tc.want, "%s: %+v, want %s", what, got, tc.want)
	}
}

func (a *another) Files() (home string, look Lookup) { return "/home/far", a.look }

// TestModesElsewhere: what the mode of an agent names is looked up on the agent's host.
func TestModesElsewhere(t *testing.T) {
	there := &another{links: map[string]string{"/w/src/out/x": "/etc/x", "/w/a": "/home/far/.ssh/id"}}
	l := court(t, runconfig.Options{Permissions: "ask"}, func(s *supervisor.State) {
		s.Options.Modes = []agents.Agent{{Name: "writer", Tools: []string{"Edit(src/**)", "Read"},
			DisallowedTools: []string{"Read(~/.ssh/**)"}}}
		s.Agents[1].Mode, s.Agents[1].Host = "writer", "far"
	})
	l.views.Store("far", there)
	for call, want := range map[string]string{"Edit src/a": bridge.Pass, "Edit src/out/x": bridge.Deny,
		"Read b": bridge.Pass, "Read a": bridge.Deny, "Read /home/far/.ssh/id": bridge.Deny} {
		tool, path, _ := strings.Cut(call, " ")
		r := asking(tool, map[string]string{"file_path": path})
		got, err := l.Handler("far").Judge(t.Context(), bridge.JudgeParams{
			AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2}, Tool: r.Tool, Input: r.Input})
		testkit.Check(t, err == nil && got.Behavior == want, "%s: %+v, %v", call, got, err)
		<-l.inbox
	}
}

// TestElsewhereAsksLittle: one decision with many rules needs few requests.
func TestElsewhereAsksLittle(t *testing.T) {
	p := policy.Policy{CWD: "/srv/w", Home: "/home/far",
		Deny: parsed([]string{"Read(~/.ssh/**)", "Read(~/.aws/**)", "Read(//etc/shadow)", "Read(.env)", "Edit(.git/**)"}),
		Ask:  parsed([]string{"Bash(git push *)", "Edit(go.mod)"})}
	there := &another{}
	rules := view{look: there.look}
	for _, r := range []policy.Request{
		asking("Edit", map[string]string{"file_path": "src/a.go"}),
		asking("Bash", map[string]string{"command": "go test ./... && cat src/a.go"}),
	} {
		there.requests = 0
		rules.decide(p, r)
		testkit.Check(t, there.requests <= 4, "%s: %d requests", r.Input, there.requests)
	}
	there.requests = 0
	d := rules.decide(p, asking("WebFetch", map[string]string{"url": "https://example.com"}))
	testkit.Check(t, there.requests <= 0, "%+v: %d requests for what is about no file", d, there.requests)
}

// TestElsewhereInDoubt: it asks when the host does not answer.
func TestElsewhereInDoubt(t *testing.T) {
	p := policy.Policy{CWD: "/srv/w", Home: "/home/far", Deny: parsed([]string{"Read(~/.ssh/**)", "Edit(~/.ssh/**)"})}
	rules := view{look: (&another{err: errors.New("the bridge is gone")}).look}
	for _, r := range []policy.Request{
		asking("Edit", map[string]string{"file_path": "src/a.go"}),
		asking("Read", map[string]string{"file_path": "src/a.go"}),
		asking("Bash", map[string]string{"command": "cat src/a.go"}),
	} {
		testkit.Like(t, r.Input, policy.Decision{Behavior: bridge.Ask, By: policy.ByRule}, rules.decide(p, r))
	}
}

// TestElsewhereAgrees: it agrees with the rules on this machine if the other file system is this one.
func TestElsewhereAgrees(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.Symlink("/etc", filepath.Join(dir, "etc")))
	here := func(paths []string) ([]Found, error) {
		found := make([]Found, len(paths))
		for i, path := range paths {
			found[i].Path, found[i].Err = securejoin.SecureJoin("/", path)
		}
		return found, nil
	}
	p := policy.Policy{CWD: dir, Home: "/root", Deny: parsed([]string{"Read(//etc/shadow)", "Edit(.git/**)"}),
		Ask: parsed([]string{"Bash(rm *)"})}
	there := view{look: here}
	for _, r := range []policy.Request{
		asking("Read", map[string]string{"file_path": "etc/shadow"}),
		asking("Read", map[string]string{"file_path": "etc/passwd"}),
		asking("Edit", map[string]string{"file_path": "src/x"}),
		asking("Edit", map[string]string{"file_path": ".git/config"}),
		asking("Bash", map[string]string{"command": "cat etc/shadow"}),
		asking("Bash", map[string]string{"command": "cat x | rm y"}),
		asking("Bash", map[string]string{"command": "ls -l src"}),
		asking("Grep", map[string]string{"pattern": "x", "path": "etc"}),
	} {
		a, b := there.decide(p, r), p.Decide(r)
		testkit.Check(t, a == b, "%s: %+v, here %+v", r.Input, a, b)
	}
}
