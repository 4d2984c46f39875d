package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux, which only the gauge serves
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// nearlyUsed is a play in which the API reports, in the Orchestrator's turn, that a quota window is nearly used
// up.
func nearlyUsed(resets time.Time) string {
	quota := func(status, used string) object {
		const prefix = "anthropic-ratelimit-unified-"
		return object{prefix + "status": status, prefix + "5h-status": status, prefix + "5h-utilization": used,
			prefix + "5h-reset": fmt.Sprint(resets.Unix()), prefix + "representative-claim": "five_hour"}
	}
	warned := quota("allowed_warning", "0.81")
	warned["anthropic-ratelimit-unified-5h-surpassed-threshold"] = "0.8"
	return playOf(
		arbiter([]object{with(spawns("Spin one."), "headers", quota("allowed", "0.5")), patience, complete("spun")}),
		orchestrator("orchestrator", "", []object{with(reports("progress", "Half.", true), "headers", warned)}))
}

// TestQuotaOfALogin: what the API reports about a quota window becomes an event, nothing is sent once the
// reserve is reached, and the run continues when the human says so. An API key has no quota windows: this is a
// login, with a scripted API.
func TestQuotaOfALogin(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver's tests decode the real CLI's reports
		who.inside(t)
		resets := time.Now().Add(time.Hour).Truncate(time.Second)
		s, model := hiredIn(t, who, nearlyUsed(resets), t.TempDir(), "--env", "ANTHROPIC_API_KEY=", "--env",
			"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-rehearsal-0000", "--quota-reserve", "20", "--task", "Spin")
		q := await[contract.Quota](s, "word of the window", func(_ string, b contract.Quota) bool {
			return b.UsedPct > 80
		})
		testkit.Check(t, q.Window == "five_hour" && q.UsedPct == 81 && q.ResetsAt == resets.UTC().Format(time.RFC3339),
			"told %+v", q)
		s.awaitNotice("are left for you")
		for _, agent := range []string{"arbiter", "orch-1"} { // running turns end
			await[contract.Turn](s, "the end of a turn", func(id string, _ contract.Turn) bool {
				return id == agent
			})
		}
		asked := len(model.Requests())
		s.send(contract.Continue{})
		s.finishes("spun")
		// The Arbiter completes, and insists when it reads that nothing proves the work.
		testkit.Same(t, "requests after the human's word", 2, len(model.Requests())-asked)
	})
}

// fusePlay is a play in which an Orchestrator works on and on, whatever message it gets.
var fusePlay = allowing([]string{"Bash(*)"},
	arbiter([]object{
		uses(call("mcp__arbiter__spawn_orchestrator", object{"prompt": "Spin.", "fuse_usd": 0.2})), patience,
		on("(?s)its fuse is spent.*summon a successor with fuse_usd", complete("stopped"))}),
	orchestrator("weaver", "", nil, bash("true")))

// TestFuseStopsAnOrchestrator: an Orchestrator that costs more than its fuse must hand off, then parked, and the
// Arbiter is asked. The fuse is passed by one call at most.
func TestFuseStopsAnOrchestrator(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		s := who.plays(t, scenarioFile(t, fusePlay), "Spin")
		s.offScript = true // the Orchestrator is stopped in its turn
		s.finishes("stopped")
		var told []string
		spent, call, last := 0.0, 0.0, 0.0
		for _, l := range s.lines {
			switch b := l.Body.(type) {
			case contract.Fuse:
				told, spent = append(told, b.Status), b.Spent
			case contract.Cost:
				if l.ID == "orch-1" {
					call, last = max(call, b.CostUSD-last), b.CostUSD
				}
			case contract.Turn: // a short turn tells its cost only here
				if l.ID == "orch-1" {
					call, last = max(call, b.CostUSD-last), 0
				}
			}
		}
		testkit.Check(t, len(told) >= 2 && told[0] == contract.FuseSet && told[len(told)-1] == contract.FuseBlown,
			"told %v", told)
		testkit.Check(t, spent >= 0.2 && spent <= 0.2+call, "$%.4f of $0.20 were spent, the dearest call cost $%.4f",
			spent, call)
	})
}

