package plain

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// fake is a host and its run.
type fake struct {
	mu    sync.Mutex
	sink  runloop.Sink
	tasks []string
	puts  []contract.CommandBody
	ended int
	stops int
	fail  error
	hold  chan struct{} // Begin waits for it
	done  chan struct{}
	once  sync.Once
}

func newFake() *fake { return &fake{done: make(chan struct{})} }

func (f *fake) Begin(ctx context.Context, task string, sink runloop.Sink) (Run, error) {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks = append(f.tasks, task)
	if f.fail != nil {
		return nil, f.fail
	}
	f.sink = sink
	return f, nil
}

func (f *fake) Put(c contract.Command) bool {
	select {
	case <-f.done:
		return false
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts = append(f.puts, c.Body)
	return true
}

func (f *fake) Left() <-chan struct{} { return nil }
func (f *fake) InputEnded()           { f.mu.Lock(); f.ended++; f.mu.Unlock() }
func (f *fake) Stop()                 { f.mu.Lock(); f.stops++; f.mu.Unlock(); f.end() }
func (f *fake) end()                  { f.once.Do(func() { close(f.done) }) }

func (f *fake) Done() <-chan struct{} { return f.done }

// buffer is an output that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// stage is a frontend that runs, in a bubble.
type stage struct {
	t      *testing.T
	host   *fake
	out    *buffer
	in     *io.PipeWriter
	cancel context.CancelFunc
	ended  chan error
}

func play(t *testing.T, f *Frontend, host *fake) *stage {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{t: t, host: host, out: &buffer{}, in: w, cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- f.Run(ctx, r, s.out, host) }()
	synctest.Wait()
	return s
}

// typeLines types lines.
func (s *stage) typeLines(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		io.WriteString(s.in, l+"\n")
	}
	synctest.Wait()
}

// emit makes the run report an event.
func (s *stage) emit(id string, b contract.Body) {
	s.host.sink(time.Now(), contract.Event{ID: id, Body: b})
	synctest.Wait()
}

// output returns the output since its last call.
func (s *stage) output() string {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	text := s.out.b.String()
	s.out.b.Reset()
	return text
}

func (s *stage) expect(want string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.output()); diff != "" {
		s.t.Errorf("said (-want +got):\n%s", diff)
	}
}

func (s *stage) end() error {
	s.host.end()
	err := <-s.ended
	s.in.Close()
	synctest.Wait()
	return err
}
