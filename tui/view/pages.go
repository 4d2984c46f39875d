package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// page is the common part of all pages.
type page struct {
	*tview.Box
	look *render.Look
}

func newPage(look *render.Look) page { return page{tview.NewBox(), look} }

// canvas returns the page's rectangle, cleared.
func (p *page) canvas(screen tcell.Screen) render.Canvas {
	c := p.over(screen)
	c.Clear(render.Base)
	return c
}

// over returns the page's rectangle with its previous content.
func (p *page) over(screen tcell.Screen) render.Canvas {
	x, y, w, h := p.GetRect()
	return render.On(screen, x, y, w, h, p.look)
}

func (p *page) local(x, y int) (int, int) {
	left, top, _, _ := p.GetRect()
	return x - left, y - top
}

// column returns the part of a canvas for text: not too wide for reading, with margins if there is room for
// them.
func column(c render.Canvas, most int) render.Canvas {
	w, h := c.Size()
	margin := 0
	if w >= 60 {
		margin = 2
	}
	use := min(w-2*margin, most)
	return c.Sub((w-use)/2, 0, use, h)
}

// header draws a page's title over a rule, and returns the canvas below.
func header(c render.Canvas, title string, right render.Line) render.Canvas {
	w, h := c.Size()
	if h < 4 {
		return c
	}
	x := c.Text(0, 0, title, render.Title)
	if free := w - x - 2; right.Width() <= free {
		c.Right(0, right)
	}
	c.Rule(1, render.Frame)
	gap := 2
	if h >= 14 {
		gap = 3
	}
	return c.Sub(0, gap, w, h-gap)
}

// scroller is a scroll position. The size of the content is known only after it was drawn; until then the
// position may be beyond the end.
type scroller struct{ top, rows, view int }

// Up and Down move by rows.
func (s *scroller) Up(n int)   { s.top = max(s.top-n, 0) }
func (s *scroller) Down(n int) { s.top = min(s.top+n, s.end()) }

// PageUp and PageDown leave one row visible that was visible before.
func (s *scroller) PageUp()   { s.Up(max(s.view-1, 1)) }
func (s *scroller) PageDown() { s.Down(max(s.view-1, 1)) }

// Top and Bottom go to the ends.
func (s *scroller) Top()    { s.top = 0 }
func (s *scroller) Bottom() { s.top = s.end() }

func (s *scroller) end() int { return max(s.rows-s.view, 0) }

func (s *scroller) fit(rows, view int) {
	s.rows, s.view = rows, max(view, 0)
	s.top = max(min(s.top, s.end()), 0)
}

func (s *scroller) below() int { return max(s.rows-s.view-s.top, 0) }

// marks shows in the rightmost column that there is more above and below.
func (s *scroller) marks(c render.Canvas) {
	w, h := c.Size()
	if h < 1 || w < 4 {
		return
	}
	if s.top > 0 {
		c.Text(w-1, 0, c.Look.Glyphs.Less, render.Key)
	}
	if s.below() > 0 {
		c.Text(w-1, h-1, c.Look.Glyphs.More, render.Key)
	}
}

// PageStep is a step of the plan. Status is one of pending, active, done, failed, skipped.
type PageStep struct {
	Text, Status string
	Agent        string // name of the agent that does it
	Mode         string // the mode it is meant for
	Price        string // the forecast of an open step: "≈ $0.40, 6 min"; empty: none
	Touched      bool   // a person has changed it, and has not saved the change
}

// Tasks is a list that an agent keeps for itself.
type Tasks struct {
	Agent string      // name of the agent
	Tone  render.Role // of its name
	Items []PageStep  // pending, active or done
}

// PageAgent is one line of the roster.
type PageAgent struct {
	ID    string // determines the colour of the name
	Name  string // "Orchestrator II"
	Mode  string
	State string      // a word: "weaves", "waits", "is gone"
	Tone  render.Role // of State
	Busy  bool        // a turn runs: animated

	Known  bool // a reading of the context exists
	Tokens int
	Window int
	Pct    float64
	Level  string // "", "warn", "critical"
	Fuse   string // how much of its fuse is spent: "$0.41 of $0.50"; empty: it has none
	Hot    bool   // nearly all of it

	Doing string        // the current activity: a call, the end of what it writes, what it waits for
	Tail  bool          // the end of Doing matters
	Age   time.Duration // how long Doing has lasted, or otherwise State
	Bell  bool          // it waits for the human
	Past  bool          // handed off or ended

	Subagents []Subagent
	Open      bool // they are shown individually

	// What only its tile shows.
	Work  Work
	Root  string // the directory in which it works; paths are relative to it
	Model string // empty: unknown
	Cost  string // empty: none
}