// TestLimitOfADayOverRuns: a day's limit counts all runs of the state directory. The second run gets a warning
// about it. The third run starts after the limit is used up, and makes no model request.
func TestLimitOfADayOverRuns(t *testing.T) {
	if now := time.Now(); now.Add(2*time.Minute).Day() != now.Day() {
		t.Skip("the day is about to end")
	}
	eachPlayerLong(t, func(t *testing.T, who player) {
		// the supervisor's TestLimitOfADay and TestUsage test its parts
		first, model := hiredIn(t, who, spin("echo spun"), t.TempDir(), "--model", "claude-sonnet-4-5", "--allow",
			"Bash(*)", "--task", "Spin")
		cost := first.finish(contract.ExitComplete).CostUSD
		with := func(share float64) *script {
			limit := []string{"--max-cost-per-day", fmt.Sprintf("%.6f", share*cost)}
			return first.again(slices.Concat(first.cmd.Args[1:], limit)...)
		}
		second := with(2.2)
		second.finishes("spun")
		list := collect[contract.Budget](second)
		testkit.Check(t, len(list) == 1 && list[0].Scope == "day" && list[0].Level == "warn" &&
			list[0].SpentUSD >= 1.7*cost, "told %+v, each costs $%v", list, cost)
		asked := len(model.Requests())
		third := with(1.9)
		third.finishesAtLimit()
		r := third.finish(contract.ExitLimit)
		testkit.Check(t, strings.Contains(r.Summary, "all runs of this day"), "the third: %+v", r)
		n := len(model.Requests())
		testkit.Check(t, n == asked, "the third asked its models %d times", n-asked)
	})
}

// priced is a play with a plan of one step, which an Orchestrator does.
var priced = playOf(
	arbiter([]object{
		uses(call("mcp__arbiter__set_plan", object{"steps": []object{{"text": "Spin."}}}),
			call("mcp__arbiter__spawn_orchestrator", object{"prompt": "Spin."})),
		patience, complete("spun")}, complete("spun")),
	orchestrator("weaver", "", nil, done("Spun.")))

// TestTheSecondRunHasAPrice: a run says that nothing is known, and the next one in the directory what its plan and its
// summons will cost. arbiter usage prints the same.
func TestTheSecondRunHasAPrice(t *testing.T) {
	t.Parallel()
	p := players(t)[0] // what is stored does not depend on who plays
	work, state := t.TempDir(), t.TempDir()
	run := func() (*script, []contract.Forecast) {
		s, _ := hiredIn(t, p, priced, work, "--no-input", "--state-dir", state, "--task", "Weave")
		s.finish(contract.ExitComplete)
		return s, collect[contract.Forecast](s)
	}
	if _, told := run(); len(told) != 1 || told[0] != (contract.Forecast{Unknown: 1}) {
		t.Errorf("the first run told %+v", told)
	}
	s, told := run()
	testkit.Need(t, len(told) == 3 && told[0].Step == 0 && told[0].From == 1 && told[0].Tokens != 0 &&
		told[1].Step == 1, "the second run told %+v", told)
	list := besideJSON[[]contract.Forecast](s, "usage", "--forecast", "--state-dir", state, "--cwd", work)
	testkit.Check(t, len(list) == 1 && list[0].From == 2 && list[0].Tokens != 0, "%+v", list)
}

// gaugeVariable names a directory in which the test's arbiter and its bridge each listen on a socket and report
// the resources they use: see [reading]. The sockets also serve the profiles of net/http/pprof:
//
//	curl --unix-socket DIR/bridge -o cpu http://gauge/debug/pprof/profile?seconds=10
const gaugeVariable = "ARBITER_TEST_GAUGE"

// gauge is called in the test's arbiter before it starts.
func gauge() {
	dir := os.Getenv(gaugeVariable)
	if dir == "" || len(os.Args) < 2 {
		return
	}
	name := "arbiter"
	switch os.Args[1] {
	case "bridge":
		name = "bridge"
	case "hook", "stand-in":
		return
	}
	place := filepath.Join(dir, name)
	_ = os.Remove(place) // left by the process that entered the namespace before this one
	l, err := net.Listen("unix", place)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/reading", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(read()) })
	go func() { _ = http.Serve(l, nil) }() // ends with the process
}

// reading is one measurement of a process.
type reading struct {
	Heap       float64 // MB of live objects
	Goroutines int
	Files      int     // open file descriptors
	Watches    int     // inotify watches of directories and files
	CPU        float64 // milliseconds since the start
}

func read() reading {
	runtime.GC()
	runtime.GC() // frees what finalizers and pools release
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := reading{Heap: float64(m.HeapAlloc) / (1 << 20), Goroutines: runtime.NumGoroutine()}
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	r.CPU = float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
	files, _ := os.ReadDir("/proc/self/fd")
	r.Files = len(files)
	for _, f := range files {
		if info, err := os.ReadFile("/proc/self/fdinfo/" + f.Name()); err == nil {
			r.Watches += strings.Count(string(info), "\ninotify ")
		}
	}
	return r
}

