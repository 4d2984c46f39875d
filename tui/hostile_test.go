package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// ours matches the beginning of a row of the conversation: arbiter's gutter, and a blank.
var ours = regexp.MustCompile(`^([▌█▸▾ ] |[▌█▸▾]?$)`)

// joined is a text without joiners: a row may end where something was joined.
var joined = strings.NewReplacer("\u200d", "", "\u200c", "")

// expectClean fails if the screen shows characters that a terminal acts on or that hide or reorder, or if
// the conversation leaves its place: left of it there is only arbiter's gutter.
func (s *scene) expectClean(where string) {
	s.T.Helper()
	s.ExpectSound()
	rows := s.Rows()
	for y, row := range rows {
		testkit.Need(s.T, joined.Replace(sanitize.Text(row)) == joined.Replace(row), "%s: row %d has %q", where, y, row)
	}
	if title := s.Screen.GetTitle(); sanitize.Line(title, 80) != title || strings.Contains(title, "$<") {
		s.T.Fatalf("%s: the title is %q", where, title)
	}
	for y, row := range s.talkRows() {
		testkit.Need(s.T, ours.MatchString(row), "%s: row %d of the conversation begins with %q", where, y, row)
	}
}

// talkRows returns the rows of the conversation, if it is visible.
func (s *scene) talkRows() []string {
	rows := s.Rows()
	from := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "────") })
	to := len(rows) - 1
	for to > 0 && !strings.HasPrefix(rows[to], "›") {
		to--
	}
	if s.frontend.root.way >= 0 {
		to-- // the ways out of a failure
	}
	if to > 0 && strings.HasPrefix(rows[to-1], "to ") {
		to-- // the line with the recipient
	}
	if list, _ := s.frontend.root.prompt.input.Popup(80, 8); len(list) > 0 {
		return nil // it covers the conversation
	}
	root := s.frontend.root
	if root.dialogs.open != nil || root.picker.open() || !root.screen().writes() || from < 0 ||
		to <= from {
		return nil
	}
	return rows[from+1 : to]
}

// inFull marks screens that show agents' tool inputs verbatim, character for character: invisible
// characters are written as in JSON.
const inFull = "in full: "

// tour visits every screen, and calls see on each.
func (s *scene) tour(see func(where string)) {
	s.T.Helper()
	look := func(where string, keys ...string) {
		s.T.Helper()
		if s.Ended() {
			s.T.Fatalf("%s: the screen is gone: %v", where, s.ExpectEnd())
		}
		s.Press(keys...)
		see(where)
	}
	look("the weaving")
	look("its head", "Esc", "g")
	look(inFull+"the weaving", "z", "G")
	look(inFull+"a marked block", "K", "K", "Tab")
	look("folded", "z", "i")
	look("the plan", "F3")
	look("its end", "G")
	look("a step that is written", "g", "e")
	look("and kept", "Enter")
	look("a step that is moved", "J", "n")
	look("the mode of a step", "m")
	look("and set", "Down", "Enter")
	look("a plan that was changed", "Esc")
	look("and not saved", "d")
	look("the plan again", "F3")
	look("the modes", "q", "Esc", "a")
	look("their end", "G")
	look("ways out", "q", "Alt+c")
	look("none of them", "Ctrl+C", "n")
	look("whom to summon", "m")
	look("nobody", "Esc")
	look("help", "i", "F1")
	look("the logbook", "q", "F2")
	look(inFull+"the logbook", "z", "g")
	look(inFull+"a page on", "PgDn")
	look(inFull+"as it was told", "d", "g", "PgDn")
	look("the sessions", "d", "z", "q", "F4")
	look("the weaving again", "q")
	for _, agent := range []string{"0", "1", "2"} {
		look("agent "+agent, "Alt+"+agent)
		look(inFull+"agent "+agent, "z")
		look(inFull+"its head", "g")
		s.Press("z", "q", "i")
	}
	for _, c := range []string{"/context", "/cost", "/permissions", "/task"} {
		s.Press("Esc", "i", "Ctrl+U")
		s.Type(c + "\n")
		look(c)
		look("its end", "G")
		s.Press("q")
	}
	for _, c := range []string{"/to ", "/choose ", "/resume ", "/summon ", "@"} {
		s.Press("Esc", "i", "Ctrl+U")
		s.Type(c)
		look("completing "+c, "Tab")
		look("completed "+c, "Tab", "Esc")
	}
	s.Press("Esc", "i", "Ctrl+U")
	look("files", "Ctrl+O")
	look("none of them", "Esc")
	look("leave is asked", "Alt+p")
	look("its end", "PgDn", "PgDn", "PgDn")
	look("all that can be done", "Esc", "Ctrl+P")
	look("what waits", "Esc", "F7")
	look("all of it", "A")
	s.Press("Esc")
}

