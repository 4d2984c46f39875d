package view

// This part of the package converts the state of a run to what the pages of the screen show: rows of agents,
// steps of the plan, the status line, who is awaited. Its functions are pure, and sanitise all text of agents
// in the state.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// AgentRows lists the agents: the Arbiter, the running ones, and the last few that have ended. waits is what waits for
// a person, work what is known of an agent beyond the state.
func AgentRows(
	s *supervisor.State, waits []supervisor.InboxItem, work func(id string) Work, now time.Time,
) []PageAgent {
	const past = 2
	gone := 0
	for _, a := range s.Agents {
		if SlashOver(a) {
			gone++
		}
	}
	var list []PageAgent
	for _, a := range s.Agents {
		if SlashOver(a) {
			if gone--; gone >= past {
				continue
			}
		}
		list = append(list, AgentRow(s, a, waits, work(a.ID), now))
	}
	return list
}

// AgentRow returns the line of one agent.
func AgentRow(s *supervisor.State, a *supervisor.Agent, waits []supervisor.InboxItem, w Work, now time.Time) PageAgent {
	text, since := eventtext.AgentState(s, a, waits)
	tone := cmp.Or(stateTones[text], render.Dim)
	if s.WasInterrupted() && a.Alive() {
		since = now
	}
	stall := a.Waiting()
	if a.Takeover != nil || s.Halted || s.Lifecycle.AwaitsTrust(a.Host) || s.Ending != nil {
		stall = nil
	}
	line := PageAgent{
		ID: a.ID, Name: eventtext.Whole(SlashWord(a.Name), a.Host, a.Make), Mode: SlashWord(a.Mode),
		State: text, Tone: tone,
		Busy:  a.Status == supervisor.AgentBusy && stall == nil,
		Known: a.Context.Window > 0 && a.Context.Tokens > 0, Tokens: a.Context.Tokens, Window: a.Context.Window,
		Pct: a.Context.Pct, Level: a.WarnedLevel,
		Age: max(now.Sub(since), 0), Past: SlashOver(a) || a.Status == supervisor.AgentEnded,
		Subagents: subagents(a, w, now),
		Work:      w, Root: SnapshotRoot(s, a), Model: SnapshotModel(s, a),
	}
	line.Cost = eventtext.Total(a.Spent(), s.Options.Rehearsal, a.CostUnknown)
	if a.Fuse.USD > 0 {
		line.Fuse = eventtext.Dollars(a.FuseSpent()) + " of " + eventtext.Dollars(a.Fuse.USD) +
			eventtext.Simulated(s.Options.Rehearsal)
		line.Hot = a.Fuse.Level != ""
	}
	switch {
	case stall != nil:
		line.Doing, line.Age = fmt.Sprintf("%s, attempt %d", countdown(stall, now), stall.Attempt), 0
		if word := stall.Trouble(); word != "" {
			line.State, line.Tone = word, render.Warn
		}
	case a.Status == supervisor.AgentBusy:
		var at time.Time
		if line.Doing, at, line.Tail = doing(s, a, w, now); !at.IsZero() {
			line.Age = max(now.Sub(at), 0)
		}
		switch {
		case a.Watch.Hung:
			line.Tone = render.Bad
		case a.Watch.Silent && now.Sub(w.Seen) >= s.Options.QuietAfter:
			line.State, line.Tone = "quiet", render.Warn
		}
	}
	for _, i := range slices.Backward(waits) { // the oldest one overwrites the others
		asks := i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
		switch {
		case i.Kind == supervisor.InboxPermission && i.Agent == a.ID, asks && a.Role == supervisor.RoleArbiter:
			line.State = text
		case i.Kind == supervisor.InboxRecovery && i.Agent == a.ID:
			line.Bell = true
			continue
		default:
			continue
		}
		line.Bell, line.Tone, line.Age = true, render.Alert, i.Age(now)
		line.Doing, line.Tail = asked(i, SnapshotRoot(s, a)), false
	}
	if a.Role == supervisor.RoleArbiter && s.Rulings.FallbackReason != "" && s.Ending == nil && !line.Bell {
		line.State, line.Tone = "rules no more", render.Warn
		line.Doing = sanitize.Line(s.Rulings.FallbackReason, 200)
	}
	return line
}

// asked describes on one line what the human is asked; for a permission request, the call.
func asked(i supervisor.InboxItem, root string) string {
	if r := i.Request; i.Kind == supervisor.InboxPermission && r != nil {
		return callWords(eventtext.ToolName(r.Tool), eventtext.Summary(r.Tool, r.Input), root)
	}
	return eventtext.Plain(sanitize.Line(words.FirstLine(strings.TrimSpace(i.Text)), 400))
}

