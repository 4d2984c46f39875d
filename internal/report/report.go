package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Report is the content of a report. Its JSON form is the format json.
type Report struct {
	Run        string          `json:"run"`
	Directory  string          `json:"directory"`
	Status     string          `json:"status"` // of the result; live, interrupted, never_began or damaged without one
	Rehearsal  bool            `json:"rehearsal,omitempty"`
	Began      time.Time       `json:"began"`
	Ended      time.Time       `json:"ended"` // the last event
	DurationMS int64           `json:"duration_ms"`
	Tasks      []string        `json:"tasks"`
	Messages   []string        `json:"said"` // messages of the human other than tasks
	Summary    string          `json:"summary"`
	Plan       []contract.Step `json:"plan"`
	Milestones []Milestone     `json:"milestones"`
	Changes    Changes         `json:"changes"`
	Acceptance []Criterion     `json:"acceptance"`
	Checks     []Check         `json:"checks"`
	Decisions  []Decision      `json:"decisions"`
	Answers    []Answer        `json:"answers,omitempty"`
	Agents     []Agent         `json:"agents"`
	CostUSD    float64         `json:"cost_usd"`
	Usage      bridge.Usage    `json:"usage"`
	Open       []Open          `json:"open"`
	Notes      []string        `json:"notes"` // what the report omits, and why

	ForkedFrom *contract.Fork `json:"forked_from,omitempty"` // its costs are a part of CostUSD

	mask       func(string) string
	incomplete bool // it has cost more, and nobody knows how much
}

// Milestone is what an agent reported when it had reached something.
type Milestone struct {
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Kind  string    `json:"kind"` // done, handoff, complete or report
	Text  string    `json:"text"`
}

// Changes are the files that differ between the beginning of the run and its end.
type Changes struct {
	Files   []File `json:"files"`
	Added   int    `json:"added"` // lines, in all files, also those that are not listed
	Deleted int    `json:"deleted"`
	Count   int    `json:"count"`             // of files
	Missing string `json:"missing,omitempty"` // why nothing is known
	Branch  string `json:"branch,omitempty"`
	Head    string `json:"head,omitempty"`
}

// File is a changed file.
type File struct {
	Path    string   `json:"path"`
	Old     string   `json:"old,omitempty"` // previous path of a renamed file
	Status  string   `json:"status"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`
	Binary  bool     `json:"binary,omitempty"`
	Agents  []string `json:"agents,omitempty"`
}

// Criterion is an acceptance criterion with its last result.
type Criterion contract.Acceptance