// reportEverything reports everything to the run that an agent can report, with text in each field.
func (p *fakeRun) reportEverything(n int, text string) {
	quoted := func(s string) string {
		raw := testkit.Must(json.Marshal(s))(p.t)
		return string(raw)
	}
	x, id := quoted("w "+text), fmt.Sprintf("t%d", n)
	p.does("orch-1", bridge.Assistant{Text: text})
	for i, tool := range []string{"Bash", "Edit", "Write", "Grep", "mcp__a__b", text} {
		use := fmt.Sprint(id, i)
		p.does("orch-1",
			bridge.ToolUse{Tool: tool, ToolUse: use,
				Input: []byte(`{"command":` + x + `,"file_path":` + x + `,"old_string":` + x +
					`,"new_string":"y","content":` + x + `,"pattern":` + x + `,"description":` + x + `}`)})
		p.does("orch-1", bridge.ToolResult{ToolUse: use, Text: text, IsError: i == 3})
	}
	p.does("orch-1",
		bridge.ToolUse{Tool: "Agent", ToolUse: id + "s",
			Input: []byte(`{"description":` + x + `,"prompt":` + x + `,"subagent_type":` + x + `}`)})
	p.does("orch-1", bridge.SubagentStart{Description: text, ToolUse: id + "s", Type: text})
	p.does("orch-1", bridge.SubagentProgress{Description: text, ToolUse: id + "s", Tokens: 7, LastTool: text})
	p.does("orch-1", bridge.Assistant{Text: text, Subagent: id + "s"})
	p.does("orch-1", bridge.Error{Category: "internal", Message: text})
	p.does("orch-1", bridge.Retry{Attempt: 1, DelayMS: 5, Reason: text})
	p.does("orch-1",
		bridge.Tasks{Items: []bridge.Task{{Text: text, Status: "in_progress"}, {Text: "w " + text, Status: "pending"}}})
	p.call("arbiter", "set_plan", `{"steps":[{"text":`+x+`,"status":"done"},{"text":`+x+
		`,"status":"active"},{"text":"the end"}]}`)
	p.mu.Lock()
	p.state.Task.Plan[1].Mode, p.state.Task.Plan[2].Mode = text, "w "+text
	p.state.Options.Modes = []agents.Agent{{Name: "weaver", Description: text, Tools: []string{text}, Model: text,
		Source: text}, {Name: "other", Description: text}}
	p.state.Rulings.FallbackReason = text
	p.mu.Unlock()
	p.endTurn("orch-2", reports("question", "q "+text, true))
	p.endTurn("arbiter", decides("CONTINUE", "m "+text, "reason", text))
	p.does("orch-1",
		bridge.Delta{Text: `{"kind":"progress","message":` + quoted("d " + text)[:len(quoted("d "+text))-1],
			Verdict: true})
}

// TestHostileLooksLikeClean: for hostile text of agents, in each place where they can write, the screen
// and the files are the same as for its visible part alone: the
// same cells, the same styles, the same title, and only arbiter's own sequences.
func TestHostileLooksLikeClean(t *testing.T) {
	testkit.WithoutRace(t)
	pictures := func(t *testing.T, text string, size [2]int) (seen []string) {
		play(t, size[0], size[1], func(o *Options, h *fakeHost) {
			o.Notify = render.NotifyOptions{Bell: true, Desktop: true, Finished: true,
				Terminal: render.NotifyTerminal{Protocol: render.NotifyOSC777}}
			o.Still = true // which animation frame a picture shows is random
			h.found.CWD, h.found.Account = "/home/"+sanitize.Line(text, 0), text
			h.found.Runs = []RunInfo{{ID: "01234567-89", Title: text, Status: "interrupted",
				LastActive: time.Date(1999, 12, 31, 20, 0, 0, 0, time.UTC)}}
		}, func(s *scene) {
			s.frontend.screen.OnSend = func(sequence string) {
				if sequence != "" {
					seen = append(seen, sequence)
				}
			}
			s.startWork()
			s.does(func(p *fakeRun) { p.reportEverything(1, text) })
			s.tour(func(where string) {
				s.expectClean(where)
				if !strings.HasPrefix(where, inFull) {
					seen = append(seen, where+"\n"+s.Dump())
				}
			})
			s.Press("Esc", "i", "Ctrl+U")
			s.Type("/save out.md\n")
			saved := s.host.saved["out.md"]
			testkit.Check(t, sanitize.Text(saved) == saved && saved != "", "saved: %q", saved)
			seen = append(seen, saved)
		})
		return seen
	}
	for i, text := range tuitest.Hostile() {
		if i%effort(7, 7, 1) != 0 {
			continue // it takes minutes with the race detector
		}
		if strings.TrimSpace(sanitize.Text(text)) == "" {
			text += "x" // an empty text is shown differently
		}
		clean := sanitize.Text(text)
		size := [][2]int{{80, 24}, {40, 12}, {80, 24}, {40, 12}, {120, 40}}[i%5]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			got, want := pictures(t, text, size), pictures(t, clean, size)
			// The length of the shown part of a long input is counted before it is sanitised; and a line of
			// a log ends at a newline, not at a separator.
			if len(text) > 8<<10 || strings.ContainsAny(text, "\r\u2028") {
				return
			}
			diff := cmp.Diff(want, got)
			testkit.Check(t, diff == "", "%.200q (-clean +hostile):\n%.4000s", text, diff)
		})
	}
}