// Subagent is one line below an agent's.
type Subagent struct {
	Name   string
	Doing  string // the current call
	Works  bool
	Failed bool
	Tokens int           // of its own context
	Pct    float64       // in percent of a window like its agent's
	Age    time.Duration // since it was started, or how long it took
}

// StatusData is the content of the status line.
type StatusData struct {
	Word    string      // the state of the program: "weaving"
	Tone    render.Role // of Word: Warn and Bad stand out
	Awaited string      // the awaited agent: "Orchestrator II"; empty: none
	Words   int         // how many inputs of the human are awaited: shown before everything else
	Waiting time.Duration

	Cost     string // empty: nothing has cost anything yet
	Tokens   int
	Elapsed  time.Duration
	Restarts int
	Mode     string   // of the keyboard: "NORMAL"
	Grants   string   // the permission mode: "ask"; empty: unknown, or shown as a warning
	Flash    string   // a recent answer: it replaces the figures
	Fallback string   // who decides in the Arbiter's place: "The rules decide"; empty: nobody
	Quota    string   // how much of the plan is used: "plan 81 %"; empty: not known
	Scarce   bool     // it is nearly used up
	Decider  string   // who decides if not the Arbiter: "hybrid"
	Warnings []string // REHEARSAL, ALLOW ALL: never dropped
}

// PageFinding is one fact that a person should know before a run begins.
type PageFinding struct {
	Label, Text string
	Tone        render.Role
}

// HomeData is the content of the home screen.
type HomeData struct {
	Findings []PageFinding
	Threads  int    // runs that can be resumed
	Newest   string // the title of the last active one
	NewestAt time.Time
	Now      time.Time
	Warnings []string // REHEARSAL, ALLOW ALL
}

// PageChoice is an answer to a dialog.
type PageChoice struct {
	Value        string // what is returned when it is chosen
	Key          rune   // hot key, ignoring case; 0: none
	Label        string
	Irreversible bool // it cannot be undone
	ReadToEnd    bool // accepted only after the end of the body was visible
}

// AskData is a dialog.
type AskData struct {
	Title string
	Tone  render.Role // of frame and title: Alert, Danger, FrameFocus
	List  *AskList    // other items; nil: there are none
	Head  []render.Line
	// Body returns the lines for a width; it is called again for another width.
	Body    func(width int) []render.Line
	Choices []PageChoice
	Focus   int    // the current choice at first
	Note    string // below: the consequences, or how many more wait
	Unread  string // replaces Note until the end of the body was visible
}

// elapsedPage returns a duration in few characters: "8s", "12m", "3h 05m", "2d 4h".
func elapsedPage(d time.Duration) string {
	d = max(d, 0)
	switch s := int(d / time.Second); {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 86400:
		return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd %dh", s/86400, s/3600%24)
	}
}

// PageRunning returns a growing duration in few characters: "8s", "2m 05s", "1h 05m".
func PageRunning(d time.Duration) string {
	if s := int(d / time.Second); s >= 60 && s < 3600 {
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return elapsedPage(d)
}

// PageClock returns a growing duration: "0:42", "1:02:03".
func PageClock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Age returns how long ago something was, in few characters; empty: it is unknown.
func Age(then, now time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return ""
	case d < 14*24*time.Hour:
		return elapsedPage(d)
	}
	return then.Format("2 Jan 2006")
}

// ShortName returns an agent's name for little room: "Orch. II".
func ShortName(name string) string {
	if number, ok := strings.CutPrefix(name, "Orchestrator "); ok {
		return "Orch. " + number
	}
	return name
}

// StepMark returns the mark of a step in a status, and the role of its text.
func StepMark(g *render.Glyphs, status string) (mark render.Span, text render.Role) {
	switch status {
	case "done":
		return render.Span{Text: g.Done, Role: render.Good}, render.Dim
	case "active":
		return render.Span{Text: g.Current, Role: render.Active}, render.Strong
	case "failed":
		return render.Span{Text: g.Failed, Role: render.Bad}, render.Base
	case "skipped":
		return render.Span{Text: g.Skipped, Role: render.Pending}, render.Dim
	}
	return render.Span{Text: g.Pending, Role: render.Pending}, render.Base
}

func padPage(s string, columns int, ellipsis string) string {
	s = render.Shorten(s, columns, ellipsis)
	return s + spaces(columns-render.Width(s))
}

func padLeft(s string, columns int, ellipsis string) string {
	s = render.Shorten(s, columns, ellipsis)
	return spaces(columns-render.Width(s)) + s
}
