package transcript_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/transcript"
)

// A session that talks, works, has a subagent work, is interrupted, is killed in a tool and is resumed: the
// transcript agrees with the CLI at every step.
func TestLiveWork(t *testing.T) {
	l := rehearse(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - say: I am here.
        usage: {context: 40000}
      - say: I write.
        use:
          - {tool: Write, input: {file_path: "{{.cwd}}/one.txt", content: "one\n"}}
        usage: {context: 50000}
      - use:
          - {tool: Bash, input: {command: "cat one.txt", description: look}}
          - {tool: Bash, input: {command: "exit 3", description: fail}}
        usage: {context: 60000}
      - use: [{tool: Agent, input: {description: second, prompt: "write the second", subagent_type: general-purpose}}]
        usage: {context: 62000}
      - say: Both are written.
        usage: {context: 64000}
      - use: [{tool: Bash, input: {command: "echo $$ > up; for i in $(seq 600); do sleep 0.1; done", description: wait}}]
        usage: {context: 70000}
      - say: It was stopped.
        usage: {context: 72000}
      - use: [{tool: Bash, input: {command: "test -e again || { echo $$ > again; for i in $(seq 600); do sleep 0.1; done; }", description: wait}}]
        usage: {context: 75000}
      - say: I am back.
        usage: {context: 80000}
  - name: sub
    match: {role: subagent, contains: write the second}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/two.txt", content: "two\n"}}]
        usage: {context: 700000}
      - use: [{tool: Bash, input: {command: "cat two.txt", description: look}}]
        usage: {context: 800000}
      - say: It is written.
        usage: {context: 900000}
`)
	l.start()
	l.sendAndWait("speak")
	l.agrees("after a text")
	l.sendAndWait("work")
	l.agrees("after tools and a subagent")
	l.post("wait")
	l.until("a tool", func(f frame) bool { return f.str("type") == "assistant" })
	l.waitFor("up", "echo $$ > up")
	l.agrees("in a tool")
	l.control("interrupt", nil)
	l.until("the end of the interrupted turn", func(f frame) bool { return f.str("type") == "result" })
	l.follows("after an interrupt")
	l.sendAndWait("go on")
	l.post("wait again")
	left := l.waitFor("again", "test -e again")
	l.agrees("in a tool again")
	l.kill()
	p, err := os.FindProcess(left)
	testkit.Check(t, err == nil && p.Kill() == nil, "a killed CLI leaves its tools behind, and pid %d is not there", left)
	l.start("--resume", l.session())
	l.follows("right after a resume")
	l.sendAndWait("are you back?")
	l.agrees("after a resumed turn")
	l.stop()

	got := testkit.Must(transcript.ReadDigest(context.Background(), l.path(), transcript.DigestLimits{}))(t)
	for i := range got.Commands {
		got.Commands[i].Timestamp = ""
	}
	again := "test -e again || { echo $$ > again; for i in $(seq 600); do sleep 0.1; done; }"
	want := transcript.Digest{
		Texts: []string{"I am here.", "I write.", "Both are written.", "It was stopped.", "I am back."},
		Files: []string{l.cwd + "/one.txt", l.cwd + "/two.txt"},
		Commands: []transcript.Command{
			{Command: "cat one.txt", Outcome: transcript.OutcomeDone},
			{Command: "exit 3", Outcome: transcript.OutcomeFailed},
			{Command: "cat two.txt", Outcome: transcript.OutcomeDone, Subagent: true},
			{Command: "echo $$ > up; for i in $(seq 600); do sleep 0.1; done", Outcome: transcript.OutcomeFailed},
			{Command: again, Outcome: transcript.OutcomeUnknown},
			{Command: again, Outcome: transcript.OutcomeDone},
		},
	}
	testkit.Same(t, "digest", want, got)
	l.record("work")
}

// A context that is compacted in mid-turn, and by a command.
func TestLiveCompaction(t *testing.T) {
	l := rehearse(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - say: I am here.
        usage: {context: 60000}
      - use: [{tool: Bash, input: {command: "echo one", description: one}}]
        usage: {context: 180000}
      - say: It was compacted.
        usage: {context: 30000}
      - say: It was compacted by command.
        usage: {context: 31000}
`)
	l.start("--autocompact", "200000")
	l.sendAndWait("speak")
	l.agrees("before")
	l.sendAndWait("work")
	l.agrees("after a compaction in mid-turn")
	l.sendAndWait("/compact")
	newest, err := transcript.ReadNewest(l.path())
	testkit.Check(t, err == nil && !newest.Found && newest.Compacted, "right after a compaction: %+v, %v", newest, err)
	l.sendAndWait("go on")
	l.agrees("after a compaction by command")
	l.stop()
	l.record("compaction")
}