// stuffed is a run with a test's state and events.
type stuffed struct {
	state *supervisor.State
	done  chan struct{}
}

func (r *stuffed) ID() string                                 { return fakeRunID }
func (r *stuffed) Snapshot() *supervisor.State                { return r.state }
func (r *stuffed) Changed() <-chan struct{}                   { return nil }
func (r *stuffed) Put(context.Context, contract.Command) bool { return true }
func (r *stuffed) Leave()                                     {}
func (r *stuffed) Stop()                                      {}
func (r *stuffed) Halt() string                               { return "" }
func (r *stuffed) Done() <-chan struct{}                      { return r.done }
func (r *stuffed) Outcome() Outcome                           { return Outcome{} }
func (r *stuffed) Silent() (none time.Time)                   { return none }

// hostileFiller fills values of any type with hostile text.
type hostileFiller struct {
	texts []string
	n     int
	now   time.Time
}

func (f *hostileFiller) text() string {
	f.n++
	return f.texts[f.n%len(f.texts)]
}

// holdings are the values that a field may have, by its type's name.
var holdings = map[string][]string{
	"Role": {string(supervisor.RoleArbiter), string(supervisor.RoleOrchestrator)},
	"Status": {string(supervisor.AgentStarting), string(supervisor.AgentDown), string(supervisor.AgentParked),
		string(supervisor.AgentBusy), string(supervisor.AgentReady), string(supervisor.AgentEnded), "\x1b[2J"},
	"Standing": {string(supervisor.AgentWorking), string(supervisor.AgentWaiting), string(supervisor.AgentFinished),
		string(supervisor.HandedOff), "\x1b[2J"},
}

func (f *hostileFiller) fill(v reflect.Value) { testkit.Fill(v, f.leaf) }

func (f *hostileFiller) leaf(v reflect.Value, _ reflect.StructField) bool {
	f.n++
	switch v.Kind() {
	case reflect.String:
		if list := holdings[v.Type().Name()]; list != nil {
			v.SetString(list[f.n%len(list)])
		} else {
			v.SetString(f.text())
		}
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt([]int64{0, 3, -1, 1_000_000_000}[f.n%4])
	case reflect.Uint8, reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.SetUint(uint64(f.n % 5))
	case reflect.Float64:
		v.SetFloat([]float64{0, 71.5, -3, 1e12}[f.n%4])
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			return false
		}
		v.Set(reflect.ValueOf(f.now.Add(-time.Duration(f.n%100) * time.Minute)))
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 3, 3))
			return false
		}
		raw, _ := json.Marshal(map[string]any{"command": f.text(), "file_path": f.text(),
			f.text(): []string{f.text()}})
		v.SetBytes(raw)
	default:
		return v.Kind() == reflect.Interface // none that is shown
	}
	return true
}