// readings gets the measurements that a process reports.
func readings(t testing.TB, dir, name string) reading {
	t.Helper()
	client := http.Client{Timeout: waitTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, name))
		},
	}}
	answer, err := client.Get("http://gauge/reading")
	for deadline := time.Now().Add(waitTimeout); err != nil; answer, err = client.Get("http://gauge/reading") {
		testkit.Need(t, !time.Now().After(deadline), "%v", err)
		<-time.After(20 * time.Millisecond) // it has not started yet
	}
	defer answer.Body.Close()
	raw := testkit.Must(io.ReadAll(answer.Body))(t)
	var r reading
	err = json.Unmarshal(raw, &r)
	testkit.Need(t, err == nil, "%v: %s", err, raw)
	return r
}

// overspent is a play whose first turn costs more than the run's limit.
var overspent = playOf(arbiter([]object{asksHuman("Is it well?"), on("all is woven", complete("It was spun."))}))

const overspentLimit = "0.0234"

// TestLimitQuestionOnEveryFrontend: when a cost limit is reached, each frontend asks the human, and the run
// continues when the limit is raised there.
func TestLimitQuestionOnEveryFrontend(t *testing.T) {
	testkit.Long(t)
	const raised = "no longer reached"
	eachPlayer(t, func(t *testing.T, who player) {
		for by, raises := range map[string]func(h *testHome, args []string){
			"json": func(h *testHome, args []string) {
				s := prepare(h.t, nil, append(args, "--json", "--task", "Weave")...)
				s.cmd.Env, s.cmd.Dir = h.env, h.work
				s.launch()
				q := await(s, "the question about the limit", func(_ string, q contract.Question) bool {
					return q.Question == supervisor.LimitQuestion
				})
				testkit.Same(h.t, "options", []string{"raise", "finish"}, q.Options)
				s.send(contract.Choose{Option: "raise"})
				s.awaitNotice(raised)
				s.send(contract.Say{Text: "all is woven"})
				s.finish(contract.ExitComplete)
			},
			"screen": func(h *testHome, args []string) {
				p := h.open(append(args, "--task", "Weave")...)
				p.await("may be spent")
				p.typed("/choose raise\n", raised)
				p.typed("all is woven\n", "Speak again, or depart.")
				h.over(p)
			},
			"plain": func(h *testHome, args []string) {
				p := h.open(append(args, "--plain", "--task", "Weave")...)
				p.await("may be spent")
				p.typed("/choose raise\n", raised)
				p.Type("all is woven\n")
				h.ended(p, contract.ExitComplete)
			},
			"page": func(h *testHome, args []string) {
				run := strings.TrimSpace(h.output(append(args, "--detach", "--task", "Weave")...))
				user := h.page(run)
				h.tells("Is it well?")
				user.sends(contract.Choose{Option: "raise"})
				h.tells(raised)
				user.sends(contract.Say{Text: "all is woven"})
				awaitGone(h.t, run)
			},
			"editor": func(h *testHome, args []string) {
				e := h.edits(acpEditors["plain"], args...)
				e.opens(h)
				e.prompt("Weave")
				h.tells("Is it well?")
				e.prompt("raise")
				h.tells(raised)
				e.stops(e.prompt("all is woven"), "end_turn")
				awaitGone(h.t, h.runs()[0])
			},
		} {
			t.Run(by, func(t *testing.T) {
				t.Parallel()
				h := newTestHome(t, who)
				raises(h, append(h.rehearsing(scenarioFile(t, overspent)), "--max-cost", overspentLimit))
				lines := h.replayed()
				r, ok := lines[len(lines)-1].Body.(contract.Result)
				testkit.Check(t, ok && sums(r, "It was spun."), "the end: %+v", lines[len(lines)-1])
			})
		}
	})
}

// tells waits until the log of the only run there has a text.
func (h *testHome) tells(text string) {
	h.t.Helper()
	testkit.Await(h.t, text, func() bool {
		runs := h.runs()
		return len(runs) == 1 && strings.Contains(h.output("replay", runs[0]), text)
	})
}

// TestLimitQuestionOverMCP: a model cannot raise a limit. The human is asked with a form, and chooses.
func TestLimitQuestionOverMCP(t *testing.T) {
	for _, option := range []string{"raise", "finish"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			var forms []string
			choose := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				forms = append(forms, r.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": option}}, nil
			}
			args := append([]string{"--", "--max-cost", overspentLimit}, h.rehearsing(scenarioFile(t, overspent))...)
			client := h.serves(nil, args...)
			v := client.sees("start_run", map[string]any{"task": "Weave"})
			v = client.waitsFor(v, "limit", new([]string))
			answer := map[string]any{"run": v.Run, "choice": option}
			said := textOfResult(client.call("answer", answer, true))
			testkit.Includes(t, "the model reads", said, "not for you", "arbiter choose")
			u := h.serves(&mcp.ClientOptions{ElicitationHandler: choose}, args...)
			u.call("answer", answer, false)
			want := map[string]string{"raise": contract.StatusComplete, "finish": contract.StatusLimit}[option]
			if option == "raise" {
				u.call("answer", map[string]any{"run": v.Run, "text": "all is woven"}, false)
			}
			v = u.waitsFor(v, want, new([]string))
			testkit.Check(t, len(forms) != 0 && strings.Contains(forms[0], "may be spent (--max-cost)"), "forms: %q",
				forms)
		})
	}
}

