package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// lookPage is one way to draw a page.
func lookPage(t testing.TB, theme string, g *render.Glyphs) *render.Look {
	th, err := render.NewTheme(theme, render.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	return &render.Look{Theme: th, Glyphs: g}
}

// pageBegan is when a bubble's clock begins.
var pageBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var runs = []PageRun{
	{ID: "r-1", Title: "Give the invoices a total in every currency", Status: "needs input", Tone: render.Alert,
		LastActive: pageBegan.Add(-3 * time.Minute), Bytes: 1_204_332},
	{ID: "r-2", Title: "請求書に通貨ごとの合計を出す 🧾 そして監査記録も書く", Status: "stopped", Tone: render.Dim,
		LastActive: pageBegan.Add(-5 * time.Hour), Bytes: 48_119, Rehearsal: true},
	{ID: "r-3", Title: "مرحبا بالعالم — a title that is written from the right", Status: "limit", Tone: render.Warn,
		LastActive: pageBegan.Add(-26 * time.Hour), Bytes: 83_400_120},
	{ID: "r-4", Title: "", Status: "failed", Tone: render.Bad, LastActive: pageBegan.AddDate(0, -2, -3), Bytes: 312},
}

var steps = []PageStep{
	{Text: "Read what there is, and say what is missing", Status: "done", Agent: "Orchestrator I"},
	{Text: "Write the currency table and its tests", Status: "done", Agent: "Orchestrator I"},
	{Text: "Sum the lines of an invoice per currency, round as the law of each country wants it, and keep the sums " +
		"apart until they are shown", Status: "active", Agent: "Orchestrator II", Mode: "implement"},
	{Text: "Print the sums under the lines", Status: "active", Agent: "Orchestrator III"},
	{Text: "Import the rates from the bank", Status: "failed"},
	{Text: "監査記録を書く", Status: "pending"},
	{Text: "Show the sums in the web view", Status: "skipped"},
	{Text: "Write the manual's chapter", Status: "pending", Mode: "document"},
	{Text: "Verify the whole with fresh eyes", Status: "pending"},
}

var tasks = []Tasks{{Agent: "Orchestrator II", Tone: render.SpeakerOrch2, Items: []PageStep{
	{Text: "Look the law of Switzerland up", Status: "done"}, {Text: "Round to five Rappen", Status: "active"},
	{Text: "Prove it", Status: "pending"},
}}}

var pageAgents = []PageAgent{
	{ID: "arbiter", Name: "Arbiter", State: "listens", Tone: render.Dim, Known: true, Tokens: 48_212, Window: 300_000,
		Pct: 16.07, Age: 4 * time.Minute},
	{ID: "orch-1", Name: "Orchestrator I", Mode: "plan", State: "handed on", Tone: render.Dim, Known: true,
		Tokens: 255_120, Window: 300_000, Pct: 85.04, Level: "critical", Age: 41 * time.Minute, Past: true},
	{ID: "orch-2", Name: "Orchestrator II", Mode: "implement", State: "weaves", Tone: render.Active, Busy: true,
		Known: true, Tokens: 214_800, Window: 300_000, Pct: 71.6, Level: "warn",
		Doing: "Agent: write the rounding tests for the Swiss franc", Age: 52 * time.Second},
	{ID: "orch-3", Name: "Orchestrator III", Mode: "verify", State: "asks leave", Tone: render.Alert, Bell: true,
		Known: true, Tokens: 9_120, Window: 300_000, Pct: 3.04, Doing: "Bash: go test ./...", Age: 12 * time.Second},
	{ID: "orch-4", Name: "Orchestrator IV", Mode: "研究", State: "wakes", Tone: render.Dim},
}

var findings = []PageFinding{
	{"claude", "2.1.329", render.Base},
	{"login", "ada@example.org", render.Good},
	{"workspace", "~/src/invoices", render.Base},
	{"trust", "not trusted yet: you will be asked", render.Warn},
	{"model", "opus", render.Base},
}

var helpGroups = []HelpGroup{
	{"Writing", []HelpRow{{"Enter", "send"}, {"Shift+Enter, Alt+Enter, Ctrl+J", "a new line"},
		{"Up, Down", "what was written before"},
		{"Ctrl+G", "write in your own editor ($EDITOR), and come back with what you wrote"},
		{"Tab", "complete a path, a command, a name"}}},
	{"Moving", []HelpRow{{"j, k", "a line down, up"}, {"g, G", "to the top, to the end"},
		{"Ctrl+D, Ctrl+U", "half a page"}, {"/", "search"}, {"n, N", "the next match, the one before"}}},
	{"Looking", []HelpRow{{"Tab", "the next agent"}, {"o", "the logbook"}, {"p", "the plan in full"},
		{"Space", "fold, unfold"}}},
	{"Ruling", []HelpRow{{"/summon MODE TASK", "summon an Orchestrator"},
		{"/stop [AGENT]", "interrupt what is under way"}, {"/steer TEXT", "a word that is heard at once"},
		{"/kill AGENT", "end an agent"}}},
	{"Leaving", []HelpRow{{"Ctrl+C", "leave, after a question"}, {"Ctrl+Z", "suspend"}}},
}

// permit asks for the permission to run a command.
func permit() AskData {
	return AskData{
		Title: "Leave is asked", Tone: render.Alert,
		Head: []render.Line{{{Text: "Orchestrator III", Role: render.Speaker("orch-3")},
			{Text: " wants to run a command:", Role: render.Base}}},
		Body: func(w int) (lines []render.Line) {
			lines = render.WrapText(render.Code, "go test ./... && rm -rf build/cache", w)
			for i := range 12 {
				lines = append(lines,
					render.WrapText(render.Dim, fmt.Sprintf("line %d of the reason, which is [red]long[-] and 全角", i+1),
						w)...)
			}
			return lines
		},
		Choices: []PageChoice{{"yes", 'y', "Allow once", false, false}, {"run", 'a', "Allow for this run", true, false},
			{"no", 'n', "Refuse", false, false}, {"why", 'w', "Refuse, and say why", false, false}},
		Focus: 2,
		Note:  "No rule speaks of it. 2 more requests wait.",
	}
}

// runStrips draws the strips like the screen of a run.
type runStrips struct {
	*tview.Box
	roster *PageRoster
	strip  *PlanStrip
	status *PageStatus
}

func (p *runStrips) Draw(s tcell.Screen) {
	x, y, w, h := p.GetRect()
	a := p.roster.Rows(min(max(h/3, 1), h))
	b := p.strip.Rows(max(min(max(h/4, 1), h-a-2), 0))
	p.roster.SetRect(x, y, w, a)
	p.strip.SetRect(x, y+a+1, w, b)
	p.status.SetRect(x, y+h-1, w, min(h, 1))
	for _, d := range []tview.Primitive{p.roster, p.strip, p.status} {
		d.Draw(s)
	}
}

func newRunStrips(l *render.Look) *runStrips {
	p := &runStrips{tview.NewBox(), NewRoster(l), NewPlanStrip(l), NewStatus(l)}
	p.roster.Set(pageAgents)
	p.roster.Select("orch-3")
	p.strip.Set(steps, tasks)
	p.status.Set(StatusData{Word: "Weaving", Awaited: "Orchestrator II", Waiting: 4 * time.Minute, CostUSD: 3.417,
		Tokens: 1_284_000, Elapsed: 83*time.Minute + 7*time.Second, Restarts: 1, Mode: "NORMAL", Hint: "? help",
		Warnings: []string{"REHEARSAL"}})
	return p
}

// everyPage contains the pages for TestPages and for fuzzing.
var everyPage = map[string]func(*render.Look) tview.Primitive{
	"oracle": func(l *render.Look) tview.Primitive {
		p := NewHome(l)
		p.Set(HomeData{Words: []string{"Speak, mortal."}, Findings: findings, Threads: len(runs), Newest: runs[0],
			Hint: "Ctrl+R", Now: pageBegan})
		return p
	},
	"oracle-bare": func(l *render.Look) tview.Primitive {
		p := NewHome(l)
		p.Set(HomeData{Words: []string{"Patience."}, Now: pageBegan, Warnings: []string{"REHEARSAL", "ALLOW ALL"}})
		return p
	},
	"firstrun": func(l *render.Look) tview.Primitive { return NewFirstRun(l) },
	"login": func(l *render.Look) tview.Primitive {
		p := NewFirstRun(l)
		p.Set(FirstRunData{Lack: LoggedOut, Version: "2.1.329", Path: "/usr/local/bin/claude", Busy: true})
		p.Down(2)
		return p
	},
	"sessions": func(l *render.Look) tview.Primitive {
		p := NewSessions(l)
		p.Set(runs, pageBegan)
		p.Down(1)
		return p
	},
	"plan": func(l *render.Look) tview.Primitive {
		p := NewPlan(l)
		p.Set(PlanData{Task: "Give the invoices a total in every currency they have lines in.", Steps: steps,
			Tasks: tasks})
		return p
	},
	"help": func(l *render.Look) tview.Primitive {
		p := NewHelp(l)
		p.Set("the weaving", helpGroups)
		return p
	},
	"ask": func(l *render.Look) tview.Primitive {
		p := NewAsk(l)
		p.Set(permit())
		return p
	},
	"weaving": func(l *render.Look) tview.Primitive { return newRunStrips(l) },
}

// pageWords are what each page says at every size.
var pageWords = map[string][]string{
	"oracle": {"Speak, mortal.", "4 threads"}, "oracle-bare": {"Patience.", "REHEARSAL", "ALLOW ALL"},
	"firstrun": {"Rehearse", "Quit"}, "login": {"Log in", "Rehearse"}, "sessions": {"請求書", "stopped"},
	"plan": {"Give the invoices", "Read what there is"}, "help": {"HELP", "Enter"},
	"ask":     {"y Allow once", "a Allow for this run", "▸n Refuse", "w Refuse, and say why", "go test"},
	"weaving": {"III", "asks leave", "Weaving", "REHEARSAL"},
}

// TestPages: at every size each page is whole and says what it must; in ASCII and without colours it has neither other
// characters nor colours. package tui compares pictures of the same pages with golden files.
func TestPages(t *testing.T) {
	written := strings.Join([]string{runs[1].Title, runs[2].Title, steps[5].Text, pageAgents[4].Mode}, "") + "全角"
	for name, page := range everyPage {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}, {200, 50}, {57, 19}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				tuitest.Play(t, size[0], size[1], func(s *tuitest.Stage) {
					s.Show(page(lookPage(t, "dark", render.Unicode)))
					s.ExpectSound()
					s.ExpectFramed()
					s.Expect(pageWords[name]...)
				})
				tuitest.Play(t, size[0], size[1], func(s *tuitest.Stage) {
					s.Show(page(lookPage(t, "mono", render.ASCII)))
					s.ExpectSound()
					s.ExpectPlain(written)
				})
			})
		}
	}
}
