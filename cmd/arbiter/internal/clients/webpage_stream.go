package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
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
	State     string    `json:"state"` // live, silent, ended, lost
	Text      string    `json:"text,omitempty"`
	Resumable bool      `json:"resumable,omitempty"`
	Rehearsal bool      `json:"rehearsal,omitempty"` // costs are simulated
}

// States of a run from the page's point of view.
const (
	stateLive   = "live"
	stateSilent = "silent" // a process holds the run but does not answer
	stateEnded  = "ended"
	stateLost   = "lost" // the process was killed, or crashed
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
	sent   runPart   // the last one sent
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

// about describes a run in a state.
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
	if info.Killed() {
		p = about(info, stateLost, "The process that played this run was killed or crashed. Its agents have ended "+
			"with it. Nothing that it recorded is lost.")
	}
	p.Resumable = !info.Damaged && !info.Empty
	f.send(p)
}
