package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript"
)

// follower follows the session's transcript. It says what the stream says, some
// 100 ms later (observed with CLI 2.1.329): it is there to check the stream, and
// for when that falls behind.
type follower struct {
	a      *agent
	config string // where the CLI keeps its sessions
	path   string // of the transcript, "" if it has to be found
	atEnd  bool   // what is in it is known: the session is resumed

	named chan string     // where the CLI says that it is
	look  transcript.Bell // it may be there now

	past  bool          // what is read was there before
	fresh []development // of the look under way
}

// development is one thing that a transcript reports about the context: a message, or,
// if it has an id, a compaction.
type development struct {
	sample     transcript.Sample
	compaction string
}

func newFollower(a *agent) *follower {
	return &follower{a: a, named: make(chan string, 1), look: transcript.NewBell()}
}

// found says where the transcript is. A path that cannot be this session's is not
// believed.
func (f *follower) found(path string) {
	name, ok := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if !ok || !filepath.IsAbs(path) || !strings.EqualFold(name, f.a.cfg.SessionID) {
		return
	}
	select {
	case f.named <- path:
	default: // it was told already
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
	waker := w.File(path)
	defer waker.Close()
	follow := transcript.Follower{Path: path, Waker: waker, AtEnd: f.atEnd,
		OnLine: f.line, OnIdle: f.idle, OnTrouble: f.trouble,
		// What stands in a file that was cut or replaced is history; what is written to
		// it from then on is not.
		OnTurn: func(t transcript.Turn) { f.past = t.Cause != transcript.Opened }}
	_ = follow.Run(ctx) // it ends with ctx alone
}

// await waits for the transcript, which appears with the first message. It is
// looked for when there is reason to believe that it is there.
func (f *follower) await(ctx context.Context, w *transcript.Watcher) string {
	projects := w.Dir(filepath.Join(f.config, "projects"))
	defer projects.Close()
	for {
		if path, ok := transcript.Locate(f.config, f.a.cfg.SessionID); ok {
			return path
		}
		select {
		case <-ctx.Done():
			return ""
		case path := <-f.named:
			return path
		case <-f.look:
		case <-projects.Wake():
		}
	}
}

// line takes what a line tells. Only the last of a look's messages is the state;
// those before it were read from the stream, or are of no interest any more.
func (f *follower) line(l transcript.Followed) {
	if f.past || l.Oversize {
		return
	}
	records, _ := transcript.Decode(l.Data) // a damaged line is the stream's to make good
	for _, rec := range records {
		head := rec.Head()
		if head.Sidechain || head.Session != "" && !strings.EqualFold(head.Session, f.a.cfg.SessionID) {
			continue
		}
		switch rec := rec.(type) {
		case *transcript.Assistant:
			s := rec.Sample()
			if rec.APIError || !s.Counts() {
				continue
			}
			if last := len(f.fresh) - 1; last >= 0 && f.fresh[last].compaction == "" {
				f.fresh = f.fresh[:last]
			}
			f.fresh = append(f.fresh, development{sample: s})
		case *transcript.System:
			if rec.Compacts() && head.UUID != "" {
				f.fresh = append(f.fresh, development{compaction: head.UUID})
			}
		}
	}
}

// idle ends a look: what it found goes into the account, with the next look's where the
// window that it is measured by is still asked for.
func (f *follower) idle() {
	f.past = false
	g := f.a.gauge
	if g.awaitsWindow() {
		return
	}
	for _, d := range f.fresh {
		if d.compaction != "" {
			g.compact(d.compaction)
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
	g.report(f.a.emit)
}

func (f *follower) trouble(err error) {
	if err != nil {
		f.a.notice("transcript", "the transcript cannot be followed: "+err.Error())
	}
}

// watching is the one watcher of all agents. It is there while any of them runs.
type watching struct {
	mu    sync.Mutex
	w     *transcript.Watcher
	users int
}

func (s *watching) acquire() *transcript.Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.w = transcript.NewWatcher(transcript.WatchOptions{})
	}
	s.users++
	return s.w
}

// release gives back what acquire gave. The last one ends it.
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
