package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// heartbeat is how often a sign of life is sent to a page, because proxies close silent connections.
const heartbeat = 10 * time.Second

// Tests shorten these times.
var (
	// slowest is how long a browser may take to read one part. A slower browser is disconnected, and connects again
	// after what it has read. So it costs neither the run nor this server anything.
	slowest = 20 * time.Second
	// onceMore is the delay before a stream looks again for a process that plays the run.
	onceMore = time.Second
)

// Kinds of parts that a page is sent: the `event` of a server-sent event.
const (
	partRun     = "run"     // runPart: whether a process plays the run
	partStatus  = "status"  // control.Status
	partEvents  = "lines"   // a list of events, as arbiter --json prints them
	partSkipped = "skipped" // skippedPart: events that are omitted
)

// runPart reports what has happened to the process that plays the run.
type runPart struct {
	Run       string    `json:"run"`
	Title     string    `json:"title"`
	CWD       string    `json:"cwd"`
	Began     time.Time `json:"began"`
	State     string    `json:"state"` // live, silent, ended, interrupted
	Text      string    `json:"text,omitempty"`
	Resumable bool      `json:"resumable,omitempty"`
	Rehearsal bool      `json:"rehearsal,omitempty"` // costs are simulated
}

// States of a run from the page's point of view.
const (
	stateLive        = "live"
	stateSilent      = "silent" // a process holds the run but does not answer
	stateEnded       = "ended"
	stateInterrupted = contract.StatusInterrupted
)

type skippedPart struct {
	Count uint64 `json:"count"`
}

// stream follows the run for one page, until the page is closed.
func (s *WebServer) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, http.StatusServiceUnavailable, "Too many pages follow this run already. Close some of them.")
		return
	}
	at, err := parsePlace(r.Header.Get("Last-Event-ID"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "Last-Event-ID is not an id of this server.")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a reverse proxy
	f := &webFollower{server: s, out: &sink{w: w, rc: http.NewResponseController(w)}, at: at}
	f.follow(r.Context())
}

// sink is the writing end of a page's stream. Only one goroutine writes.
type sink struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error // the first write error; nothing is written after it
}

// send writes a part, with the place after it if there is one.
func (b *sink) send(kind string, place string, part any) {
	raw, err := json.Marshal(part)
	if err != nil {
		b.fail(err)
		return
	}
	var text strings.Builder
	if place != "" {
		fmt.Fprintf(&text, "id: %s\n", place)
	}
	fmt.Fprintf(&text, "event: %s\ndata: %s\n\n", kind, raw)
	b.write(text.String())
}

// beat shows that the connection is alive.
func (b *sink) beat() { b.write(": still here\n\n") }

func (b *sink) write(text string) {
	if b.err != nil {
		return
	}
	// Without deadlines (a test's recorder) a write does not block.
	_ = b.rc.SetWriteDeadline(time.Now().Add(slowest))
	_, err := b.w.Write([]byte(text))
	b.fail(err)
	b.fail(b.rc.Flush())
}

func (b *sink) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// webFollower follows a run for one browser, across the processes that play it.
type webFollower struct {
	server *WebServer
	out    *sink
	at     webPlace
	sent   runPart // the last one sent
	names  map[string]string
	read   time.Time // LastActive of the run when its log was read without a process
}

func (f *webFollower) follow(ctx context.Context) {
	for f.out.err == nil && ctx.Err() == nil {
		info, err := f.server.runs.Find(f.server.run)
		if err != nil {
			f.send(runPart{Run: f.server.run, State: stateSilent, Text: err.Error()})
		} else if info.Live {
			f.live(ctx, info)
		} else {
			f.over(ctx, info)
		}
		f.pause(ctx)
	}
}

// pause waits until the next attempt.
func (f *webFollower) pause(ctx context.Context) {
	select {
	case <-time.After(onceMore):
		f.out.beat()
	case <-ctx.Done():
	}
}

