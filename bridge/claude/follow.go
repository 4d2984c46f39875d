package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// follower follows the session's transcript. The transcript repeats what the stream says, some 100 ms later
// (observed with CLI 2.1.329): it serves to check the stream, and to replace it when it falls behind.
type follower struct {
	a      *agent
	config string // where the CLI keeps its sessions
	path   string // of the transcript, "" if it has to be found
	atEnd  bool   // the session is resumed: the existing content is known

	named chan string     // receives the path that the CLI names
	look  transcript.Bell // rings when the transcript may exist

	past  bool          // the content being read was there before
	fresh []development // found in the current look
}

// development is one thing that a transcript reports about the context: a message, or,
// if it has an id, a compaction.
type development struct {
	sample     transcript.Sample
	compaction string
}

// found records the path of the transcript. A path that cannot belong to this session is ignored.
func (f *follower) found(path string) {
	name, ok := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if !ok || !filepath.IsAbs(path) || !strings.EqualFold(name, f.a.Config.SessionID) {
		return
	}
	select {
	case f.named <- path:
	default: // it was reported already
	}
}

// run follows until the agent's process has ended.
func (f *follower) run(ctx context.Context, w *transcript.Watcher) {
	path := f.path
	if path == "" {
		if path = f.await(ctx, w); path == "" {
			return
		}
	}
	bell, forget := w.Watch(path)
	defer forget()
	follow := transcript.Follower{Path: path, Bell: bell, AtEnd: f.atEnd,
		OnLine: f.line, OnIdle: f.idle, OnProblem: f.reportProblem,
		// After a file was cut or replaced, its existing content is history; what is appended later is not.
		OnAgain: func() { f.past = true }}
	_ = follow.Run(ctx) // it ends with ctx alone
}

// await waits for the transcript, which appears with the first message. It looks for the file whenever
// there is reason to expect it.
func (f *follower) await(ctx context.Context, w *transcript.Watcher) string {
	bell, forget := w.Watch("")
	defer forget()
	for {
		if path, ok := transcript.Locate(f.config, f.a.Config.SessionID); ok {
			return path
		}
		select {
		case <-ctx.Done():
			return ""
		case path := <-f.named:
			return path
		case <-f.look:
		case <-bell:
		}
	}
}

// line records what a line reports.
func (f *follower) line(l jsonl.Line) {
	if f.past || l.Oversize {
		return
	}
	records, _ := transcript.Decode(l.Data) // a damaged line is the stream's to make good
	for _, rec := range records {
		switch s := rec.Sample(); {
		case rec.Sidechain, rec.Session != "" && !strings.EqualFold(rec.Session, f.a.Config.SessionID):
		case rec.Compacts() && rec.UUID != "":
			f.fresh = append(f.fresh, development{compaction: rec.UUID})
		case s.Counts():
			if last := len(f.fresh) - 1; last >= 0 && f.fresh[last].compaction == "" &&
				f.fresh[last].sample.MessageID == s.MessageID {
				f.fresh = f.fresh[:last] // another block of the same message
			}
			f.fresh = append(f.fresh, development{sample: s})
		}
	}
}

// maxLag is more messages than the stream falls behind the transcript.
const maxLag = 100

// idle ends a look: its findings go into the gauge. While the window is still being requested, they wait
// for the next look. Of messages that follow one another only the last is the current state; if the stream has not
// reported the earlier ones yet, it no longer matters when it does.
func (f *follower) idle() {
	f.past = false
	g := f.a.gauge
	if g.awaitsWindow() {
		return
	}
	for i, d := range f.fresh {
		left := len(f.fresh) - 1 - i
		if d.compaction != "" {
			g.compact(d.compaction)
			continue
		}
		if left > 0 && f.fresh[i+1].compaction == "" {
			if left < maxLag {
				g.passed(d.sample)
			}
			continue
		}
		if _, _, differs := g.sample(d.sample, fromTranscript); differs {
			f.a.notice("context sources",
				fmt.Sprintf("the transcript has %d tokens of context where the stream had others; the CLI is asked",
					d.sample.Usage.Context()))
			f.a.reader.verify()
		}
	}
	f.fresh = f.fresh[:0]
	g.report(f.a.Emit)
}

func (f *follower) reportProblem(err error) {
	if err != nil {
		f.a.notice("transcript", "the transcript cannot be followed: "+err.Error())
	}
}

// A transcript is looked at when the kernel reports that it has grown, but not more often than each lookPause, and each
// lookInterval in any case.
const lookPause, lookInterval = 500 * time.Millisecond, 2 * time.Second

// watching is the one watcher of all agents. It exists while any of them runs.
type watching struct {
	mu    sync.Mutex
	w     *transcript.Watcher
	users int
}

func (s *watching) acquire() *transcript.Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.w = transcript.NewWatcher(lookPause, lookInterval)
	}
	s.users++
	return s.w
}

// release returns what acquire gave. The last release closes the watcher.
func (s *watching) release() {
	s.mu.Lock()
	var last *transcript.Watcher
	if s.users--; s.users == 0 {
		last, s.w = s.w, nil
	}
	s.mu.Unlock()
	if last != nil {
		last.Close()
	}
}