// waitTimeout is the time limit of a wait.
const waitTimeout = 2 * time.Minute

func findClaude(t *testing.T) string {
	t.Helper()
	if testing.Short() && os.Getenv("ARBITER_REQUIRE_CLAUDE") == "" {
		t.Skip("-short: no real CLI")
	}
	return corpus.Claude(t, "..").Path
}

type frame map[string]any

func (f frame) sub(k string) frame  { m, _ := f[k].(map[string]any); return m }
func (f frame) str(k string) string { s, _ := f[k].(string); return s }
func (f frame) num(k string) int    { n, _ := f[k].(float64); return int(n) }

// live is a real CLI with a scripted model, in its own home.
type live struct {
	t         *testing.T
	srv       *rehearsal.Server
	home, cwd string
	stdin     io.WriteCloser
	frames    chan frame
	kill      func()
}

func rehearse(t *testing.T, script string) *live {
	t.Helper()
	findClaude(t)
	sc := testkit.Must(rehearsal.Parse("test.yaml", []byte(script)))(t)
	srv := testkit.Must(rehearsal.Start(sc, rehearsal.Options{}))(t)
	t.Cleanup(func() {
		p := srv.Problems()
		testkit.Check(t, len(p) == 0, "problems:\n%s", strings.Join(p, "\n"))
		testkit.Works(t, "Close", srv.Close())
	})
	return &live{t: t, srv: srv, home: t.TempDir(), cwd: t.TempDir()}
}

// start starts a process; only one runs at a time.
func (l *live) start(args ...string) {
	l.t.Helper()
	cmd := exec.Command(findClaude(l.t),
		append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
			"--setting-sources", "", "--strict-mcp-config", "--model", "claude-opus-5-5", "--allowedTools", "Bash(*)",
			"Write", "Edit"}, args...)...)
	cmd.Dir = l.cwd
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{"HOME=" + l.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + l.srv.Key(),
		"ANTHROPIC_BASE_URL=" + l.srv.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"}
	stdin := testkit.Must(cmd.StdinPipe())(l.t)
	stdout := testkit.Must(cmd.StdoutPipe())(l.t)
	testkit.OK(l.t, cmd.Start())
	frames := make(chan frame, 4096)
	go func() { // ends with the process's output, which stop and kill wait for
		defer close(frames)
		lines := bufio.NewReaderSize(stdout, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			f := frame{}
			if json.Unmarshal(line, &f) == nil {
				frames <- f
			}
		}
	}()
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			for range frames {
			}
			_ = cmd.Wait() // killed
		}
	}
	l.t.Cleanup(end)
	l.stdin, l.frames, l.kill = stdin, frames, end
	l.control("initialize", nil)
}

// stop ends the process by closing its stdin.
func (l *live) stop() {
	l.t.Helper()
	_ = l.stdin.Close()
	deadline := time.After(waitTimeout)
	for {
		select {
		case _, ok := <-l.frames:
			if !ok {
				l.kill()
				return
			}
		case <-deadline:
			l.t.Fatal("the CLI does not end")
		}
	}
}

func (l *live) send(f frame) {
	l.t.Helper()
	b := testkit.Must(json.Marshal(f))(l.t)
	testkit.Must(l.stdin.Write(append(b, '\n')))(l.t)
}

func (l *live) until(what string, match func(frame) bool) frame {
	l.t.Helper()
	deadline := time.After(waitTimeout)
	for {
		select {
		case f, ok := <-l.frames:
			testkit.Need(l.t, ok, "the CLI ended before %s", what)
			if match(f) {
				return f
			}
		case <-deadline:
			l.t.Fatalf("no %s in %v", what, waitTimeout)
		}
	}
}

func (l *live) control(subtype string, more frame) frame {
	l.t.Helper()
	req := frame{"subtype": subtype}
	for k, v := range more {
		req[k] = v
	}
	l.send(frame{"type": "control_request", "request_id": subtype, "request": req})
	f := l.until("answer to "+subtype, func(f frame) bool {
		return f.str("type") == "control_response" && f.sub("response").str("request_id") == subtype
	})
	return f.sub("response").sub("response")
}

func (l *live) post(text string) {
	l.t.Helper()
	l.send(frame{"type": "user", "parent_tool_use_id": nil, "message": frame{"role": "user", "content": text}})
}

func (l *live) sendAndWait(text string) {
	l.t.Helper()
	l.post(text)
	l.until("result of "+text, func(f frame) bool { return f.str("type") == "result" })
}

// own returns the size of the context as the CLI counts it.
func (l *live) own() int {
	l.t.Helper()
	return l.control("get_context_usage", frame{"detail": "summary"}).num("totalTokens")
}