// send sends the state of the process, unless it is unchanged.
func (f *webFollower) send(p runPart) {
	if p.Text = cleanText(p.Text, mostResult); p != f.sent {
		f.sent = p
		f.out.send(partRun, "", p)
	}
}

func about(info journal.Info, state, text string) runPart {
	return runPart{
		Run: info.Run, Title: cleanText(info.Title, mostResult), CWD: cleanText(info.CWD, mostResult),
		Began: info.Began.UTC(), State: state, Text: text, Rehearsal: info.Rehearsal,
	}
}

// over shows a run that no process plays: its events, and how it ended.
func (f *webFollower) over(ctx context.Context, info journal.Info) {
	if info.LastActive.Equal(f.read) {
		return
	}
	if err := f.past(ctx, math.MaxUint64); err != nil {
		f.send(about(info, stateSilent, err.Error()))
		return
	}
	f.read = info.LastActive
	p := about(info, stateEnded, info.Status)
	switch {
	case info.Killed():
		p = about(info, stateInterrupted, "The process that played this run was killed or crashed. Its agents have "+
			"ended with it. Nothing that it recorded is lost.")
	case info.Status == contract.StatusInterrupted:
		p = about(info, stateInterrupted, "This run was stopped, and its agents with it. Nothing that it recorded is lost.")
	}
	p.Resumable = !info.Damaged && !info.Empty
	f.send(p)
}

const (
	// connects is how long the process that plays a run may take to answer.
	connects = 5 * time.Second
	// webBetween is the minimum time between two status requests.
	webBetween = 150 * time.Millisecond
	// waiting is how many parts may wait for a browser. Further parts wait in the run's own queue; if that is full,
	// the run disconnects this client.
	waiting = 8
)

// live follows the process that plays the run until the process or the connection ends.
func (f *webFollower) live(ctx context.Context, info journal.Info) {
	ctx, cancel := context.WithCancel(ctx)
	dialing, connected := context.WithTimeout(ctx, connects)
	client, st, err := f.server.runs.Dial(dialing, f.server.run)
	connected()
	if err != nil {
		cancel()
		f.send(about(info, stateSilent, err.Error()))
		return
	}
	l := &connection{
		webFollower: f, client: client, parts: make(chan any, waiting),
		ask: make(chan struct{}, 1), statuses: make(chan control.Status, 1),
	}
	var asking sync.WaitGroup
	asking.Go(func() { l.askStatus(ctx) })
	defer asking.Wait()
	defer client.Close()
	defer cancel() // runs first: both wait for it
	f.send(about(info, stateLive, ""))
	l.status(st)
	if err := f.catchUp(ctx, st); err != nil {
		f.send(about(info, stateSilent, err.Error()))
		return
	}
	since := int64(f.at.Seq)
	err = client.Subscribe(ctx, control.SubscribeParams{Since: since, Pieces: true}, func(part any) {
		select {
		case l.parts <- part:
		case <-ctx.Done():
		}
	})
	if err == nil {
		l.run(ctx)
	}
}

// connection is a follower's connection to the process that plays the run.
type connection struct {
	*webFollower
	client   *control.Client
	parts    chan any
	ask      chan struct{} // capacity 1
	statuses chan control.Status
	shown    json.RawMessage // the status that the page shows
}

// run passes on what the process sends, until the connection ends.
func (l *connection) run(ctx context.Context) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	for l.out.err == nil {
		select {
		case part := <-l.parts:
			l.pass(part)
		case st := <-l.statuses:
			l.status(st)
		case <-beats.C:
			l.out.beat()
			l.wantStatus() // for changes without an event
		case <-ctx.Done():
			return
		case <-l.client.Done():
			for l.out.err == nil {
				select {
				case part := <-l.parts:
					l.pass(part)
				default:
					return
				}
			}
		}
	}
}

