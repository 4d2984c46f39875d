package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// scene is a frontend on a simulated screen, in a bubble.
type scene struct {
	*tuitest.Stage
	host     *fakeHost
	frontend *Frontend
}

// play shows a frontend and runs act on it.
func play(t *testing.T, w, h int, change func(*Options, *fakeHost), act func(s *scene)) {
	t.Helper()
	tuitest.Play(t, w, h, func(stage *tuitest.Stage) {
		host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Path: "/usr/bin/claude", Login: LoginYes,
			Account: "weaver@loom.example", CWD: "/home/weaver/loom"}}
		o := Options{Screen: stage.Screen, Host: host, Theme: "dark", Mouse: true, Notify: render.NotifyOptions{Bell: true}}
		if change != nil {
			change(&o, host)
		}
		o.Host = host
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stage.Start(func() error { return f.Run(ctx) }, f.Leave)
		s := &scene{Stage: stage, host: host, frontend: f}
		s.Settle()
		act(s)
	})
}

// Settle waits for pending paints.
func (s *scene) Settle() {
	s.T.Helper()
	s.Advance(2 * frame)
}

// Press presses keys, and waits for the paint. So do the other actions of a user.
func (s *scene) Press(names ...string) { s.T.Helper(); s.Stage.Press(names...); s.Settle() }
func (s *scene) Type(text string)      { s.T.Helper(); s.Stage.Type(text); s.Settle() }
func (s *scene) Paste(text string)     { s.T.Helper(); s.Stage.Paste(text); s.Settle() }
func (s *scene) Resize(w, h int)       { s.T.Helper(); s.Stage.Resize(w, h); s.Settle() }
func (s *scene) Click(x, y int)        { s.T.Helper(); s.Stage.Click(x, y); s.Settle() }
func (s *scene) ClickOn(text string)   { s.T.Helper(); s.Stage.ClickOn(text); s.Settle() }
func (s *scene) Wheel(x, y, n int)     { s.T.Helper(); s.Stage.Wheel(x, y, n); s.Settle() }

// does makes something happen in the run, and shows it.
func (s *scene) does(do func(p *fakeRun)) {
	s.T.Helper()
	do(s.host.present())
	s.Settle()
}

// startWork brings a run to the point where two Orchestrators work on a plan.
func (s *scene) startWork() {
	s.T.Helper()
	s.Type("Teach the loom the new header\n")
	s.does(func(p *fakeRun) {
		p.call("arbiter", "set_plan", `{"steps":[{"text":"Read the header","status":"done"},{"text":"Write the header","status":"active"},{"text":"Prove it with fresh eyes"},{"text":"Tell the human"}]}`)
		p.call("arbiter", "spawn_orchestrator",
			`{"prompt":"Teach the parser the **new** header. Tests first.","mode":"developer"}`)
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"Review what the other one wrote.","mode":"reviewer"}`)
		p.full("arbiter", 31_000)
		p.endTurn("arbiter", decides("CONTINUE", "The weaving begins."))
	})
	s.Advance(7 * time.Second)
	s.does(func(p *fakeRun) {
		p.full("orch-1", 143_000)
		p.does("orch-1", bridge.ContextWarning{Pct: 71.5, Level: "warn"})
		p.full("orch-2", 22_000)
		p.does("orch-1", bridge.Assistant{Text: "I begin with the tests, as I was told."})
		p.does("orch-1",
			bridge.ToolUse{Tool: "Bash", ToolUse: "t1",
				Input: []byte(`{"command":"go test ./header","description":"Run the tests"}`)})
		p.does("orch-1", bridge.ToolResult{ToolUse: "t1", Text: "ok  \tloom/header\t0.012s"})
		p.does("orch-1",
			bridge.ToolUse{Tool: "Agent", ToolUse: "t2",
				Input: []byte(`{"description":"Find the callers","prompt":"Find who reads the header.","subagent_type":"Explore"}`)})
		p.does("orch-1", bridge.SubagentStart{Description: "Find the callers", ToolUse: "t2", Type: "Explore"})
		p.does("orch-1", bridge.ToolUse{Tool: "Grep", ToolUse: "t3", Input: []byte(`{"pattern":"ReadHeader"}`),
			Subagent: "t2"})
		p.does("orch-1", bridge.SubagentProgress{Description: "Find the callers", ToolUse: "t2", Tokens: 18_000,
			ToolUses: 1, LastTool: "Grep"})
		p.endTurn("orch-2",
			reports("question",
				"May I change `header.go` while the other one works on it?\n\n- yes: at once\n- no: I wait", true))
	})
}

// sizes are the sizes of all screen tests. Golden files exist for the first two; the second has tiles.
var sizes = [][2]int{{80, 24}, {200, 50}, {40, 12}, {120, 40}, {57, 19}}

// allowsAll starts runs in a permission mode, with or without a requested sandbox.
func allowsAll(mode, sandbox string) func(*Options, *fakeHost) {
	return func(_ *Options, h *fakeHost) {
		h.found.Permissions, h.found.Sandbox = mode, sandbox
		h.options = func(o *runconfig.Options) { o.Permissions = mode }
	}
}

// TestAllowAllIsInSight: every screen of any size shows that everything is allowed, also below a dialog and
// while another message is shown.
func TestAllowAllIsInSight(t *testing.T) {
	testkit.WithoutRace(t)
	for i, size := range sizes {
		if testkit.Race && i > 1 {
			break // what a detector could find is the same at every size
		}
		play(t, size[0], size[1], allowsAll("allow-all", "off"), func(s *scene) {
			see := func(where string) {
				t.Helper()
				if !strings.Contains(s.Text(), "ALLOW ALL") {
					t.Errorf("%v, %s: it is not in sight:\n%s", size, where, s.Text())
				}
			}
			see("before anything was begun")
			s.startWork()
			see("the weaving")
			for _, key := range []string{"Alt+1", "F2", "F3", "F4", "F1", "Ctrl+C"} {
				s.Press(key)
				see(key)
				s.Press("Esc")
			}
			s.Press("Alt+p") // answered with a flash
			s.Settle()
			see("a flash")
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest) })
			see("a request")
			s.Advance(time.Second)
			s.Press("n", `Ctrl+\`)
			see("halted")
		})
	}
}
