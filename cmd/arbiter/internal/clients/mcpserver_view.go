package clients

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Limits for what a model gets at once.
const (
	maxNews    = 40    // lines
	mcpMaxLine = 300   // runes of a line
	maxText    = 4000  // bytes of a question
	maxTexts   = 12000 // bytes of all texts together, apart from leastText for each
	leastText  = 400
	maxAgents  = 20
	maxWaiting = 20
	lastNews   = 10 // lines of news in a status
)

// Statuses of a run, in addition to those of its result.
const (
	working       = "working"
	inputRequired = "input_required"
)

// MCPView is what a model gets about a run.
type MCPView struct {
	Run     string  `json:"run" jsonschema:"the run's id"`
	Status  string  `json:"status" jsonschema:"working, input_required, interrupted, or how it ended"`
	Next    string  `json:"next" jsonschema:"what to do next"`
	Phase   string  `json:"phase,omitempty" jsonschema:"of the task, while the run is live"`
	Does    string  `json:"does,omitempty" jsonschema:"the same in words"`
	CostUSD float64 `json:"cost_usd"`
	// Simulated: a scripted model plays, and costs are not real.
	Simulated bool       `json:"simulated,omitempty" jsonschema:"a rehearsal: no money is spent"`
	Agents    []MCPAgent `json:"agents,omitempty"`
	Waiting   []MCPItem  `json:"waiting,omitempty" jsonschema:"what waits for an answer, the oldest first"`
	News      []string   `json:"news,omitempty" jsonschema:"what has happened, the oldest first"`
	Cursor    uint64     `json:"cursor" jsonschema:"pass it as since to the next wait"`
	More      bool       `json:"more,omitempty" jsonschema:"there is more news after the cursor: call wait again"`
	Summary   string     `json:"summary,omitempty" jsonschema:"how the run ended"`
	Branch    string     `json:"branch,omitempty" jsonschema:"the branch with the result, if agents worked apart"`
}

// MCPAgent is one of a run's agents.
type MCPAgent struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Host       string  `json:"host,omitempty" jsonschema:"the host that it lives on; absent: the one of the run"`
	Make       string  `json:"make,omitempty" jsonschema:"the make of agent; absent: Claude Code"`
	Status     string  `json:"status"`
	Does       string  `json:"does" jsonschema:"the same in words"`
	ContextPct float64 `json:"context_pct"`
	CostUSD    float64 `json:"cost_usd"`
}

// MCPItem is an item that waits for an answer.
type MCPItem struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind" jsonschema:"question, acceptance, permission, trust or recovery"`
	Agent   string   `json:"agent" jsonschema:"who asks"`
	Host    string   `json:"host,omitempty" jsonschema:"the host that the agent lives on; absent: the one of the run"`
	Text    string   `json:"text"`
	Seconds int      `json:"seconds" jsonschema:"how long it has waited"`
	Choices []string `json:"choices,omitempty"`
	Answer  string   `json:"answer" jsonschema:"how it is answered, and by whom"`
}

// waitingItem converts an inbox item, with advice how to answer it. The text has at most most bytes.
func (s *MCPServer) waitingItem(run string, i control.InboxItem, most int) MCPItem {
	item := MCPItem{ID: i.ID, Kind: i.Kind, Agent: i.Agent, Host: sanitize.Line(i.Host, 60),
		Text: clip(sanitize.Text(i.Text), most), Seconds: int(max(time.Since(i.Since), 0).Seconds()), Choices: i.Choices}
	switch supervisor.InboxKind(i.Kind) {
	case supervisor.InboxPermission:
		if r, err := requestOf(i); err == nil {
			item.Text = clip(s.o.Full(contract.Event{ID: i.Agent, Body: r}), most)
		}
		item.Answer = "The user decides: " + s.o.Typed("allow", run, i.ID) + ", or deny instead of allow."
		if s.o.ModelAnswers {
			item.Answer = "You or the user decide: answer with request and behavior."
		}
	case supervisor.InboxTrust, supervisor.InboxLimit:
		item.Answer = "The user decides: " + s.o.Typed("choose", run, strings.Join(i.Choices, "|"))
	case supervisor.InboxRecovery:
		item.Answer = "Answer with one of the choices as choice."
	default:
		item.Answer = "Answer with text; ask your user if you do not know."
	}
	return item
}

// liveView returns the view of a live run, without news.
func (s *MCPServer) liveView(st control.Status) MCPView {
	v := MCPView{Run: st.Run, Status: working, Phase: phase(st), Does: st.Does, CostUSD: contract.RoundUSD(st.Cost),
		Simulated: st.Rehearsal}
	for _, a := range st.Agents[:min(len(st.Agents), maxAgents)] {
		v.Agents = append(v.Agents, MCPAgent{ID: a.ID, Name: sanitize.Line(a.Name, 60),
			Host: sanitize.Line(a.Host, 60), Make: sanitize.Line(a.Make, 60), Status: a.Status, Does: a.Does,
			ContextPct: math.Round(a.Context*10) / 10,
			CostUSD:    contract.RoundUSD(a.Cost)})
	}
	rest := maxTexts
	for _, i := range st.Inbox[:min(len(st.Inbox), maxWaiting)] {
		item := s.waitingItem(st.Run, i, max(min(maxText, rest), leastText))
		rest -= len(item.Text)
		v.Waiting = append(v.Waiting, item)
		if !i.Optional {
			v.Status = inputRequired
		}
	}
	v.Next = nextOf(v.Status)
	if more := len(st.Inbox) - maxWaiting; more > 0 {
		v.Next += fmt.Sprintf(" %d more wait, which are shown when these are answered.", more)
	}
	return v
}