// TestEveryFieldIsHostile: every field of the state and of every event, of the findings at the start and of
// file names contains hostile text, including fields that no outsider can write today. No screen shows any
// of it unchanged.
func TestEveryFieldIsHostile(t *testing.T) {
	testkit.WithoutRace(t)
	for seed := range effort(2, 4, 12) {
		f := &hostileFiller{texts: tuitest.Hostile(), n: seed * 31}
		size := sizes[seed%len(sizes)]
		play(t, size[0], size[1], func(o *Options, h *fakeHost) {
			f.now = time.Now()
			o.Notify = render.NotifyOptions{Bell: true, Desktop: true, Finished: true,
				Terminal: render.NotifyTerminal{Protocol: render.NotifyProtocol(seed % 4)}}
			f.fill(reflect.ValueOf(&h.found).Elem())
			h.found.Problem, h.found.Login, h.found.Claude = f.text(), LoginYes, "2 "+f.text()
			h.files = f.texts
			run := &stuffed{state: &supervisor.State{}, done: make(chan struct{})}
			f.fill(reflect.ValueOf(run.state).Elem())
			run.state.Task.Phase, run.state.Ending = machine.Executing, nil
			if seed%2 == 0 {
				for i, id := range []string{"arbiter", "orch-1", "orch-2"} {
					run.state.Agents[i].ID = id
					run.state.Permission.Open[i].Params.ID = id
				}
			}
			h.strange = func(sink runloop.Sink) Run {
				for _, b := range contract.Events() {
					body := reflect.New(reflect.TypeOf(b)).Elem()
					f.fill(body)
					if b, ok := body.Interface().(contract.Error); ok {
						b.RecoveryOptions = run.state.Question.Recovery.Options // so that they are offered
						body.Set(reflect.ValueOf(b))
					}
					for _, id := range []string{"orch-1", "arbiter", f.text()} {
						sink(time.Now(), contract.Event{ID: id, Body: body.Interface().(contract.Body)})
					}
				}
				return run
			}
		}, func(s *scene) {
			s.expectClean("the oracle")
			s.Press("F4")
			s.expectClean("the sessions")
			s.Press("Esc")
			s.Type("Weave\n")
			s.tour(func(where string) { s.expectClean(fmt.Sprintf("seed %d, %s", seed, where)) })
		})
	}
}

// TestFirstScreenIsClean: the version of the CLI and the problems with it may be any text.
func TestFirstScreenIsClean(t *testing.T) {
	testkit.WithoutRace(t)
	for i, text := range tuitest.Hostile() {
		for n, found := range []Findings{{Missing: true, Problem: text, Path: text}, {Problem: text, Path: text},
			{Claude: text + "1", Path: text, Login: LoginNo, CWD: text, Account: text}} {
			if n != i%3 && !testkit.AtNight() {
				continue // by day each text is in one of the findings
			}
			play(t, 80, 24, func(_ *Options, h *fakeHost) { h.found = found }, func(s *scene) {
				s.expectClean("the first screen")
			})
		}
		play(t, 80, 24, func(_ *Options, h *fakeHost) { h.refuse = fmt.Errorf("no: %s", text) }, func(s *scene) {
			s.Type("Weave\n")
			s.expectClean("a refusal")
		})
	}
}

// scrutiny are keys that show where most of the agents' text is, one screen at a time.
var scrutiny = [][]string{{"Esc", "G"}, {"z", "g"}, {"q", "F3"}, {"q", "Alt+1"}, {"q", "F2"}, {"z", "G"},
	{"q", "Esc", "Alt+p"}, {"Esc", "a"}, {"q", "Esc", "i", "/", "t", "o", " "}, {"Esc", "Ctrl+U", "@"},
	{"Esc", "Ctrl+U"}}

// TestModelOutputIsShown: the texts of the corpus in every field of the state, of events and of the
// findings at the start, a few at a time in turn, on the screens that show agents' text. Only arbiter's own
// sequences are sent to the terminal. With -renders each text is tested alone, on all screens.
func TestModelOutputIsShown(t *testing.T) {
	testkit.WithoutRace(t)
	t.Setenv("TERM", "xterm-256color")
	list := corpus.ModelOutput(t, "..")
	group, each, ways := effort(10, 16, 10), effort(2, 1, 5), scrutiny
	most := effort[int64](150, 150, 1<<40) // pictures: by day they show each text, and each way twice
	if *renders >= 20_000 {
		group, each, ways = 1, len(wander), wander
	}
	var n atomic.Int64
	looks, bytes := 0, 0
	texts := func() (some []string) {
		from := looks / each * group
		for i := range group { // which of them a field has, changes from picture to picture
			some = append(some, list[(from+(i+looks)%group)%len(list)].Text)
		}
		looks++
		return some
	}
	for seed := uint64(1); looks/each*group < len(list) && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			bytes += renderTexts(t, seed, hostileSource{rand.New(rand.NewPCG(seed, 9)), nil}, texts, ways, &n, most)
		})
		if t.Failed() {
			t.Logf("at the latest with %s", list[(looks-1)/each*group%len(list)].Name)
		}
	}
	testkit.Check(t, int64(bytes) >= 200*n.Load() && looks/each*group >= len(list),
		"%d bytes were sent for %d pictures of %d of %d texts: nothing was shown", bytes, n.Load(), looks/each*group,
		len(list))
	t.Logf("%d texts, %d looks, %d pictures, %d bytes sent", len(list), looks, n.Load(), bytes)
}