// dollars matches amounts, with their mark if they have one.
var dollars = regexp.MustCompile(`\$\d+\.\d+( simulated)?`)

// TestDollarsOfARehearsalAreMarked: each amount of a rehearsal is marked as simulated, and usage leaves them
// out.
func TestDollarsOfARehearsalAreMarked(t *testing.T) {
	t.Parallel()
	s := standInPlayer.plays(t, "dialogue", "Name it", "--max-cost", "0.0123")
	limits := []string{"$0.0123", "$0.01"} // the limit, and its printed form
	await[contract.Budget](s, "word of the limit", nil)
	printed := func(args ...string) {
		t.Helper()
		out, _ := s.output(0, args...)
		found := dollars.FindAllString(out, -1)
		testkit.Check(t, len(found) != 0, "%v tells no cost:\n%s", args, out)
		for _, amount := range found {
			testkit.Check(t, strings.HasSuffix(amount, " simulated") || slices.Contains(limits, amount) ||
				strings.Contains(strings.ReplaceAll(out, `\`, ""), "raise the limit to "+amount), "%v prints %s:\n%s",
				args, amount, out)
		}
	}
	printed("ps")
	printed("status")
	s.finishesAtLimit()
	s.finish(contract.ExitLimit)
	for _, args := range [][]string{{"report"}, {"report", "--format", "html"}, {"report", "--format", "github"},
		{"sessions", "show"}, {"logs"}} {
		printed(append(args, s.run())...)
	}
	out, _ := s.output(0, "usage")
	testkit.Check(t, !dollars.MatchString(out), "usage counts a rehearsal:\n%s", out)
}

// subagentStorm is a play in which an Orchestrator starts four subagents at once.
var subagentStorm = allowing([]string{"Bash(*)", "Agent"},
	arbiter(append(summons("Spin all four."), complete("spun"))),
	orchestrator("weaver", "", []object{hires("Spin.", "Spin.", "Spin.", "Spin."),
		on("(?s)Denied.*--max-subagents", done("Two are spun."))}),
	subagent(bash("until [ -e go ]; do sleep 0.1; done"), says("It is spun.")))

// nestedStorm is a play in which each subagent starts two more.
var nestedStorm = allowing([]string{"Bash(*)", "Agent"},
	arbiter(append(summons("Spin."), complete("spun"))),
	orchestrator("weaver", "", []object{hires("Spin."), done("Spun.")}),
	subagent(hires("Spin.", "Spin."), says("It is spun.")))

// TestStormsAreBounded: no more subagents work at the same time than allowed, and others are denied before they
// start. An Arbiter that spawns without end reaches the limit of its task.
func TestStormsAreBounded(t *testing.T) {
	for _, who := range players(t) {
		t.Run("subagents/"+who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			s := who.plays(t, scenarioFile(t, subagentStorm), "Spin",
				"--max-subagents", "2")
			began := await[contract.Session](s, "the session", nil)
			for range 2 {
				await[contract.Permission](s, "a denial", func(_ string, b contract.Permission) bool {
					return b.Behavior == "deny" && b.By == contract.ByLimit && strings.Contains(b.Reason, "--max-subagents")
				})
			}
			started := map[string]bool{}
			await[contract.SubagentStart](s, "subagents", func(_ string, b contract.SubagentStart) bool {
				started[b.ToolUse] = true
				return len(started) >= 2
			})
			testkit.OK(t, os.WriteFile(filepath.Join(began.CWD, "go"), nil, 0o600))
			s.finishes("spun")
			testkit.Same(t, "subagents that started", 2, len(collect[contract.SubagentStart](s)))
		})
		t.Run("nested/"+who.name, func(t *testing.T) {
			who.inside(t)
			who.long(t)
			t.Parallel()
			s := who.plays(t, scenarioFile(t, nestedStorm), "Spin",
				"--max-subagents", "3", "--max-subagents-total", "5")
			s.offScript = true // some of the subagents do not start
			s.finishes("spun")
			n := len(collect[contract.SubagentStart](s))
			testkit.Check(t, n <= 5, "%d subagents started, want at most 5", n)
			denied := testkit.Count(collect[contract.Permission](s),
				func(b contract.Permission) bool { return b.Behavior == "deny" && b.By == contract.ByLimit })
			testkit.Check(t, denied != 0, "nothing was denied")
		})
	}
}