func (l *connection) pass(part any) {
	events, ok := part.(control.Events)
	if !ok {
		return // the end is sent when no process plays the run any more
	}
	if events.Skipped > 0 {
		l.out.send(partSkipped, "", skippedPart{events.Skipped})
	}
	var changed bool
	var list portion
	for _, text := range events.Lines {
		line := []byte(text)
		at := webPlace{Process: l.at.Process, Seq: max(l.at.Seq, seqOf(line)), Set: true}
		changed = changed || contract.EventNameOf(line) != (contract.Delta{}).EventName()
		list.add(l.webFollower, l.line(line), at)
	}
	list.send(l.webFollower)
	if changed {
		l.wantStatus()
	}
}

// wantStatus requests the status soon.
func (l *connection) wantStatus() {
	backlog.Hint(l.ask)
}

// askStatus requests the status when it is wanted, but not more often than a person can notice. It must not run on
// the goroutine that writes to the browser: the response comes over the connection whose parts that goroutine
// receives.
func (l *connection) askStatus(ctx context.Context) {
	for {
		select {
		case <-l.ask:
		case <-ctx.Done():
			return
		}
		asked, done := context.WithTimeout(ctx, connects)
		st, err := l.client.Status(asked)
		done()
		if err != nil {
			continue // the connection has ended, or the next event asks again
		}
		select {
		case l.statuses <- st:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(webBetween):
		case <-ctx.Done():
			return
		}
	}
}

// status sends a status if it differs from the one that the page shows.
func (l *connection) status(st control.Status) {
	st.Seq = 0 // changes with each event, and is not shown
	for _, a := range st.Agents {
		l.named(a.ID, a.Name, a.Host, a.Make)
	}
	raw, err := pageStatus(st)
	if err != nil || bytes.Equal(raw, l.shown) {
		return
	}
	l.shown = raw
	l.out.send(partStatus, "", raw)
}

const (
	// mostPast is how many earlier events a page receives when it opens.
	mostPast = 3000
	// enough is how many bytes of events are sent at once, not counting the last event.
	enough = 64 << 10
)

// webPlace is how far a page has read: the first Process lines of the event log, which belong to earlier processes,
// and after them the events of one process up to Seq.
type webPlace struct {
	Process uint64
	Seq     uint64
	Set     bool // false for a page that has read nothing
}

func (p webPlace) String() string { return fmt.Sprintf("%d.%d", p.Process, p.Seq) }

// parsePlace parses a place in the format of String.
func parsePlace(text string) (p webPlace, err error) {
	if text == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(text, "%d.%d", &p.Process, &p.Seq)
	if err != nil || p.String() != text {
		return webPlace{}, fmt.Errorf("%.40q is not a position", text)
	}
	p.Set = true
	return p, nil
}

// seqOf returns the seq of a line; 0: it has none.
func seqOf(line []byte) uint64 {
	var l struct {
		Seq uint64 `json:"seq"`
	}
	if json.Unmarshal(line, &l) != nil {
		return 0
	}
	return l.Seq
}

// catchUp brings the page to the point from which the current process can continue: it sends the events of earlier
// processes.
func (f *webFollower) catchUp(ctx context.Context, st control.Status) error {
	switch {
	case f.at.Set && f.at.Process == st.LogLines: // the connection was lost, not the process
		return nil
	case !f.at.Set && st.Seq >= mostPast:
		f.at = webPlace{Process: st.LogLines, Seq: st.Seq - mostPast, Set: true}
		f.out.send(partSkipped, "", skippedPart{f.at.Seq})
		return nil
	}
	if st.LogLines > 0 {
		if err := f.past(ctx, st.LogLines); err != nil {
			return err
		}
	}
	f.at = webPlace{Process: st.LogLines, Set: true}
	return nil
}

// past sends the events after the page's place in the first upTo lines of the event log, but not more than a page
// can show. It moves the place after them.
func (f *webFollower) past(ctx context.Context, upTo uint64) error {
	log, err := f.server.runs.Log(f.server.run)
	if err != nil {
		return err
	}
	defer log.Close()
	lines, left, err := f.behind(ctx, log, upTo)
	if err != nil {
		return err
	}
	if left {
		f.out.send(partSkipped, "", skippedPart{})
	}
	var list portion
	for _, line := range lines {
		list.add(f, line.raw, line.place)
	}
	list.send(f)
	return nil
}