// path returns the path of the only session's transcript.
func (l *live) path() string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, ".claude", "projects", "*", "*.jsonl"))
	testkit.Need(l.t, err == nil && len(found) == 1, "transcripts: %q, %v", found, err)
	return found[0]
}

func (l *live) session() string {
	return strings.TrimSuffix(filepath.Base(l.path()), ".jsonl")
}

// agrees checks that the transcript and the CLI report the same size of the context.
func (l *live) agrees(when string) {
	l.t.Helper()
	want := l.own()
	newest, err := transcript.ReadNewest(l.path())
	testkit.Check(l.t, err == nil && newest.Found && newest.Sample.Usage.Context() == want,
		"%s: newest reading %+v, %v; the CLI counts %d", when, newest, err, want)
}

// follows is agrees for a context with text that no answer has counted yet: the CLI adds its estimate of that
// text (observed with CLI 2.1.329).
func (l *live) follows(when string) {
	l.t.Helper()
	own := l.own()
	newest, err := transcript.ReadNewest(l.path())
	got := newest.Sample.Usage.Context()
	testkit.Check(l.t, err == nil && got <= own && got >= own-1000, "%s: newest reading %+v, %v; the CLI counts %d",
		when, newest, err, own)
}

// record writes the scrubbed transcripts to $ARBITER_RECORD_CORPUS, if it is set. testdata/corpus was made in
// this way.
func (l *live) record(name string) {
	l.t.Helper()
	dir := os.Getenv("ARBITER_RECORD_CORPUS")
	if dir == "" {
		return
	}
	s := newScrubber(l.home, l.cwd)
	main := l.path()
	files := []string{main}
	subagents := testkit.Must(filepath.Glob(filepath.Join(transcript.Beside(main), "subagents", "*.jsonl")))(l.t)
	for _, path := range append(files, subagents...) {
		data := testkit.Must(os.ReadFile(path))(l.t)
		rel := testkit.Must(filepath.Rel(filepath.Dir(main), path))(l.t)
		to := filepath.Join(dir, name, s.scrub(rel))
		testkit.OK(l.t, os.MkdirAll(filepath.Dir(to), 0o755))
		testkit.OK(l.t, os.WriteFile(to, []byte(s.scrub(string(data))), 0o644))
	}
}

// waitFor waits until a tool has written its process id to a file, and until the CLI, which writes in batches,
// has written the call.
func (l *live) waitFor(name, command string) (pid int) {
	l.t.Helper()
	testkit.Await(l.t, name, func() bool {
		data, err := os.ReadFile(filepath.Join(l.cwd, name))
		n, perr := strconv.Atoi(strings.TrimSpace(string(data)))
		written, rerr := os.ReadFile(l.path())
		pid = n
		return err == nil && perr == nil && rerr == nil && strings.Contains(string(written), command)
	})
	return pid
}

// scrubber replaces what is specific to a machine, and long texts of the CLI. It keeps the form of a
// transcript: references between records stay valid.
type scrubber struct {
	paths *strings.Replacer
	names map[string]string
}

var (
	scrubIDs  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|toolu_[0-9A-Za-z]+|msg_[0-9A-Za-z]+|req_[0-9A-Za-z]+|\ba[0-9a-f]{16}\b`)
	scrubLong = regexp.MustCompile(`"(?:[^"\\]|\\.){400,}"`)
	scrubHere = regexp.MustCompile(`"(osVersion|platform|hostname|slug|commit|pr)":"[^"]*"`)
)

func newScrubber(home, cwd string) *scrubber {
	return &scrubber{paths: strings.NewReplacer(cwd, "/w", home, "/home", munged(cwd), "-work", munged(home), "-home"),
		names: map[string]string{}}
}

// munged returns the name of a directory in the CLI's paths.
func munged(dir string) string {
	return strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(dir)
}

func (s *scrubber) scrub(text string) string {
	text = s.paths.Replace(text)
	text = scrubHere.ReplaceAllString(text, `"$1":"x"`)
	text = scrubLong.ReplaceAllStringFunc(text, func(long string) string {
		return fmt.Sprintf(`"[%d bytes]"`, len(long)-2)
	})
	return scrubIDs.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			prefix, _, found := strings.Cut(id, "_")
			switch {
			case found:
				s.names[id] = fmt.Sprintf("%s_%08d", prefix, len(s.names)+1)
			case strings.Contains(id, "-"):
				s.names[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(s.names)+1)
			default:
				s.names[id] = fmt.Sprintf("a%016d", len(s.names)+1)
			}
		}
		return s.names[id]
	})
}
