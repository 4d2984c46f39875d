package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// following is an agent without a process, whose transcript is followed.
type following struct {
	t       testing.TB
	a       *agent
	host    *contextHost
	path    string
	watcher *transcript.Watcher
	done    sync.WaitGroup
}

// contextHost passes readings to a channel.
type contextHost struct {
	bridge.Host
	readings chan bridge.Context
	notices  chan string
}

func (h *contextHost) Emit(e bridge.Event) {
	switch e := e.Body.(type) {
	case bridge.Context:
		h.readings <- e
	case bridge.Notice:
		h.notices <- e.Text
	}
}

func newFollowing(t testing.TB) *following {
	config := t.TempDir()
	f := &following{t: t, host: &contextHost{readings: make(chan bridge.Context, 64), notices: make(chan string, 64)}}
	session := uuid.NewString()
	f.path = filepath.Join(config, "projects", "-w", session+".jsonl")
	f.a = newAgent(bridge.SpawnParams{Config: bridge.AgentConfig{SessionID: session, ContextCap: 1_000_000}}, "2.1.329",
		f.host, nil)
	f.a.follow.config = config
	f.watcher = transcript.NewWatcher(time.Millisecond, 5*time.Millisecond)
	return f
}

func (f *following) begin() *following {
	f.done.Go(func() { f.a.follow.run(f.a.ctx, f.watcher) })
	f.t.Cleanup(func() {
		f.a.cancel()
		f.done.Wait()
		f.watcher.Close()
	})
	return f
}