// portion is a list of events that is sent at once. It is small, because a browser with a slow connection must
// receive it completely in time; otherwise it would make no progress.
type portion struct {
	lines []json.RawMessage
	bytes int
}

// add adds an event and moves the place after it; raw is nil for an event that the page does not show. add sends
// the portion when it is large enough.
func (p *portion) add(f *webFollower, raw json.RawMessage, at webPlace) {
	if f.at = at; raw == nil {
		return
	}
	p.lines, p.bytes = append(p.lines, raw), p.bytes+len(raw)
	if p.bytes >= enough {
		p.send(f)
	}
}

// send sends the collected events.
func (p *portion) send(f *webFollower) {
	if len(p.lines) > 0 {
		f.out.send(partEvents, f.at.String(), p.lines)
	}
	*p = portion{}
}

// pastLine is an event of the log, prepared for the page, with the place after it.
type pastLine struct {
	raw   json.RawMessage
	place webPlace
}

// behind returns the last events of the log after the page's place. left reports that there are more.
func (f *webFollower) behind(ctx context.Context, log *journal.EventLog,
	upTo uint64) (lines []pastLine, left bool, err error) {
	at, found := webPlace{Set: true}, false // the current place; whether the page's process was found
	_, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.N > upTo {
			return journal.ErrEnough
		}
		if e.Line == nil {
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			at.Process = e.N - 1
			if f.at.Set && !found && e.N > f.at.Process { // records may come before it
				at.Process, found = f.at.Process, true
			}
		}
		at.Seq = seqOf(e.Line)
		if f.at.Set && !at.after(f.at) {
			return nil
		}
		raw := f.line(e.Line)
		if raw == nil {
			return nil
		}
		lines = append(lines, pastLine{raw, at})
		if len(lines) >= 2*mostPast {
			lines, left = slices.Delete(lines, 0, mostPast), true
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the event log: %w", err)
	}
	if extra := len(lines) - mostPast; extra > 0 {
		lines, left = lines[extra:], true
	}
	return lines, left, nil
}

func (p webPlace) after(q webPlace) bool {
	return p.Process > q.Process || p.Process == q.Process && p.Seq > q.Seq
}

const (
	// mostText bounds one text of an event, in bytes. A longer text is cut and marked.
	mostText = 24 << 10
	// mostResult bounds the result of a tool, which the page shows folded.
	mostResult = 4 << 10
	// mostAsked bounds a text of an item that waits. It is large, because a person decides on the basis of that
	// text.
	mostAsked = 256 << 10
)

// bounds lists the events that the page shows, each with the limit for its texts. Other events are covered by the
// status, or are bookkeeping.
var bounds = map[string]int{
	"session": 1 << 10, "state": 1 << 10, "spawn": mostText, "message": mostText, "assistant": mostText,
	"delta": mostText, "tool_use": mostText, "tool_result": mostResult, "subagent_start": 1 << 10,
	"subagent_stop": 1 << 10, "turn": 1 << 10, "context": 1 << 10, "compact": 1 << 10, "check": mostResult,
	"acceptance": mostResult, "handoff": mostText, "decision": mostText, "plan": mostText, "permission": mostText,
	"permission_request": mostText, "takeover": mostText, "withdrawn": 1 << 10, "halted": 1 << 10, "question": mostText,
	"retry": mostResult, "restart": mostResult, "error": mostText, "notice": mostText, "workspace": 1 << 10,
	"changes": mostText, "overlap": 1 << 10, "merge": mostText, "done": mostResult, "result": mostText, "host": 1 << 10,
	"fuse": 1 << 10, "forecast": 1 << 10, "budget": 1 << 10, "context_warning": 1 << 10,
}

// named records the name of an agent.
func (f *webFollower) named(id, name, host, make string) {
	if f.names == nil {
		f.names = map[string]string{}
	}
	f.names[id] = eventtext.OfMake(eventtext.OnHost(name, host), make)
}