// stateTones are the roles of words for what an agent does; that of others is Dim.
var stateTones = map[string]render.Role{
	"starts again": render.Warn, "parked": render.Bad, "works": render.Active, "done": render.Good,
	"awaits a reply": render.Pending, "interrupted": render.Bad, "halted": render.Bad, "needs your trust": render.Alert,
	"its host is not usable": render.Bad, "its host is lost": render.Warn, "waits for its host": render.Warn,
	"in your hands": render.Alert, "is given back": render.Warn, "is being handed over": render.Warn,
}

// awaited returns for whom the run waits, for how many words of the human, and since when.
func awaited(
	s *supervisor.State, waits []supervisor.InboxItem, now time.Time,
) (who string, words int, since time.Duration) {
	if s.Ending != nil || s.Halted {
		return "", 0, 0
	}
	if len(waits) > 0 {
		return "you", len(waits), waits[0].Age(now)
	}
	var busy []string
	var first time.Time
	for _, a := range s.Agents {
		if a.Status != supervisor.AgentBusy && a.Status != supervisor.AgentStarting && a.Status != supervisor.AgentDown &&
			a.Status != supervisor.AgentRestarting {
			continue
		}
		if a.Role == supervisor.RoleArbiter && a.Status == supervisor.AgentStarting && s.Task.Text == "" {
			continue
		}
		if b := a.Waiting(); b != nil && b.Trouble() != "" {
			continue
		}
		busy = append(busy, SlashName(s, a.ID))
		if first.IsZero() || a.Since.Before(first) {
			first = a.Since
		}
	}
	switch len(busy) {
	case 0:
		return "", 0, 0
	case 1, 2:
		who = strings.Join(busy, " and ")
	default:
		who = fmt.Sprintf("%s and %d more", busy[0], len(busy)-1)
	}
	return who, 0, max(now.Sub(first), 0)
}

// NextFrame returns how soon the next frame of an animation is due; 0: nothing moves.
func NextFrame(s *supervisor.State, waits []supervisor.InboxItem, still bool) time.Duration {
	if s == nil || s.Ending != nil && s.Ending.Said {
		return 0
	}
	if len(waits) > 0 && !s.Halted || still {
		return time.Second // displayed times advance
	}
	for _, a := range s.Agents {
		if a.Status == supervisor.AgentBusy && a.Waiting() == nil { // a countdown ticks once a second
			return MotionFrame
		}
	}
	return time.Second
}

// MotionFrame is the time between two frames of the quiet animation. A frame of 200 by 50 cells costs about
// 4 ms of CPU time: with two per second, figures included, a waiting screen stays below 1 % of a processor.
const MotionFrame = 500 * time.Millisecond

func countdown(b *supervisor.AgentBackoff, now time.Time) string {
	left := b.Until.Sub(now)
	if left <= 0 {
		return "trying again"
	}
	return "again in " + PageClock(left+time.Second-time.Nanosecond) // never 0:00
}

// Stalled returns the wait that ends first, if no agent works and the run waits only for the API.
func Stalled(s *supervisor.State, waits []supervisor.InboxItem) *supervisor.AgentBackoff {
	var first *supervisor.AgentBackoff
	for _, a := range s.Agents {
		b := a.Waiting()
		if b != nil && b.Trouble() != "" && (first == nil || b.Until.Before(first.Until)) {
			first = b
		}
	}
	if first == nil || s.Ending != nil || s.Halted {
		return nil
	}
	if who, _, _ := awaited(s, waits, time.Time{}); who != "" {
		return nil
	}
	return first
}

// Inbox lists what waits for a person, oldest first; it is empty once the run ends.
func Inbox(s *supervisor.State) []supervisor.InboxItem {
	if s == nil || s.Ending != nil {
		return nil
	}
	return supervisor.Awaited(supervisor.InboxOf(s))
}

// PricesOf is the month of the list prices in the table of models.
const PricesOf = "2026-10"

// ModelTitle is the title of a list of models.
const ModelTitle = "Model: $/M tokens, prices of " + PricesOf

// ModelInfo is a model that can be chosen. Unknown values are zero, and shown as unknown.
type ModelInfo struct {
	Name    string
	In, Out float64 // list price in US dollars of a million tokens, as of PricesOf
	From    bool    // In and Out are those of short prompts; long ones cost more
	Window  int     // tokens
	CostUSD float64 // in this run
	Chosen  bool    // an agent of the run has it
}

