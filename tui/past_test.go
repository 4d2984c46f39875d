package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// longPast is a conversation of n messages, each with its number, and a tool call with its outcome after
// the message that follows.
func longPast(n int) (list []queuedEvent) {
	at := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	add := func(id string, b contract.Body) {
		at = at.Add(time.Second)
		list = append(list, queuedEvent{at: at, e: contract.Event{ID: id, Body: b}})
	}
	for i := range n {
		call := fmt.Sprint("call-", i)
		add("orch-1", contract.ToolUse{Tool: "Read", ToolUse: call, Input: []byte(`{"file_path":"loom.go"}`)})
		add("orch-1", contract.Message{MessageID: fmt.Sprint("m", i), From: "orch-1", To: "human", Kind: "report",
			Text: fmt.Sprintf("Thread number %d.", i)})
		add("orch-1", contract.ToolResult{ToolUse: call, Text: "loom"})
	}
	return list
}

// TestLongPast: the end of a long history is visible before its beginning was read, and when all was read,
// the reader is at the same place, with everything else above.
func TestLongPast(t *testing.T) {
	const messages = 3000
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		h.past, h.slow = longPast(messages), make(chan struct{})
		o.Begin = &Begin{Resume: fakeRunID}
	}, func(s *scene) {
		s.Settle()
		s.Expect("Thread number 2999.", "THE WEAVING")
		if n := s.frontend.history.Talk().Len(); n >= messages {
			t.Fatalf("%d messages were read for the first frame", n)
		}
		s.host.present().does("arbiter", bridge.Notice{Text: "told meanwhile"})
		s.Press("Esc", "PgUp", "PgUp")
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("the rest is still being read")
		s.Press("F6")
		s.Expect("still being read")
		s.Press("Esc")
		s.Advance(2 * flashFor)
		before := place(s)

		close(s.host.slow)
		s.Settle()
		if n := s.frontend.history.Talk().Len(); n < messages {
			t.Fatalf("%d messages when all was read", n)
		}
		if after := place(s); after != before || !strings.Contains(after, "Thread number") {
			t.Errorf("the reader was at\n%s\nand is at\n%s", before, after)
		}
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("Thread number 7.")
		s.Press("g")
		s.Expect("Thread number 0.")
		s.Press("G")
		s.Expect("Thread number 2999.", "told meanwhile")
		s.Expect("Since you last did something here, 12 h 00 min ago", "messages for you:")
		s.Press("F2", "g")
		s.Expect("Thread number 0.")
		s.Press("F6", "Home")
		s.Press("Down", "Enter")
		s.Expect("Thread number 0.")
	})
}

// place returns the visible part of the past.
func place(s *scene) string {
	var rows []string
	for _, row := range s.Rows() {
		if strings.Contains(row, "Thread number") {
			rows = append(rows, strings.TrimRight(row, " █│┃║▐"))
		}
	}
	return strings.Join(rows, "\n")
}

// lastWord is the last message of a long log.
const lastWord = "The last word."

// longLog writes the log of a busy run with so many events.
func longLog(b *testing.B, events int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), journal.LogName)
	f := testkit.Must(os.Create(path))(b)
	result := strings.Repeat("   121\tfunc (l *Loom) weave(thread Thread) error {\n", 6)
	at := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	var chain journal.LogChain
	var raw []byte
	for i := range events {
		id, call := fmt.Sprintf("orch-%d", i/4%3), fmt.Sprint("toolu_01A09q90qw90lq9", i/4)
		body := []contract.Body{
			contract.Assistant{Text: "I will look at the loom next, then at the thread."},
			contract.ToolUse{Tool: "Read", ToolUse: call,
				Input: []byte(`{"file_path":"/home/me/project/internal/weaving/loom.go","offset":120}`)},
			contract.ToolResult{ToolUse: call, Text: result},
			contract.Message{MessageID: call, From: id, To: contract.Human, Kind: "progress", Text: "The loom holds."},
		}[i%4]
		if i == events-1 {
			body = contract.Message{MessageID: "last", From: id, To: contract.Human, Kind: "progress", Text: lastWord}
		}
		at = at.Add(time.Second)
		line, err := contract.EncodeLine(nil, uint64(i+1), at, contract.Event{ID: id, Body: body})
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: uint64(i + 1), At: at, Line: line})
		}
		if err == nil && (len(raw) > 1<<20 || i == events-1) {
			_, err = f.Write(raw)
			raw = raw[:0]
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	testkit.OK(b, f.Close())
	return path
}

// pastHost has a run with a log on disk.
type pastHost struct {
	*fakeHost
	path string
}

func (h pastHost) Past(context.Context, string) (*journal.EventLog, error) {
	if h.path == "" {
		return nil, errors.New("this run has no past")
	}
	return journal.OpenLog(h.path)
}

// shows reports whether a text is on a screen. It is called on the goroutine that paints.
func shows(screen *watched, text string) bool {
	cells, _, _ := screen.GetContents()
	var s strings.Builder
	for _, c := range cells {
		for _, r := range c.Runes {
			s.WriteRune(r)
		}
	}
	return strings.Contains(s.String(), text)
}

// taken resumes a run and returns the time until its last message was in a frame, the time until all of it
// could be read, and the heap size then.
func taken(b *testing.B, o Options, then func(f *Frontend)) (first, all time.Duration, heap float64) {
	b.Helper()
	screen := newWatched()
	o.Screen, o.Theme = screen, "dark"
	seen := make(chan time.Time, 1)
	var once sync.Once
	screen.painted = func() {
		if shows(screen, lastWord) {
			once.Do(func() { seen <- time.Now() })
		}
	}
	began := time.Now()
	f := testkit.Must(New(o))(b)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.Run(context.Background()); err != nil {
			b.Error(err)
		}
	})
	then(f)
	first = (<-seen).Sub(began)
	f.indexing.Wait()
	all = time.Since(began)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	f.Leave()
	wg.Wait()
	return first, all, float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkResumed is the time until the first frame that shows the end of a run of a million events. The
// baseline is the earlier implementation: the screen received all of them again.
func BenchmarkResumed(b *testing.B) {
	path := longLog(b, 1_000_000)
	host := pastHost{&fakeHost{found: Findings{Claude: "2.1.329", Login: LoginYes}}, path}
	for b.Loop() {
		first, all, heap := taken(b, Options{Host: host, Begin: &Begin{Resume: fakeRunID}}, func(*Frontend) {})
		log := testkit.Must(journal.OpenLog(path))(b)
		before, _, filled := taken(b, Options{Host: pastHost{host.fakeHost, ""}, Begin: &Begin{Task: "Weave"}},
			func(f *Frontend) {
				_, err := log.Each(b.Context(), journal.LogPosition{}, func(e journal.LogEntry) error {
					event, err := contract.DecodeLine(e.Line)
					f.box.recall(nil, e.At, event.Event)
					return err
				})
				if err != nil {
					b.Error(err)
				}
			})
		log.Close()
		b.ReportMetric(float64(first.Microseconds())/1000, "first-frame-ms")
		b.ReportMetric(float64(before.Microseconds())/1000, "told-again-ms")
		b.ReportMetric(before.Seconds()/first.Seconds(), "x-told-again")
		b.ReportMetric(all.Seconds(), "all-of-it-s")
		b.ReportMetric(heap, "MB")
		b.ReportMetric(filled, "told-again-MB")
	}
}