// line prepares an event's line for the page, with the text that all frontends share; nil: the page does not show it.
func (f *webFollower) line(line []byte) json.RawMessage {
	raw := pageLine(line)
	if raw == nil || contract.EventNameOf(line) == (contract.Delta{}).EventName() {
		return raw
	}
	e, err := contract.DecodeWritten(raw)
	if err != nil {
		return raw
	}
	var words string
	switch b := e.Body.(type) {
	case contract.Assistant, contract.Message, contract.Question, contract.ToolUse, contract.ToolResult,
		contract.Plan, contract.Changes, contract.Result:
		return raw // shown in parts
	case contract.Forecast:
		words = eventtext.Price(b)
	case contract.Permission:
		words, _ = eventtext.Text(history.Entry{Event: e}, f.nameOf)
	case contract.Spawn:
		f.named(e.ID, b.Name, b.Host, b.Make)
		words = eventtext.Sentence(eventtext.Line(e, f.nameOf))
	default:
		words = eventtext.Sentence(eventtext.Line(e, f.nameOf))
	}
	text, err := json.Marshal(words)
	if err != nil {
		return raw // cannot happen: a string
	}
	return slices.Concat([]byte(`{"words":`), text, []byte(","), raw[1:])
}

func (f *webFollower) nameOf(id string) string { return f.names[id] }

// pageLine returns an event's line, cleaned; nil: the page does not show it. An event that cannot be decoded becomes a
// notice, so that nothing is omitted silently.
func pageLine(line []byte) json.RawMessage {
	most, shown := bounds[contract.EventNameOf(line)]
	if !shown {
		return nil
	}
	raw, err := clean(line, most)
	if err != nil {
		raw, err = json.Marshal(map[string]string{
			"event": "notice", "id": contract.Supervisor, "text": "An event cannot be shown: " + err.Error(),
		})
	}
	if err != nil {
		return nil // cannot happen: two strings
	}
	return raw
}

// pageStatus returns a run's status in the form for the page.
func pageStatus(st control.Status) (json.RawMessage, error) {
	// page has the texts that all frontends share.
	page := struct {
		control.Status
		Asks  map[string]string `json:"asks"`  // by item: who wants what
		Where map[string]string `json:"where"` // by item: where a permission request's call runs
		Fuses map[string]string `json:"fuses"` // by agent
	}{st, map[string]string{}, map[string]string{}, map[string]string{}}
	names := webFollower{}
	for i, a := range st.Agents {
		st.Agents[i].Session = ""
		names.named(a.ID, a.Name, a.Host, a.Make)
		if a.Fuse > 0 {
			page.Fuses[a.ID] = eventtext.FuseSpent(a.FuseSpent, a.Fuse, st.Rehearsal) + " is spent."
		}
	}
	for _, i := range st.Inbox {
		page.Asks[i.ID] = eventtext.Asks(supervisor.InboxItem{Kind: supervisor.InboxKind(i.Kind), Agent: i.Agent,
			Host: i.Host, Optional: i.Optional}, eventtext.Called(names.nameOf, i.Agent))
		if r, err := requestOf(i); err == nil {
			page.Where[i.ID] = eventtext.PlaceOf(r.Place)
		}
	}
	raw, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	return clean(raw, mostAsked)
}

// clean sanitizes and bounds every text in a JSON value, including names of members.
func clean(raw []byte, most int) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(cleaned(value, most))
}

func cleaned(value any, most int) any {
	switch v := value.(type) {
	case string:
		return cleanText(v, most)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i], most)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[cleanText(name, 200)] = cleaned(member, most)
		}
		return clean
	}
	return value
}

func cleanText(text string, most int) string {
	cut := 0
	if len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text, cut = text[:end], len(text)-end
	}
	text = sanitize.Text(text)
	if cut > 0 {
		text += fmt.Sprintf("\n… %d more bytes are not shown here; arbiter replay prints them.", cut)
	}
	return text
}
