package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write schema.json, and the expected halves of the conformance files")

// TestConformance replays testdata/*.txtar to a server, byte by byte, as a client
// in any language would. A file is a list of sections, done in order:
//
//	in       lines to write
//	out      lines that must have come when the server has nothing more to do
//	sleep D  let time pass
//	eof      close the client's end of the server's input
//	serve    what Serve returned
//
// The agents are those of scriptedLauncher.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conformance files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := testkit.Must(txtar.ParseFile(file))(t)
			bubble(t, func(t *testing.T) { replay(t, archive) })
			if *update {
				testkit.OK(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

func replay(t *testing.T, archive *txtar.Archive) {
	input, w := io.Pipe()
	output, far := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- NewServer(scriptedLauncher(),
			ServerOptions{Version: "test", Evidence: &fakeCollector{}}).Serve(t.Context(), duplex{input, far})
		far.Close()
	}()
	var sent sink
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(&sent, bufio.NewReader(output))
	}()
	for i, section := range archive.Files {
		var got []byte
		name, arg, _ := strings.Cut(section.Name, " ")
		switch name {
		case "in":
			testkit.Must(w.Write(section.Data))(t)
			synctest.Wait()
			continue
		case "sleep":
			d := testkit.Must(time.ParseDuration(arg))(t)
			time.Sleep(d)
			synctest.Wait()
			continue
		case "eof":
			w.Close()
			synctest.Wait()
			continue
		case "out":
			got = sent.take()
		case "serve":
			got = fmt.Appendln(nil, <-served)
			served <- nil
		default:
			t.Fatalf("unknown section %q", section.Name)
		}
		if *update {
			archive.Files[i].Data = got
		} else if diff := cmp.Diff(string(section.Data), string(got)); diff != "" {
			t.Errorf("section %d, -want +got:\n%s", i+1, diff)
		}
	}
	w.Close()
	<-served
	<-drained
	if rest := sent.take(); len(rest) > 0 {
		t.Errorf("unexpected frames:\n%s", rest)
	}
}

// duplex is a pipe whose directions end separately.
type duplex struct {
	io.ReadCloser
	io.WriteCloser
}

func (d duplex) Close() error { return errors.Join(d.ReadCloser.Close(), d.WriteCloser.Close()) }

type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *sink) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.buf.Next(s.buf.Len())...)
}

// scriptedLauncher starts agents that follow a script: the working directory selects how the start goes,
// the first word of a message selects how its turn goes.
func scriptedLauncher() *fakeLauncher {
	l := &fakeLauncher{sweep: func(string) int { return 1 }}
	l.detect = func(_ context.Context, spec ClaudeSpec) (ClaudeInfo, error) {
		if spec.Path == "/missing" {
			return ClaudeInfo{}, &RPCError{Code: CodeClaude, Category: CatClaudeMissing, Message: "no such program"}
		}
		return ClaudeInfo{Path: "/opt/claude", Version: "2.1.329"}, nil
	}
	l.launch = func(ctx context.Context, p SpawnParams, h Host) (Agent, error) {
		switch p.Config.CWD {
		case "/never":
			<-ctx.Done()
			return nil, ctx.Err()
		case "/broken":
			return nil, &RPCError{Code: CodeClaude, Category: CatStart, Message: "exited with 1", Stderr: "bad flag"}
		}
		a := l.add(p, h)
		a.message = func(ctx context.Context, m MessageParams) error { return a.turn(ctx, m) }
		a.ask = func(ctx context.Context, q string) (string, error) {
			if q == "hang" {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "42", nil
		}
		if p.Config.CWD == "/stubborn" {
			a.stop = func(ctx context.Context, now bool) error {
				if now {
					a.end()
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return a, nil
	}
	return l
}

func (a *fakeAgent) turn(ctx context.Context, m MessageParams) error {
	word, _, _ := strings.Cut(m.Content, " ")
	emit := func(body EventBody) { a.host.Emit(Event{Body: body}) }
	text := "you said: " + m.Content
	switch word {
	case "busy":
		return &RPCError{Code: CodeBusy, Message: "a turn runs"}
	case "tool":
		r, _ := a.host.ToolCall(ctx,
			ToolCallParams{Call: "call-1", Tool: "status", Input: json.RawMessage(`{"b":1,"a":2}`)})
		text = fmt.Sprintf("tool: %s %v", r.Text, r.IsError)
	case "permission":
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		r, _ := a.host.Permission(ctx,
			PermissionParams{Request: "p-1", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
		text = fmt.Sprintf("permission: %s: %s", r.Behavior, r.Message)
	case "judge":
		r, _ := a.host.Judge(ctx, JudgeParams{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`),
			ToolUse: "toolu_1", Subagent: "a0b8"})
		text = fmt.Sprintf("judge: %s: %s", r.Behavior, r.Message)
	case "panic":
		panic("as told")
	case "die":
		a.once.Do(func() {
			emit(Turn{MessageIDs: []string{m.MessageID}, Outcome: TurnLost})
			emit(Done{SessionID: a.info.SessionID, Exit: Exit{Code: 1}})
			close(a.done)
		})
		return errors.New("write |1: broken pipe")
	}
	emit(Delivered{MessageID: m.MessageID, Proof: "lifecycle"})
	emit(Assistant{Text: text, ContextPct: 1.5})
	emit(Turn{Verdict: json.RawMessage(`{"kind":"done"}`), MessageIDs: []string{m.MessageID}, Outcome: TurnDone})
	return nil
}