// listed are models with public list prices, and the names that Claude Code resolves itself. Other names
// work too, but nothing is known of them. The prices are from the page of each model in the documentation
// of the Claude API, platform.claude.com/docs/en/models/NAME/overview, read in November 2026; those of 4.5
// models are older.
var listed = []ModelInfo{
	{Name: "opus"}, {Name: "sonnet"}, {Name: "haiku"},
	{Name: "claude-fable-5-1", In: 10, Out: 50}, {Name: "claude-opus-5-5", In: 4, Out: 20},
	{Name: "claude-sonnet-5-5", In: 2, Out: 10}, {Name: "claude-haiku-5-5", In: 0.1, Out: 0.5, From: true},
	{Name: "claude-opus-5", In: 5, Out: 25}, {Name: "claude-sonnet-5", In: 2, Out: 10},
	{Name: "claude-opus-4-5", In: 5, Out: 25}, {Name: "claude-sonnet-4-5", In: 3, Out: 15},
	{Name: "claude-haiku-4-5", In: 1, Out: 5},
}

// SnapshotModels lists the models that can be chosen: those of the run first, with what Claude Code reported about
// them. used is what each has cost so far.
func SnapshotModels(s *supervisor.State, used []contract.ModelCost) []ModelInfo {
	var list []ModelInfo
	at := func(name string) *ModelInfo {
		i := slices.IndexFunc(list, func(m ModelInfo) bool { return m.Name == name })
		if i < 0 {
			i = len(list)
			m := ModelInfo{Name: name}
			for _, known := range listed {
				if known.Name == name || known.In > 0 && strings.HasPrefix(name, known.Name+"-20") { // with its date
					m.In, m.Out, m.From = known.In, known.Out, known.From
				}
			}
			list = append(list, m)
		}
		return &list[i]
	}
	for _, u := range used {
		m := at(SlashWord(u.Model))
		m.Window, m.CostUSD = max(m.Window, u.Window), m.CostUSD+u.CostUSD
	}
	if s != nil {
		for _, a := range s.Agents {
			if name := SlashWord(SnapshotModel(s, a)); name != "" && a.Alive() {
				at(name).Chosen = true
			}
		}
	}
	for _, known := range listed {
		at(known.Name)
	}
	return list
}

// About describes a model in a line: price, window, and what it cost in this run.
func (m ModelInfo) About() string {
	parts := []string{"price unknown", "window unknown"}
	if m.In > 0 {
		parts[0] = fmt.Sprintf("$%s in, $%s out", dollars(m.In), dollars(m.Out))
		if m.From {
			parts[0] = "from " + parts[0]
		}
	}
	if m.Window > 0 {
		parts[1] = words.Tokens(m.Window) + " window"
	}
	if m.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f here", m.CostUSD))
	}
	if m.Chosen {
		parts = append(parts, "in use")
	}
	return strings.Join(parts, "; ")
}