func phase(st control.Status) string {
	switch {
	case st.Halted:
		return "halted"
	case st.Paused:
		return "paused"
	}
	return st.Phase
}

func nextOf(status string) string {
	switch status {
	case working:
		return "Call wait with the cursor as since."
	case inputRequired:
		return "See answer of each item in waiting; then call wait with the cursor as since."
	}
	return ""
}

// endedView returns the view of a run that no process plays. result is nil if the last process that played the run
// reported none.
func endedView(info journal.Info, result *contract.Result) MCPView {
	v := MCPView{Run: info.Run, Status: contract.StatusInterrupted, Simulated: info.Rehearsal}
	if result != nil {
		v.Status = result.Status
		v.Summary = clip(sanitize.Text(result.Summary), maxText)
		v.CostUSD = contract.RoundUSD(result.CostUSD)
		if result.Changes != nil {
			v.Branch = sanitize.Line(result.Changes.Branch, mcpMaxLine)
		}
	} else {
		v.Summary = "The process of the run has ended without a result: it was killed, or the machine went down."
	}
	switch {
	case info.Unfinished && v.Status == contract.StatusInterrupted:
		v.Next = "resume_run continues it from where it stopped; nothing is lost."
	case info.Unfinished:
		v.Next = "It has ended, and resume_run continues it; report shows what it did."
	default:
		v.Next = "It has ended: report shows what it did."
	}
	if info.Problem != "" {
		v.Summary, v.Next = cmp.Or(v.Summary, sanitize.Line(info.Problem, mcpMaxLine)), "It cannot be resumed: "+
			sanitize.Line(info.Problem, mcpMaxLine)
	}
	return v
}

// awaits reports whether an item is newer than a time.
func awaits(list []control.InboxItem, after time.Time) bool {
	return slices.ContainsFunc(list, func(i control.InboxItem) bool { return i.Since.After(after) })
}

// clip cuts a text to a number of bytes at the end of a rune, and marks the cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + " … (cut here)"
}

// news collects the events of a run after a cursor. It reads only the event log, so the result does not depend on
// which process plays the run, or on restarts.
type news struct {
	log    *journal.EventLog
	line   func(contract.Event) string
	from   journal.LogPosition
	cursor uint64    // the number of the last line read
	at     time.Time // time of the last line that a model was shown; zero: none of this process
	lines  []string
	more   bool
	last   int // number of last lines wanted; 0: all after the cursor
}

// maxRead is how many lines readLast reads at most.
const maxRead = 10_000

// openNews opens a run's event log after a cursor. The caller closes the log.
func (s *MCPServer) openNews(ctx context.Context, run string, since uint64) (*news, error) {
	log, err := s.o.Runs.Log(run)
	if err != nil {
		return nil, err
	}
	n := &news{log: log, line: s.o.Line}
	if since > 0 {
		err = log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
			if e.N > since {
				return true
			}
			n.from, n.cursor, n.at = e.Next(), e.N, e.At
			return false
		})
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return n, nil
}

// read collects new lines, up to the number that a model is shown at once.
func (n *news) read(ctx context.Context) error {
	if n.more {
		return nil
	}
	if n.last > 0 {
		return n.readLast(ctx)
	}
	health, err := n.log.Each(ctx, n.from, func(e journal.LogEntry) error {
		if line := n.render(e); line != "" {
			if len(n.lines) == maxNews {
				n.more = true
				return journal.ErrEnough
			}
			n.lines = append(n.lines, line)
		}
		n.from, n.cursor = e.Next(), e.N
		return nil
	})
	if err == nil && health.Next.Offset > n.from.Offset {
		n.from = health.Next
	}
	return err
}

// render renders an entry as one line; empty: it is not for a model.
func (n *news) render(e journal.LogEntry) string {
	if e.Line == nil {
		return ""
	}
	event, err := contract.DecodeWritten(e.Line)
	if _, again := event.Body.(contract.Session); again {
		n.at = time.Time{} // a resumed run asks its open questions again
	}
	if err != nil || !worth(event.Body) {
		return ""
	}
	return sanitize.Line(n.line(event), mcpMaxLine)
}

// readLast collects the last lines.
func (n *news) readLast(ctx context.Context) error {
	read := 0
	n.lines = nil
	err := n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		n.cursor = max(n.cursor, e.N)
		if line := n.render(e); line != "" {
			n.lines = append(n.lines, line)
		}
		read++
		return len(n.lines) < n.last && read < maxRead
	})
	slices.Reverse(n.lines)
	return err
}

// result returns the result of the last process that played the run; nil if it reported none.
func (n *news) result(ctx context.Context) (result *contract.Result, err error) {
	err = n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		if e.Line == nil {
			return true
		}
		event, bad := contract.DecodeWritten(e.Line)
		if bad != nil {
			return true
		}
		switch b := event.Body.(type) {
		case contract.Result:
			result = &b
			return false
		case contract.Session:
			return false
		}
		return true
	})
	return result, err
}

// worth reports whether an event is shown to a model: it sees the work, but not each tool call.
func worth(b contract.Body) bool {
	switch b := b.(type) {
	case contract.ToolCall, contract.Rejected, contract.Withdrawn, contract.Compact, contract.ContextWarning:
		return false
	case contract.Session:
		return b.Resumed
	case contract.Permission:
		return b.By == contract.Human
	case contract.Notice:
		return true
	}
	return !contract.Narrates(b) && !contract.Fine(b)
}

func (n *news) fill(v *MCPView) {
	v.News, v.Cursor, v.More = n.lines, n.cursor, n.more
	if n.more {
		v.Next = "Call wait again with the cursor as since: there is more news."
	}
}
