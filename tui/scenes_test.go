package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
	"github.com/arbiter-cli/arbiter/tui/notify"
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
		o := Options{Screen: stage.Screen, Host: host, Theme: "dark", Mouse: true, Notify: notify.Options{Bell: true}}
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
	s.Settle()
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

var sizes = [][2]int{{80, 24}, {120, 40}, {40, 12}, {200, 50}}

// everySize runs a scene at every size and compares the final screen.
func everySize(t *testing.T, name string, change func(*Options, *fakeHost), act func(s *scene)) {
	for i, size := range sizes {
		if tuitest.Race && i > 1 {
			break // what a detector could find is the same at every size
		}
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			play(t, size[0], size[1], change, func(s *scene) {
				act(s)
				s.Golden(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]))
				s.ExpectSound()
			})
		})
	}
}

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
		if tuitest.Race && i > 1 {
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
				s.Settle()
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
			s.Settle()
			see("halted")
		})
	}
}

func TestScreens(t *testing.T) {
	testkit.WithoutRace(t)
	runs := func(_ *Options, h *fakeHost) {
		for i, title := range []string{"Teach the loom the new header", "織機に新しいヘッダーを教える", "Count the omens"} {
			h.found.Runs = append(h.found.Runs, RunInfo{
				ID: fmt.Sprintf("%08d-0000", i), Title: title,
				Status:     []string{"interrupted", "complete", "needs_input"}[i],
				LastActive: time.Date(1999, 12, 31, 20-i, 0, 0, 0, time.UTC), Bytes: 12_345 << (4 * i),
				Rehearsal: i == 2,
			})
		}
	}
	working := func(s *scene) { s.startWork() }
	after := func(keys ...string) func(s *scene) {
		return func(s *scene) { s.startWork(); s.Press(keys...); s.Settle() }
	}
	for name, tt := range map[string]struct {
		change func(*Options, *fakeHost)
		act    func(s *scene)
	}{
		"oracle":      {nil, func(*scene) {}},
		"oracle-runs": {runs, func(*scene) {}},
		"settings":    {configured, func(s *scene) { s.Press("F8"); s.Settle() }},
		"settings-ascii": {func(o *Options, h *fakeHost) { configured(o, h); o.ASCII, o.Theme = true, "mono" },
			func(s *scene) { s.Press("F8"); s.Settle(); s.Press("Down") }},
		"models":   {nil, func(s *scene) { s.startWork(); s.Type("/model\n"); s.Settle() }},
		"sessions": {runs, func(s *scene) { s.Press("F4", "Down") }},
		"first-missing": {func(_ *Options, h *fakeHost) {
			h.found = Findings{Missing: true, Problem: "no program named claude on PATH"}
		}, func(*scene) {}},
		"first-login": {func(_ *Options, h *fakeHost) { h.found.Login = LoginNo }, func(*scene) {}},
		"first-old": {func(_ *Options, h *fakeHost) {
			h.found = Findings{Problem: "Claude CLI 2.0.1 is too old: 2.1.300 or later is needed"}
		}, func(*scene) {}},
		"weaving": {nil, working},
		"crowd":   {nil, func(s *scene) { s.crowd() }},
		"crowd-ascii": {func(o *Options, _ *fakeHost) { o.ASCII, o.Theme = true, "high-contrast-dark" },
			func(s *scene) { s.crowd() }},
		"crowd-asked": {nil, func(s *scene) {
			s.crowd()
			s.Press("Alt+p")
			s.Settle()
		}},
		"weaving-ascii": {func(o *Options, _ *fakeHost) { o.ASCII, o.Theme = true, "mono" }, working},
		"weaving-light": {func(o *Options, _ *fakeHost) { o.Theme = "light" }, working},
		"reading":       {nil, after("Esc", "K", "K", "Tab", "Tab")},
		"focus":         {nil, after("Alt+1")},
		"logbook":       {nil, after("F2")},
		"plan":          {nil, after("F3")},
		"help":          {nil, after("F1")},
		"permission": {nil, func(s *scene) {
			s.startWork()
			s.does(func(p *fakeRun) {
				p.asks("orch-1", "perm-1", "Bash",
					`{"command":"rm -rf build && go build ./...","description":"Build anew"}`)
			})
			s.Advance(time.Second)
		}},
		"permission-rules": {nil, func(s *scene) {
			s.startWork()
			s.does(func(p *fakeRun) {
				p.suggests("orch-1", "perm-1", goTest, "Bash(go test ./header)", "Bash(go test *)")
			})
			s.Press("Alt+p", "w")
		}},
		"permission-long": {nil, func(s *scene) {
			s.startWork()
			s.does(func(p *fakeRun) {
				p.suggests("orch-1", "perm-1", `{"command":"`+strings.Repeat(`make one && \n`, 60)+`rm -rf hidden"}`)
			})
			s.Advance(time.Second)
		}},
		"inbox": {nil, func(s *scene) { s.inbox(); s.Press("F7", "j") }},
		"inbox-ascii": {func(o *Options, _ *fakeHost) { o.ASCII, o.Theme = true, "mono" },
			func(s *scene) { s.inbox(); s.Press("F7", "k") }},
		"inbox-rules": {nil, func(s *scene) { s.inbox(); s.Press("F7", "j", "4"); s.Settle() }},
		"inbox-all":   {nil, func(s *scene) { s.inbox(); s.Press("F7", "j", "A") }},
		"halted":      {nil, after(`Ctrl+\`)},
		"in-hand": {nil, func(s *scene) {
			s.startWork()
			s.present(func(st *supervisor.State) {
				st.Agents = slices.Clone(st.Agents)
				st.Agents[1].Status, st.Agents[1].Takeover = roster.InHand,
					&takeover.Takeover{Stage: takeover.Open, Since: time.Now()}
			})
		}},
		"waiting": {nil, func(s *scene) {
			s.busy()
			s.Type("Use the blue thread\n")
			s.Settle()
			s.Type("And hurry\n")
			s.Settle()
			s.Press("Up", "Ctrl+X")
			s.Settle()
			s.Type("And hurry slowly\n")
			s.Settle()
			s.Press("Up")
			s.Type(", please\n")
			s.Settle()
		}},
		"trust":             {brings(false), func(s *scene) { s.Advance(time.Second) }},
		"trust-changed":     {brings(true), func(s *scene) { s.Advance(time.Second) }},
		"oracle-safe":       {allowsAll("ask", "auto"), func(*scene) {}},
		"oracle-allow-all":  {allowsAll("allow-all", "off"), func(*scene) {}},
		"weaving-allow-all": {allowsAll("allow-all", "off"), working},
		"focus-allow-all":   {allowsAll("allow-all", "off"), after("Alt+1")},
		"logbook-allow-all": {allowsAll("allow-all", "off"), after("F2")},
		"leave":             {nil, after("Ctrl+C")},
		"done": {nil, func(s *scene) {
			s.startWork()
			s.does(func(p *fakeRun) {
				p.endTurn("arbiter", decides("ADDRESS_ORCHESTRATOR", "Wait.", "to", "orch-2"))
				p.endTurn("orch-1", reports("done", "The header is written.", true))
			})
			s.does(func(p *fakeRun) {
				p.call("arbiter", "release_orchestrator", `{"id":"orch-2","reason":"no longer needed"}`)
			})
			s.does(func(p *fakeRun) {
				p.endTurn("arbiter", decides("COMPLETE", "It is done.", "summary", "The loom knows the new header."))
			})
		}},
		"shell": {func(_ *Options, h *fakeHost) {
			h.shell = printing(2, strings.Repeat("ok  loom/header 0.012s\n", 40)+
				"--- FAIL: TestHeader\n\x1b[31mFAIL\x1b[0m  loom/writer\n")
		},
			func(s *scene) { s.startWork(); s.Type("!go test ./...\n"); s.Settle() }},
		"tour": {func(_ *Options, h *fakeHost) { h.newcomer = true },
			func(s *scene) { s.Type("/tour\n"); s.Settle() }},
		"picker":     {nil, after("Ctrl+O")},
		"completion": {nil, func(s *scene) { s.startWork(); s.Type("/su") }},
		"writing": {nil, func(s *scene) {
			s.startWork()
			s.Type("One line")
			s.Press("Alt+Enter")
			s.Type("and another, 世界 🧵")
		}},
		"plan-edited": {nil, func(s *scene) {
			s.startWork()
			s.present(func(st *supervisor.State) {
				st.Task.AgentTasks = []contract.Tasks{{Agent: "orch-1",
					Items: []contract.Step{{Text: "Find the callers", Status: "done"},
						{Text: "Change them", Status: "active"}}}}
			})
			s.Press("F3", "j", "s", "m")
			s.Type("developer\n")
			s.does(func(p *fakeRun) { p.call("orch-1", "update_plan", `{"index":2,"status":"done"}`) })
			s.Press("a")
			s.Type("Ask those who know 世界")
		}},
		"trouble": {nil, func(s *scene) { s.startWork(); s.trip("retry", "skip", "cancel") }},
		"ways": {nil, func(s *scene) {
			s.startWork()
			s.trip("retry", "fallback", "cancel", "name another program with --claude PATH")
			s.Press("Alt+c")
		}},
		"fallback": {nil, func(s *scene) {
			s.startWork()
			s.present(func(st *supervisor.State) { st.Rulings.FallbackReason = "it gave no valid verdict in three turns" })
		}},
		"agents":         {nil, func(s *scene) { s.startWork(); s.Type("/agents\n") }},
		"changes":        {changed, authored},
		"changes-file":   {changed, func(s *scene) { authored(s); s.Press("Down", "Enter"); s.Settle() }},
		"changes-beside": {changed, func(s *scene) { authored(s); s.Press("Down", "Enter"); s.Settle(); s.Press("s") }},
		"cost":           {nil, func(s *scene) { s.startWork(); s.Type("/cost\n") }},
		"runs":           {everywhere, func(s *scene) { s.Press("F4", "Down"); s.Settle() }},
		"runs-found": {everywhere, func(s *scene) {
			s.Press("F4", "/")
			s.Type("other loom")
			s.Settle()
		}},
		"runs-report": {everywhere, func(s *scene) { s.Press("F4", "G"); s.Settle(); s.Press("Enter"); s.Settle() }},
		"playback": {replaying, func(s *scene) {
			s.Advance(3 * time.Second)
			s.Press("Space", "+", "+")
			s.Settle()
		}},
		"playback-ascii": {func(o *Options, h *fakeHost) {
			o.ASCII, o.Theme = true, "high-contrast-dark"
			replaying(o, h)
		}, func(s *scene) { s.Press("$"); s.Settle() }},
		"timeline": {nil, timed},
		"timeline-ascii": {func(o *Options, _ *fakeHost) { o.ASCII, o.Theme = true, "mono" }, func(s *scene) {
			timed(s)
			s.Press("Down", "[", "[", "+")
		}},
	} {
		t.Run(name, func(t *testing.T) { everySize(t, name, tt.change, tt.act) })
	}
}