func dollars(usd float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00") }

// PriceNote names the sources of the figures of [SnapshotModels].
const PriceNote = "List prices of a million tokens, " + PricesOf +
	"; windows and costs as Claude Code reported them in this run."

// ModelsText lists the models in words.
func ModelsText(s *supervisor.State, used []contract.ModelCost) string {
	var b strings.Builder
	for _, m := range SnapshotModels(s, used) {
		fmt.Fprintf(&b, "%s: %s\n", m.Name, m.About())
	}
	return b.String() + PriceNote + " /model NAME changes the model of all agents, /model NAME AGENT of one; any " +
		"other name that Claude Code knows works, too."
}

// Now describes what each agent does, for how long, how full its context is and what it has cost: the
// content of the tiles as plain lines.
func Now(s *supervisor.State, work func(id string) Work, now time.Time) string {
	if s == nil {
		return "There is no run yet."
	}
	var b strings.Builder
	for _, row := range AgentRows(s, Inbox(s), work, now) {
		if row.Past {
			continue
		}
		b.WriteString("- **" + row.Name + "**")
		if row.Mode != "" {
			b.WriteString(" (" + row.Mode + ")")
		}
		b.WriteString(": " + sentence(row) + figures(row) + ".\n")
		for _, sub := range row.Subagents {
			b.WriteString("  - " + subagentWords(sub) + "\n")
		}
	}
	if b.Len() == 0 {
		b.WriteString("No agent is at work.\n")
	}
	fmt.Fprintf(&b, "\nPermission mode: %s.", eventtext.One(s.Options.Permissions, eventtext.MaxName))
	return b.String()
}

// sentence describes what an agent does, and for how long.
func sentence(row PageAgent) string {
	text, doing := row.State, verbatim(row.Doing)
	switch {
	case row.Bell && doing != "":
		text += ": " + doing
	case row.Busy && row.Tail:
		text = "writes: " + row.Doing
	case row.Busy && doing != "":
		text = doing
	case doing != "":
		text += ", " + doing
	}
	if row.Age >= time.Second && !row.Tail {
		text += ", for " + eventtext.Span(row.Age.Truncate(time.Second))
	}
	return text
}

func figures(row PageAgent) string {
	text := ""
	if row.Known {
		text += "; context " + eventtext.Percent(row.Pct)
	}
	text += eventtext.After(", ", row.Cost)
	if row.Fuse != "" {
		text += ", fuse " + row.Fuse
	}
	return text
}

func subagentWords(sub Subagent) string {
	text := verbatim(sub.Name) + ": "
	switch {
	case sub.Failed:
		text += "failed"
	case !sub.Works:
		text += "done"
	case sub.Doing != "":
		text += verbatim(sub.Doing)
	default:
		text += "at work"
	}
	text += ", for " + eventtext.Span(sub.Age.Truncate(time.Second))
	return text + eventtext.After(", ", eventtext.TokenCount(sub.Tokens))
}

// SnapshotSteps converts steps of a plan, or of an agent's own list, for the pages.
func SnapshotSteps(s *supervisor.State, plan []contract.Step) []PageStep {
	var list []PageStep
	for _, p := range plan {
		step := PageStep{Text: beginning(p.Text, mostOfStep), Status: p.Status, Mode: SlashWord(p.Mode)}
		if p.Agent != "" {
			step.Agent = SlashName(s, p.Agent)
		}
		if p.Status == contract.StepPending || p.Status == contract.StepActive {
			step.Price = eventtext.Price(supervisor.ForecastOf(&s.Options, p.Mode))
		}
		list = append(list, step)
	}
	return list
}

// Bounds of texts that may have any length: they are wrapped for each frame.
const (
	mostOfStep = 4 << 10
	mostOfTask = 32 << 10
)

// beginning returns the beginning of a text, sanitised.
func beginning(text string, most int) string {
	if len(text) <= most {
		return sanitize.Text(text)
	}
	return sanitize.Text(strings.ToValidUTF8(text[:most], "")) + "…"
}

// SnapshotTasks returns the agents' own lists.
func SnapshotTasks(s *supervisor.State) []Tasks {
	var list []Tasks
	for _, t := range s.Task.AgentTasks {
		if len(t.Items) > 0 {
			list = append(list, Tasks{Agent: SlashName(s, t.Agent), Tone: render.Speaker(t.Agent),
				Items: SnapshotSteps(s, t.Items)})
		}
	}
	return list
}

// TaskText returns the part of a task's text that is shown.
func TaskText(text string) string { return beginning(text, mostOfTask) }

// SnapshotScene returns the agents as figures. rows are those of [AgentRows]; human is the figure of the person,
// who appears when an agent waits for one.
func SnapshotScene(s *supervisor.State, rows []PageAgent, human RitualKind, now time.Time) Scene {
	open := slices.DeleteFunc(slices.Clone(s.Task.Plan), func(s contract.Step) bool {
		return s.Status == contract.StepDone || s.Status == contract.StepSkipped
	})
	all := len(s.Task.Plan)
	picture := Scene{Cloth: float64(all-len(open)) / float64(max(all, 1))}
	asks := false
	for _, row := range rows {
		a := AgentOf(s, row.ID)
		if a == nil {
			continue
		}
		f := Figure{ID: row.ID, Label: row.Name, Pose: pose(a, row), Age: max(now.Sub(a.Since), 0)}
		asks = asks || f.Pose == RitualAsks
		if a.Role == supervisor.RoleArbiter {
			picture.Arbiter = f
			continue
		}
		if _, number, ok := strings.Cut(f.Label, " "); ok {
			f.Label, _, _ = strings.Cut(number, " ") // the number of an Orchestrator, without its host
		}
		picture.Workers = append(picture.Workers, f)
	}
	if asks {
		picture.Humans = []RitualHuman{{Kind: human, Label: "you", At: 1}}
	}
	return picture
}

func pose(a *supervisor.Agent, row PageAgent) Pose {
	switch {
	case row.Bell:
		return RitualAsks
	case row.Past:
		return RitualLeaves
	case a.Status == supervisor.AgentStarting || a.Status == supervisor.AgentRestarting ||
		a.Status == supervisor.AgentDown:
		return RitualWakes
	case a.Role == supervisor.RoleOrchestrator && (a.Standing == supervisor.HandedOff ||
		a.Standing == supervisor.AgentFinished):
		return RitualHands
	case row.Busy:
		return RitualWorks
	}
	return RitualWaits
}

// runTones are the roles of words for what a run does.
var runTones = map[string]render.Role{
	"Idle": render.StatusBarStrong, "Choosing": render.StatusBarStrong, "Working": render.StatusBarStrong,
	"Evaluating": render.StatusBarStrong, "Complete": render.Good, "Failed": render.Bad,
	"Interrupted": render.Bad, "Halted": render.Bad,
}

// SnapshotStatus returns the status line of a run.
func SnapshotStatus(s *supervisor.State, waits []supervisor.InboxItem, now time.Time) StatusData {
	used, o, all := s.Used(), &s.Options, s.Options.Permissions == string(runconfig.ModeAllowAll)
	d := StatusData{
		Word:     eventtext.RunState(s, now),
		Tokens:   used.Input + used.Output + used.CacheRead + used.CacheCreation,
		Elapsed:  elapsedSnapshot(s, now),
		Restarts: s.Lifecycle.Crashes,
		Warnings: Warnings(o.Rehearsal, all, o.Sandbox == nil && (all || o.SandboxReason != "")),
	}
	if s.Spent() > 0 || d.Elapsed > 0 {
		d.Cost = runCost(s, eventtext.Dollars(s.Spent()))
	}
	known := false
	if d.Decider, known = deciderWords[s.Options.Decider]; !known {
		d.Decider = "decides: " + SlashWord(s.Options.Decider)
	}
	if s.Rulings.FallbackReason != "" && s.Ending == nil {
		d.Fallback = "The rules decide"
	}
	d.Tone = cmp.Or(runTones[d.Word], render.Warn)
	if d.Word == eventtext.Phase(s.Task.Phase) {
		if b := Stalled(s, waits); b != nil {
			d.Word, d.Tone = b.Trouble()+", "+countdown(b, now), render.Warn
		}
	}
	d.Quota, d.Scarce = quotaWord(s, now)
	d.Awaited, d.Words, d.Waiting = awaited(s, waits, now)
	return d
}

// runCost marks what a run has cost.
func runCost(s *supervisor.State, amount string) string {
	return eventtext.Costs(amount, s.Options.Rehearsal, s.CostUnknown())
}

// quotaWord describes how much of the fullest usage window is used; scarce reports that it is nearly used
// up.
func quotaWord(s *supervisor.State, now time.Time) (word string, scarce bool) {
	w, ok := s.Budget.Fullest(now)
	if !ok {
		return "", false
	}
	word, scarce = fmt.Sprintf("plan %.0f %%", w.UsedPct), w.UsedPct >= supervisor.WarnPct
	if left, ok := w.Forecast(); ok && scarce {
		word += ", " + fmt.Sprintf("%d min left", int(left.Minutes()))
	}
	return word, scarce
}

// deciderWords name who decides, if not the Arbiter.
var deciderWords = map[string]string{"": "", runconfig.DeciderSession: "",
	runconfig.DeciderStateless: "a model decides",
	runconfig.DeciderHybrid:    "rules, else a model decide", runconfig.DeciderRules: "the rules decide"}

// elapsedSnapshot returns how long the run has been active, in all its processes.
func elapsedSnapshot(s *supervisor.State, now time.Time) time.Duration {
	if s.Budget.Runtime.ProcessBegan.IsZero() {
		return 0
	}
	end := now
	if s.Ending != nil && s.Ending.Said {
		end = s.Budget.Runtime.LastAt
	}
	return s.Budget.Runtime.Elapsed(end)
}

// Warnings returns the warnings that must always be visible.
func Warnings(rehearsal, allowAll, unsandboxed bool) (list []string) {
	if rehearsal {
		list = append(list, "REHEARSAL")
	}
	if allowAll {
		list = append(list, "ALLOW ALL")
	}
	if unsandboxed {
		list = append(list, "UNSANDBOXED")
	}
	return list
}

// Confinement summarizes the restrictions of a run's agents: what they may do, what confines them, and
// whether files of the workspace are loaded.
func Confinement(o *runconfig.Options, g *render.Glyphs) render.Line {
	sep := " " + g.Separator + " "
	var l render.Line
	if mode := SlashWord(o.Permissions); mode == string(runconfig.ModeAllowAll) {
		l = render.Of(render.Danger, mode).Append(render.Dim, sep)
	} else if mode != "" {
		l = render.Of(render.Dim, mode+sep)
	}
	switch {
	case o.Sandbox != nil:
		l = l.Append(render.Dim, "sandbox")
	case o.Permissions == string(runconfig.ModeAllowAll) || o.SandboxReason != "":
		l = l.Append(render.Warn, "no sandbox")
	default:
		l = l.Append(render.Dim, "no sandbox")
	}
	if o.Trusted {
		return l.Append(render.Dim, sep+"trusted")
	}
	return l.Append(render.Dim, sep+"not trusted")
}

// Work is what is known of an agent beyond the state: what it does, and the end of what it writes.
type Work struct {
	eventtext.AgentActivity
	Writing string
}

// silentAfter is how long a working agent may be silent before the screen shows it. Long thoughts are
// silent, so it does not count as a problem yet.
const silentAfter = 2 * time.Minute

// doing describes what an agent does in its running turn, and since when. tail reports that the end of the
// text matters.
func doing(s *supervisor.State, a *supervisor.Agent, w Work, now time.Time) (text string, since time.Time, tail bool) {
	if n := w.Working(); n > 0 {
		first := w.Subagents[slices.IndexFunc(w.Subagents, eventtext.SubagentActivity.Works)]
		if text = first.Name; n > 1 {
			text = words.CountOf(n, s.Options.MaxSubagents, "subagent") + ": " + text
		}
		return text, first.Began, false
	}
	root := SnapshotRoot(s, a)
	if r := w.Running(); r.Call() {
		return callWords(r.Tool, r.Summary, root), r.At, false
	}
	if c := a.ToolCall; c != nil && !c.Cut { // of a run that was joined while it was running
		return callWords(eventtext.ToolName(c.Tool), eventtext.One(c.What, eventtext.MaxSummary), root), c.Since, false
	}
	written := strings.TrimRight(w.Writing, " \t\n") // its last line is shown
	if text := sanitize.Line(strings.TrimSpace(written[strings.LastIndexByte(written, '\n')+1:]), 400); text != "" {
		return text, time.Time{}, true
	}
	since = a.Since
	if w.Seen.After(since) {
		since = w.Seen
	}
	switch {
	case a.Watch.Hung:
		return "gives no sign of life", since, false
	case now.Sub(since) >= silentAfter:
		return supervisor.LifecycleThinking + ", without a word", since, false
	}
	return supervisor.LifecycleThinking, since, false
}

// callWords describes a call on one line, with paths relative to the workspace.
func callWords(tool, what, root string) string {
	return strings.TrimSpace(tool + " " + eventtext.Relative(root, what))
}

// SnapshotRoot returns the directory in which an agent works.
func SnapshotRoot(s *supervisor.State, a *supervisor.Agent) string {
	if a.Isolation != "" && a.Isolation != runconfig.IsolationShared && s.Options.Workspace.Own != "" {
		return s.Options.Workspace.Dir(a.ID)
	}
	return s.Options.CWD
}

// SnapshotModel returns the model that was set for an agent; empty: none was set.
func SnapshotModel(s *supervisor.State, a *supervisor.Agent) string {
	model := s.Options.Model
	if a.Role == supervisor.RoleArbiter && s.Options.ArbiterModel != "" {
		model = s.Options.ArbiterModel
	}
	for _, m := range Modes(s) {
		if m.Name == a.Mode && m.Model != "" && m.Model != "inherit" {
			model = m.Model
		}
	}
	if a.Model != "" {
		model = a.Model
	}
	return sanitize.Line(model, 40)
}

func subagents(a *supervisor.Agent, w Work, now time.Time) []Subagent {
	var list []Subagent
	for _, sub := range w.Subagents {
		line := Subagent{Name: sub.Name, Works: sub.Works(), Failed: sub.Failed, Tokens: sub.Tokens}
		if line.Works {
			line.Age = max(now.Sub(sub.Began), 0)
			line.Doing = callWords(sub.Doing.Tool, sub.Doing.Summary, "")
		} else {
			line.Age = max(sub.Ended.Sub(sub.Began), 0)
		}
		if a.Context.Window > 0 {
			line.Pct = 100 * float64(sub.Tokens) / float64(a.Context.Window)
		}
		list = append(list, line)
	}
	return list
}