// Check is a check of a hand-off document with its last receipt.
type Check struct {
	Agent      string `json:"agent"`
	Command    string `json:"command"`
	Expect     string `json:"expect"`
	Result     string `json:"result"` // passed, failed, unrun or unclear
	Exit       int    `json:"exit"`
	SHA256     string `json:"sha256,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Output     string `json:"output,omitempty"` // the end of it, of a check that did not pass
	Why        string `json:"why,omitempty"`
	Final      bool   `json:"final"` // it ran once more before the run was complete
}

// Decision is a ruling with its reason.
type Decision struct {
	Number   int      `json:"number,omitempty"`
	Decision string   `json:"decision"`
	To       string   `json:"to,omitempty"`
	Mode     string   `json:"mode,omitempty"`
	Reason   string   `json:"reason"`
	Source   string   `json:"source"`
	Warnings []string `json:"warnings,omitempty"`
}

// Answer is what the human decided about a tool call.
type Answer struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	Text  string `json:"text"`
}

// Agent is an agent with what it used.
type Agent struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Mode        string       `json:"mode,omitempty"`
	Host        string       `json:"host,omitempty"` // its last host; empty: the one of the run
	SuccessorOf string       `json:"successor_of,omitempty"`
	Turns       int          `json:"turns"`
	Restarts    int          `json:"restarts"`
	Handoffs    int          `json:"handoffs"`
	Done        int          `json:"done"` // how often it reported that its work is done
	CostUSD     float64      `json:"cost_usd"`
	Usage       bridge.Usage `json:"usage"`
}

// tokenCount returns how many tokens were used, including those of the cache.
func tokenCount(u bridge.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheCreation }

// Open is something unsettled at the end of the run. Its kind is question, criterion, check, conflict, step, work,
// error, or point: the supervisor found it, and the Arbiter completed the task all the same.
type Open struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Failed reports whether a criterion, a check or the run failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Acceptance, func(c Criterion) bool { return c.Status == "failed" }) ||
		slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Result == "failed" }) ||
		slices.Contains([]string{contract.StatusFailed, contract.StatusIncomplete, contract.StatusLimit}, r.Status)
}

// Bounds of a report. Notes counts what exceeds them.
const (
	maxList   = 200
	maxFiles  = 1000
	maxText   = 4000 // bytes
	maxReason = 500
)

// Collector builds a report from events, in the order in which they were reported.
type Collector struct {
	mask      func(string) string
	r         Report
	agents    map[string]*Agent
	order     []string
	questions map[string]string // open ones, by id
	merges    map[string]string // unresolved conflicts, by what was merged
	lastError string            // the last error since the last message of a human, unless its agent has gone on
	errorOf   string            // whose error it is
	files     map[string]int    // the indexes of changed files, by path
	dropped   map[string]int
	uncounted []string // agents whose costs nobody knows completely
	result    *contract.Result
	spending  Spending
	between   time.Duration // the processes of the run, which does not count
}

// NewCollector returns a collector. mask masks the secrets that the caller knows.
func NewCollector(mask func(string) string) *Collector {
	return &Collector{
		mask: mask, agents: map[string]*Agent{}, questions: map[string]string{}, merges: map[string]string{},
		files: map[string]int{}, dropped: map[string]int{},
	}
}

// Take adds an event. line is its line in the format of the contract. Unknown events are ignored; an
// invalid line is an error.
func (c *Collector) Take(at time.Time, line []byte) (err error) {
	var e contract.Event
	if wanted[contract.EventNameOf(line)] {
		e, err = contract.DecodeWritten(line)
	}
	c.event(at, e)
	return err
}

// TakeLine adds a line of `arbiter --json`.
func (c *Collector) TakeLine(line []byte) error {
	l, err := contract.DecodeLine(line)
	if err == nil {
		c.event(l.Time, l.Event)
	}
	return err
}

// wanted are the events that a report uses.
var wanted = map[string]bool{
	"session": true, "spawn": true, "message": true, "cost": true, "turn": true, "done": true, "check": true,
	"handoff": true, "decision": true, "plan": true, "permission": true, "question": true,
	"settled": true, "restart": true, "error": true, "result": true, "acceptance": true, "changes": true, "merge": true,
}

// event adds an event. Of one that a report does not use, the time counts.
func (c *Collector) event(at time.Time, e contract.Event) {
	if c.r.Began.IsZero() {
		c.r.Began = at
	}
	before := c.r.Ended
	c.r.Ended = at
	c.spending.event(at, e)
	switch b := e.Body.(type) {
	case contract.Session:
		if !before.IsZero() {
			c.between += at.Sub(before)
		}
		c.r.Run, c.r.Directory, c.r.Rehearsal = c.line(b.Session), c.line(b.CWD), b.Rehearsal
		c.result, c.r.ForkedFrom = nil, b.ForkedFrom // the run was resumed
	case contract.Spawn:
		a := c.agent(e.ID)
		a.Name, a.Mode, a.SuccessorOf, a.Host = c.line(b.Name), c.line(b.Mode), c.line(b.SuccessorOf), c.line(b.Host)
	case contract.Message:
		c.message(at, b)
	case contract.Restart:
		if a := c.agents[c.line(e.ID)]; a != nil { // otherwise it is the bridge
			a.Restarts++
		}
	case contract.Turn:
		if b.Outcome == bridge.TurnDone && c.errorOf == e.ID {
			c.lastError = ""
		}
		if id := c.line(e.ID); b.Unknown && !slices.Contains(c.uncounted, id) {
			c.uncounted = append(c.uncounted, id)
		}
	case contract.Check:
		c.check(e.ID, b)
	case contract.Handoff:
		if b.To != contract.Arbiter || e.ID == contract.Arbiter {
			c.agent(e.ID).Handoffs++
		}
	case contract.Decision:
		c.decision(b)
	case contract.Permission:
		if b.By == contract.Human {
			c.r.Answers = bounded(c, "answers", c.r.Answers, Answer{c.line(e.ID), c.line(b.Tool), c.line(b.Answered())},
				maxList)
		}
	case contract.Plan:
		c.plan(b)
	case contract.Acceptance:
		c.acceptance(Criterion(b))
	case contract.Changes:
		c.changes(b)
	case contract.Merge:
		c.merge(c.line(e.ID), b)
	case contract.Question:
		c.questions[b.Question] = c.text(b.Text)
	case contract.Settled:
		delete(c.questions, b.Item)
	case contract.Error:
		c.lastError, c.errorOf = c.text(b.Message), e.ID
	case contract.Result:
		c.result = &b
	}
}

func (c *Collector) agent(id string) *Agent {
	id = c.line(id)
	a := c.agents[id]
	if a == nil {
		a = &Agent{ID: id, Name: id}
		if len(c.order) >= maxList { // it is counted, but not listed
			c.dropped["agents"]++
			c.agents[id] = a
			return a
		}
		c.agents[id], c.order = a, append(c.order, id)
	}
	return a
}

func (c *Collector) message(at time.Time, m contract.Message) {
	if m.From == contract.Human {
		c.lastError = ""
		switch {
		case m.Kind == supervisor.KindTask && !m.Edited:
			c.r.Tasks = bounded(c, "tasks", c.r.Tasks, c.text(m.Text), maxList)
		case m.Kind == supervisor.KindTask && len(c.r.Tasks) > 0:
			c.r.Tasks[len(c.r.Tasks)-1] = c.text(m.Text)
		default:
			c.r.Messages = bounded(c, "words of the human", c.r.Messages, c.text(m.Text), maxList)
		}
		return
	}
	reached := m.Kind == verdict.KindDone || m.Kind == verdict.KindHandoff
	toHuman := m.To == contract.Human && (m.Kind == supervisor.KindComplete || m.Kind == supervisor.KindReport)
	if !reached && !toHuman {
		return
	}
	if m.Kind == verdict.KindDone {
		c.agent(m.From).Done++
	}
	text, _, _ := strings.Cut(m.Text, "\n## ") // the report has the document's checks
	c.r.Milestones = bounded(c, "milestones", c.r.Milestones, Milestone{At: at.UTC(), Agent: c.line(m.From),
		Kind: m.Kind, Text: c.text(text)}, maxList)
}

// check keeps the last receipt of each check.
func (c *Collector) check(agent string, b contract.Check) {
	x := b.Receipt
	check := Check{
		Agent: c.line(agent), Command: c.text(x.Command), Expect: c.cut(x.Expect, maxReason),
		Result: c.line(x.Result), Exit: x.Exit,
		SHA256: c.line(x.SHA256), DurationMS: x.DurationMS, Why: c.cut(x.Why, maxReason), Final: b.Again,
	}
	if len(b.Agents) > 0 {
		check.Why += "; last to change its files: " + c.line(strings.Join(b.Agents, ", "))
	}
	if x.Before != "" {
		check.Why += "; " + c.line(x.Before)
	}
	check.Why = strings.TrimPrefix(check.Why, "; ")
	if x.Result != verdict.CheckPassed {
		check.Output = c.cut(x.Output, 2*maxReason)
	}
	c.r.Checks = slices.DeleteFunc(c.r.Checks, func(o Check) bool {
		return o.Command == check.Command && o.Expect == check.Expect
	})
	c.r.Checks = bounded(c, "checks", c.r.Checks, check, maxList)
}

func (c *Collector) decision(b contract.Decision) {
	d := Decision{
		Number: b.Number, Decision: c.line(b.Decision), To: c.line(b.To), Mode: c.line(b.Mode),
		Reason: c.cut(b.Reason, maxReason), Source: c.line(b.Source),
	}
	for _, w := range b.Warnings[:min(len(b.Warnings), 5)] {
		d.Warnings = append(d.Warnings, c.cut(w, maxReason))
	}
	c.r.Decisions = bounded(c, "decisions", c.r.Decisions, d, maxList)
}

func (c *Collector) plan(b contract.Plan) {
	c.r.Plan = nil
	delete(c.dropped, "steps of the plan")
	for _, s := range b.Steps {
		step := contract.Step{Text: c.cut(s.Text, maxReason), Status: c.line(s.Status), Agent: c.line(s.Agent),
			Mode: c.line(s.Mode)}
		c.r.Plan = bounded(c, "steps of the plan", c.r.Plan, step, maxList)
	}
}

// bounded adds to a list of which only the last entries are kept.
func bounded[T any](c *Collector, what string, list []T, entry T, most int) []T {
	if len(list) >= most {
		c.dropped[what]++
		list = list[1:]
	}
	return append(list, entry)
}

// text prepares a text of several lines for a report.
func (c *Collector) text(s string) string { return c.cut(s, maxText) }

func (c *Collector) cut(s string, most int) string {
	const enough = 64 << 10 // the rest would be cut anyway, masked or not
	s = strings.TrimSpace(sanitize.Text(c.mask(s[:min(len(s), enough)])))
	return words.Head(strings.ReplaceAll(s, "\r", ""), most)
}

// line prepares a text of one line.
func (c *Collector) line(s string) string {
	return sanitize.Line(c.mask(s[:min(len(s), maxText)]), maxReason)
}

// Report returns the report. status is the state of the run, for a run that has reported no result.
func (c *Collector) Report(status string) *Report {
	r := c.r
	r.Status, r.mask = status, c.mask
	rows := slices.Clone(c.spending.Rows)
	for id, b := range c.spending.Running {
		rows = append(rows, Row{Agent: id, CostUSD: b.CostUSD, Usage: b.Usage})
	}
	rows, total := GroupSpending(SpendingAgent, rows)
	r.CostUSD, r.Usage = total.CostUSD, total.Usage
	for _, id := range c.order {
		a := *c.agents[id]
		if i := slices.IndexFunc(rows, func(r Row) bool { return c.line(r.Agent) == id }); i >= 0 {
			a.Turns, a.CostUSD, a.Usage = rows[i].Turns, rows[i].CostUSD, rows[i].Usage
		}
		r.Agents = append(r.Agents, a)
	}
	r.DurationMS = max((r.Ended.Sub(r.Began) - c.between).Milliseconds(), 0)
	r.Began, r.Ended = r.Began.UTC(), r.Ended.UTC()
	if b := c.result; b != nil {
		r.Status, r.Summary, r.CostUSD, r.Usage, r.DurationMS = c.line(b.Status), c.text(b.Summary),
			contract.RoundUSD(b.CostUSD), b.Usage, b.DurationMS
		if b.Changes != nil {
			r.Changes.Branch, r.Changes.Head = c.line(b.Changes.Branch), c.line(b.Changes.Head)
		}
	}
	r.Changes.Files = slices.Clone(r.Changes.Files)
	r.Open = c.open(r)
	for _, what := range slices.Sorted(maps.Keys(c.dropped)) {
		r.Notes = append(r.Notes, fmt.Sprintf("Only the last %s are listed; %d more are left out.", what,
			c.dropped[what]))
	}
	if r.incomplete = len(c.uncounted) > 0; r.incomplete {
		r.Notes = append(r.Notes, "The costs are not complete: what "+strings.Join(c.uncounted, ", ")+" cost is not known.")
	}
	// So that JSON shows lists without entries as empty.
	r.Tasks, r.Messages, r.Notes = orEmpty(r.Tasks), orEmpty(r.Messages), orEmpty(r.Notes)
	r.Plan, r.Milestones, r.Acceptance = orEmpty(r.Plan), orEmpty(r.Milestones), orEmpty(r.Acceptance)
	r.Checks, r.Decisions, r.Agents = orEmpty(r.Checks), orEmpty(r.Decisions), orEmpty(r.Agents)
	r.Open, r.Changes.Files = orEmpty(r.Open), orEmpty(r.Changes.Files)
	return &r
}

// open lists what is unsettled.
func (c *Collector) open(r Report) []Open {
	var list []Open
	add := func(kind, text string) { list = append(list, Open{kind, text}) }
	for _, id := range slices.Sorted(maps.Keys(c.questions)) {
		add("question", c.questions[id])
	}
	for _, x := range r.Acceptance {
		switch {
		case x.Status == "failed":
			add("criterion", fmt.Sprintf("failed (exit code %d): %s", x.ExitCode, x.Text))
		case x.Status != "passed":
			add("criterion", "unproven: "+x.Text)
		}
	}
	for _, x := range r.Checks {
		if x.Result != verdict.CheckPassed {
			add("check", fmt.Sprintf("%s: %s: %s", x.Result, x.Agent, sanitize.Line(cmp.Or(x.Why, x.Command),
				maxReason)))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(c.merges)) {
		add("conflict", c.merges[what])
	}
	for i, s := range r.Plan {
		if s.Status != contract.StepDone && s.Status != contract.StepSkipped {
			add("step", fmt.Sprintf("step %d is %s: %s", i+1, s.Status, s.Text))
		}
	}
	if c.result != nil {
		for _, point := range c.result.Open[:min(len(c.result.Open), maxList)] {
			add("point", c.cut(point, maxReason))
		}
		for _, w := range c.result.InterruptedWork[:min(len(c.result.InterruptedWork), maxList)] {
			add("work", c.cut(w, maxReason))
		}
	}
	if r.Status != contract.StatusComplete && c.lastError != "" {
		add("error", c.lastError)
	}
	return list
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// acceptance keeps the last result of each criterion.
func (c *Collector) acceptance(x Criterion) {
	x.Text, x.Command, x.Before = c.cut(x.Text, maxReason*2), c.text(x.Command), ""
	x.By, x.Status, x.SHA256, x.Tree = c.line(x.By), c.line(x.Status), c.line(x.SHA256), c.line(x.Tree)
	i := slices.IndexFunc(c.r.Acceptance, func(o Criterion) bool { return o.Text == x.Text && o.Command == x.Command })
	if i >= 0 {
		c.r.Acceptance[i] = x
		return
	}
	c.r.Acceptance = bounded(c, "acceptance criteria", c.r.Acceptance, x, maxList)
}

// authors adds the agents that changed a file, with a mark if they are not known to have done so.
func (c *Collector) authors(list []string, f contract.FileChange) []string {
	for _, id := range f.Agents {
		id = c.line(id)
		sure, maybe := slices.Contains(list, id), slices.Index(list, id+"?")
		switch {
		case sure || f.Unsure && maybe >= 0:
		case f.Unsure:
			list = append(list, id+"?")
		case maybe >= 0:
			list[maybe] = id
		default:
			list = append(list, id)
		}
	}
	return list
}

// changes adds the files that a turn changed. Lines that were changed twice count twice: if there are
// snapshots, [Report.SetChanges] replaces these figures.
func (c *Collector) changes(b contract.Changes) {
	for _, f := range b.Files {
		path := sanitize.Line(c.mask(f.Path), maxReason)
		c.r.Changes.Added += f.Added
		c.r.Changes.Deleted += f.Deleted
		i, known := c.files[path]
		if !known {
			if c.r.Changes.Count++; len(c.r.Changes.Files) == maxFiles {
				continue
			}
			i = len(c.r.Changes.Files)
			c.files[path], c.r.Changes.Files = i, append(c.r.Changes.Files, File{Path: path, Old: c.line(f.Old)})
		}
		file := &c.r.Changes.Files[i]
		file.Added, file.Deleted, file.Status = file.Added+f.Added, file.Deleted+f.Deleted, c.line(f.Status)
		file.Agents = c.authors(file.Agents, f)
	}
}

// merge keeps conflicts until the same work was merged.
func (c *Collector) merge(id string, b contract.Merge) {
	delete(c.merges, id)
	if b.Status == "conflict" {
		names := ""
		for i, f := range b.Files {
			if i == 10 {
				names += fmt.Sprintf(" and %d more", len(b.Files)-i)
				break
			}
			names += " " + c.line(f)
		}
		c.merges[id] = "the work of " + id + " could not be merged:" + names
	} else if b.Head != "" {
		c.r.Changes.Head = c.line(b.Head)
	}
}

// SetChanges sets the changes between the snapshots of the run. It replaces those from events, except who made them.
func (r *Report) SetChanges(changes []workspace.Change) {
	name := func(path string) string { return sanitize.Line(r.mask(path), maxReason) }
	by := map[string][]string{}
	for _, f := range r.Changes.Files {
		by[f.Path] = f.Agents
	}
	r.Changes = Changes{Files: []File{}, Count: len(changes), Branch: r.Changes.Branch, Head: r.Changes.Head}
	for _, x := range changes {
		r.Changes.Added += x.Added
		r.Changes.Deleted += x.Deleted
		if len(r.Changes.Files) < maxFiles {
			r.Changes.Files = append(r.Changes.Files, File{
				Path: name(x.Path), Old: name(x.Old), Status: string(x.Status), Added: x.Added, Deleted: x.Deleted,
				Binary: x.Binary, Agents: by[name(x.Path)],
			})
		}
	}
}

// NoChanges sets why changes are unknown, unless events have reported some.
func (r *Report) NoChanges(why string) {
	if r.Changes.Count == 0 {
		r.Changes.Missing = why
	}
}

// receiptColumns is the width of a receipt.
const receiptColumns = 80

// Receipt returns the run in at most eight lines of 80 columns: the task, the work, the proofs, and the
// cost. next is the last line, which says how to continue; it is not cut, because half a command is
// useless. Empty: there is none.
func (r *Report) Receipt(next string) []string {
	var lines []string
	add := func(name, text string) {
		if text = sanitize.Line(text, 0); text != "" {
			lines = append(lines, fit(fmt.Sprintf("%-8s %s", name, text)))
		}
	}
	if n := len(r.Tasks); n > 0 {
		add("asked", words.Title(r.Tasks[n-1]))
	}
	did := r.Status
	if r.Summary != "" {
		did += ": " + r.Summary
	}
	add("done", did)
	add("proved", r.proved())
	add("files", r.changed())
	add("cost", fmt.Sprintf("%s, %s tokens, %s", r.usd(r.CostUSD), words.Tokens(tokenCount(r.Usage)), r.lasted()))
	if n := len(r.Open); n > 0 {
		add("open", words.Count(n, "point")+", first "+r.Open[0].Kind+": "+r.Open[0].Text)
	}
	if next != "" {
		lines = append(lines, next)
	}
	return lines
}

// fit cuts a line to the columns of a receipt.
func fit(line string) string {
	if uniseg.StringWidth(line) <= receiptColumns {
		return line
	}
	var b strings.Builder
	width := 0
	for clusters := uniseg.NewGraphemes(line); clusters.Next(); {
		if width += clusters.Width(); width >= receiptColumns {
			break
		}
		b.WriteString(clusters.Str())
	}
	return b.String() + "…"
}