func (f *following) write(lines ...string) {
	f.t.Helper()
	testkit.OK(f.t, os.MkdirAll(filepath.Dir(f.path), 0o700))
	file := testkit.Must(os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(f.t)
	defer file.Close()
	testkit.Must(file.WriteString(strings.Join(lines, "")))(f.t)
}

func (f *following) assistant(id string, tokens int, more string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"assistant",%s"message":{"id":%q,"type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":7}},"uuid":%q,"sessionId":%q}`+"\n",
		more, id, tokens-3, uuid.NewString(), f.a.cfg.SessionID)
}

func (f *following) expect(tokens int) bridge.Context {
	f.t.Helper()
	select {
	case c := <-f.host.readings:
		if c.Tokens != tokens || c.Source != fromTranscript {
			f.t.Fatalf("reading %+v, want %d", c, tokens)
		}
		return c
	case <-time.After(waitTimeout):
		f.t.Fatalf("waited in vain for a reading of %d", tokens)
	}
	return bridge.Context{}
}

func TestFollowFindsTheTranscript(t *testing.T) {
	t.Parallel()
	f := newFollowing(t).begin()
	f.write(f.assistant("m1", 10_000, "")) // with its directory, and its directory's
	f.a.follow.look.Ring()
	f.expect(10_000)
	f.write(f.assistant("m1", 10_000, ""), f.assistant("m2", 20_000, ""))
	f.expect(20_000)
}

func TestFollowGetsTheTranscript(t *testing.T) {
	t.Parallel()
	f := newFollowing(t)
	elsewhere := filepath.Join(t.TempDir(), filepath.Base(f.path))
	for _, wrong := range []string{"", "relative/" + filepath.Base(f.path), "/etc/passwd",
		"/tmp/" + uuid.NewString() + ".jsonl"} {
		f.a.follow.found(wrong)
	}
	f.a.follow.found(elsewhere)
	f.path = elsewhere
	f.begin()
	f.write(f.assistant("m1", 10_000, ""))
	f.expect(10_000)
}

func TestFollowWhatCounts(t *testing.T) {
	t.Parallel()
	f := newFollowing(t)
	f.write(f.assistant("old", 500_000, "")) // resumed: this is old
	f.a.follow.path, f.a.follow.atEnd = f.path, true
	other := strings.ReplaceAll(f.assistant("other", 800_000, ""), f.a.cfg.SessionID, uuid.NewString())
	side := strings.Replace(f.assistant("side", 900_000, ""), `"isSidechain":false`, `"isSidechain":true`, 1)
	// Nothing may be written before the first look has ended, because it decides where reading begins. Its end
	// reports what the stream has said.
	f.a.gauge.sample(messageOf("streamed", 30_000), fromStream)
	f.begin()
	if c := <-f.host.readings; c.Tokens != 30_000 {
		t.Fatalf("reading %+v", c)
	}
	f.write(f.assistant("m0", 20_000, ""), other, side, f.assistant("err", 700_000, `"isApiErrorMessage":true,`),
		"garbage\n", `{"type":"assistant","message":`+"\n", f.assistant("m1", 40_000, ""),
		f.assistant("streamed", 30_000, ""))
	// Of the lines of one check only the last message is the state, and the stream has already reported
	// that one.
	f.write(f.assistant("m2", 50_000, ""))
	for {
		c := <-f.host.readings
		if c.Tokens == 50_000 {
			break
		}
		if c.Tokens != 20_000 && c.Tokens != 40_000 {
			t.Fatalf("reading %+v", c)
		}
	}
	f.write(`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9},"uuid":"b-1","sessionId":"`+f.a.cfg.SessionID+`"}`+"\n",
		f.assistant("m3", 5_000, ""))
	f.expect(5_000)
	if f.a.gauge.compact("b-1") {
		t.Error("the compaction was not read")
	}
}

// TestFollowWaitsForTheWindow: if a transcript is faster than the CLI's answer about its window, the user's
// bound alone makes no reading, unless no answer comes.
func TestFollowWaitsForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer pipe.Close()
		ask := func() *following {
			f := newFollowing(t)
			f.watcher.Close()
			f.a.in.pipe = pipe
			f.a.reader.introduce(t.Context())
			f.look("m1", 50_000)
			select {
			case c := <-f.host.readings:
				t.Errorf("before the answer: %+v", c)
			default:
			}
			return f
		}
		f := ask()
		f.a.calls.answered(controlResponse{ID: "arbiter-1",
			Response: []byte(
				`{"totalTokens":10,"rawMaxTokens":200000,"autoCompactThreshold":167000,"isAutoCompactEnabled":true}`)})
		f.look("m1", 50_000)
		if c := f.expect(50_000); c.Window != 167_000 {
			t.Errorf("after it: %+v", c)
		}
		f = ask()
		time.Sleep(introduction)
		f.look("m2", 60_000)
		if c := f.expect(60_000); c.Window != 1_000_000 {
			t.Errorf("without it: %+v", c)
		}
	})
}

// look checks a transcript to which a message was added.
func (f *following) look(id string, tokens int) {
	f.a.follow.line(transcript.Followed{Line: jsonl.Line{Data: []byte(f.assistant(id, tokens, ""))}})
	f.a.follow.idle()
}

// TestFollowReplaced: the content of a transcript that was truncated or replaced is history.
func TestFollowReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *following) error{
		"cut":      func(f *following) error { return os.Truncate(f.path, 0) },
		"replaced": func(f *following) error { return os.Rename(f.path+".new", f.path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollowing(t)
			f.write(f.assistant("m1", 10_000, ""), f.assistant("m2", 20_000, ""))
			f.begin()
			f.expect(20_000)
			testkit.OK(t, os.WriteFile(f.path+".new", []byte(f.assistant("ancient", 999_000, "")), 0o600))
			testkit.OK(t, change(f))
			deadline := time.After(waitTimeout)
			for i := 0; ; i++ { // until it is read: what came with the change is history
				f.write(f.assistant(fmt.Sprintf("n%d", i), 30_000+i, ""))
				select {
				case c := <-f.host.readings:
					if c.Tokens < 30_000 || c.Tokens > 900_000 {
						t.Fatalf("reading %+v", c)
					}
					return
				case <-time.After(50 * time.Millisecond):
				case <-deadline:
					t.Fatal("it reads no more")
				}
			}
		})
	}
}
