package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/tools/txtar"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
)

// This part of the package runs conversations, written down as txtar files, against a program that speaks the
// Claude Code CLI's stream-json wire: the CLI itself, or a stand-in. It is for tests only.
//
// A case is one file. Its sections:
//
//	-- args --      extra arguments, one a line
//	-- env --       extra environment, NAME=value a line
//	-- model --     the scripted model, one JSON reply a line, used in order (see Reply)
//	-- host --      the conversation, one step a line (see below)
//	-- host.2 --    another process on the same files, and so on; args.2, env.2 go with it
//	-- work/NAME -- a file of the working directory
//
// Steps of the host:
//
//	> {…}            write this line to stdin (any text is allowed, also bad JSON)
//	< {…}            wait for a frame that has all of this; frames in between are skipped
//	! {…}            no frame of this process so far had all of this (after exit: none at all)
//	saw N REGEXP     the N-th model request (of the whole case) matches
//	requests N       the model was called N times
//	called N         wait until it was called N times
//	release          let the reply go on that waits with "hold"
//	eof              close stdin
//	signal TERM      send a signal
//	exit N           wait for the exit code
//	stderr REGEXP    stderr matches (after exit)
//	file PATH REGEXP a file, by glob, relative to the working directory, matches
//	until PATH REGEXP wait until it does
//	touch NAME       make an empty file in the working directory
//
// In a frame pattern an object matches if its fields do, an array if it has as
// many elements that match; a string "/…/" is a regular expression on a text or a number, "$name"
// matches anything and remembers it, or what it remembered before. In what is
// written `$name` stands for what was remembered; $CWD, $HOME and $SESSION are set.
//
// Each process has three goroutines that Run starts and waits for: two readers of
// its output and, in net/http, the scripted model's.

// WireCase is one conversation.
type WireCase struct {
	Name    string
	Replies []WireReply
	Runs    []WireProcess
	Files   map[string]string // of the working directory
}

// WireProcess is one process of a case.
type WireProcess struct {
	Args, Env []string
	Steps     []WireStep
}

// WireStep is one line of a host section.
type WireStep struct {
	Line int // in its section
	Op   string
	Arg  string
}

func loadOne(path string) (*WireCase, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, fmt.Errorf("load case: %w", err)
	}
	c := &WireCase{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Files: map[string]string{}}
	for _, f := range archive.Files {
		section, number, _ := strings.Cut(f.Name, ".")
		n, _ := strconv.Atoi(cmp.Or(number, "1"))
		if n == len(c.Runs)+1 && (section == "args" || section == "env" || section == "host") {
			c.Runs = append(c.Runs, WireProcess{})
		}
		name, isWork := strings.CutPrefix(f.Name, "work/")
		switch {
		case isWork:
			c.Files[name] = string(f.Data)
		case f.Name == "model":
			c.Replies, err = parseReplies(f.Data)
		case n < 1 || n > len(c.Runs):
			err = errors.New("unknown section")
		case section == "args":
			c.Runs[n-1].Args = lines(f.Data)
		case section == "env":
			c.Runs[n-1].Env = lines(f.Data)
		case section == "host":
			c.Runs[n-1].Steps, err = parseSteps(f.Data)
		default:
			err = errors.New("unknown section")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.Name, f.Name, err)
		}
	}
	if len(c.Runs) == 0 || slices.ContainsFunc(c.Runs, func(p WireProcess) bool { return p.Steps == nil }) {
		return nil, fmt.Errorf("%s: no host section", c.Name)
	}
	return c, nil
}

// LoadAll reads all cases that match a glob.
func LoadAll(t *testing.T, glob string) (list []*WireCase) {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases match %s (%v)", glob, err)
	}
	for _, p := range paths {
		list = append(list, testkit.Must(loadOne(p))(t))
	}
	return list
}

// lines returns those that are neither empty nor comments.
func lines(b []byte) (out []string) {
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

func parseReplies(b []byte) (replies []WireReply, err error) {
	for _, line := range lines(b) {
		var r WireReply
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("reply %d: %w", len(replies)+1, err)
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func parseSteps(b []byte) (steps []WireStep, err error) {
	for i, line := range strings.Split(string(b), "\n") {
		if len(lines([]byte(line))) == 0 {
			continue
		}
		op, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, known := operations[op]
		switch {
		case !known:
			return nil, fmt.Errorf("line %d: unknown step %q", i+1, op)
		case (op != "release" && op != "eof") != (arg != ""):
			return nil, fmt.Errorf("line %d: step %q: wrong number of arguments", i+1, op)
		case (op == "<" || op == "!") && !json.Valid([]byte(arg)):
			return nil, fmt.Errorf("line %d: the pattern is not JSON: %s", i+1, arg)
		}
		steps = append(steps, WireStep{i + 1, op, arg})
	}
	return steps, nil
}

// FindCLI returns the path of the real CLI: $ARBITER_CLAUDE, `claude` on PATH, or the one that the project's
// scripts install; "" if there is none. root is the path from the test's directory to the repository's.
func FindCLI(root string) string {
	if p := os.Getenv("ARBITER_CLAUDE"); p != "" {
		return p
	}
	if p, err := exec.LookPath("claude"); err == nil {
		return p
	}
	if v, err := os.ReadFile(filepath.Join(root, "scripts", "claude.version")); err == nil {
		p := filepath.Join(os.Getenv("HOME"), ".cache", "arbiter", "claude", strings.TrimSpace(string(v)),
			"node_modules", ".bin", "claude")
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Claude returns the real CLI. If there is none the test is skipped; with $ARBITER_REQUIRE_CLAUDE it fails.
func Claude(t *testing.T, root string) WireProgram {
	t.Helper()
	return WireProgram{Path: Required(t, FindCLI(root))}
}

// Required returns the path from Find. If it is empty, it skips or fails the test, like [Claude].
func Required(t testing.TB, path string) string {
	t.Helper()
	switch {
	case path != "":
	case os.Getenv("ARBITER_REQUIRE_CLAUDE") != "":
		t.Fatal("no Claude CLI found, and ARBITER_REQUIRE_CLAUDE is set")
	default:
		t.Skip("no Claude CLI found")
	}
	return path
}

// names maps names to the values that patterns remembered.
type names map[string]string

// matches reports whether got has all of want. What "$name" matched is remembered
// only if everything did.
func (n names) matches(want, got any) bool {
	bound := maps.Clone(n)
	if !bound.match(want, got) {
		return false
	}
	maps.Copy(n, bound)
	return true
}

func (n names) match(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			have, has := g[k]
			ok = ok && has && n.match(v, have)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(w) == len(g)
		for i := range w {
			ok = ok && n.match(w[i], g[i])
		}
		return ok
	case string:
		name, isName := strings.CutPrefix(w, "$")
		switch text := plain(got); {
		case len(w) > 1 && w[0] == '/' && w[len(w)-1] == '/':
			_, isText := got.(string)
			_, isNumber := got.(float64)
			return (isText || isNumber) && regexp.MustCompile("(?s)"+w[1:len(w)-1]).MatchString(text)
		case isName:
			n[name] = cmp.Or(n[name], text)
			return n[name] == text
		}
	}
	return reflect.DeepEqual(want, got)
}

// plain returns a text as it is, and other values as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, _ := json.Marshal(v) // it came from JSON
	return string(raw)
}

var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[A-Za-z_][A-Za-z_0-9]*`)
})

// expand replaces names by the remembered values; unknown names stay.
func (n names) expand(s string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		if v, ok := n[ref[1:]]; ok {
			return v
		}
		return ref
	})
}

// WireReply is one answer of the scripted model: blocks, or an HTTP error.
type WireReply struct {
	For    string            `json:"for"` // regular expression: only for requests whose body matches
	Blocks []WireBlock       `json:"blocks"`
	Hold   bool              `json:"hold"`  // stop in the middle of the first block until released, or cancelled
	Usage  *transcript.Usage `json:"usage"` // of the prompt; small numbers if absent
	Stop   string            `json:"stop"`

	Status  int               `json:"status"`
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Header  map[string]string `json:"header"`
}

// WireBlock is a text, or a tool call.
type WireBlock struct {
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	ID    string          `json:"id"` // of the call; generated if absent
}

// model serves the Messages API on loopback.
type model struct {
	*httptest.Server
	// release has room for the releases of a whole script.
	release chan struct{}

	mu       sync.Mutex
	replies  []WireReply
	bodies   []string
	more     chan struct{} // closed and replaced with each request
	problems []string
}

func startModel(t *testing.T, replies []WireReply) *model {
	m := &model{replies: slices.Clone(replies), release: make(chan struct{}, 16), more: make(chan struct{})}
	m.Server = httptest.NewServer(m)
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

type object = map[string]any

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	body := string(raw)
	w.Header().Set("content-type", "application/json")
	switch {
	case err != nil:
	case r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages"):
		w.WriteHeader(http.StatusNotFound)
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
	case !strings.Contains(body, `"stream":true`) && strings.Contains(body, `"text":"Hi"`):
		// A probe: set_model makes the CLI send "Hi" to a model that it does not know yet. A stand-in does not.
		fmt.Fprint(w,
			`{"id":"msg_probe","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Hi"}],`+
				`"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	default:
		reply, n := m.next(body)
		if reply.Status == 0 {
			m.stream(w, r.Context(), reply, n)
			return
		}
		for k, v := range reply.Header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(reply.Status)
		_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": reply.Type, "message": reply.Message}})
	}
}

// next takes the first reply for this request. An error reply stays for the retries of the CLI (it drops
// beta headers one by one).
func (m *model) next(body string) (WireReply, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, body)
	close(m.more)
	m.more = make(chan struct{})
	for i, r := range m.replies {
		if r.For != "" && !regexp.MustCompile("(?s)"+r.For).MatchString(body) {
			continue
		}
		if r.Status != http.StatusBadRequest {
			m.replies = slices.Delete(m.replies, i, i+1)
		}
		return r, len(m.bodies)
	}
	m.problems = append(m.problems, fmt.Sprintf("no reply for request %d", len(m.bodies)))
	return WireReply{Blocks: []WireBlock{{Text: "The script has no more replies."}}}, len(m.bodies)
}

// requests returns the bodies so far, and a channel that is closed by the next request.
func (m *model) requests() ([]string, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.bodies), m.more
}

// stream writes one reply as server-sent events.
func (m *model) stream(w http.ResponseWriter, ctx context.Context, r WireReply, n int) {
	w.Header().Set("content-type", "text/event-stream")
	w.Header().Set("request-id", fmt.Sprintf("req_%d", n))
	event := func(kind string, data object) {
		data["type"] = kind
		raw, _ := json.Marshal(data) // of texts and numbers
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
		w.(http.Flusher).Flush()
	}
	u := cmp.Or(r.Usage, &transcript.Usage{Input: 1000 + n, Output: 20})
	first := *u
	first.Output = 1
	event("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%03d", n), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": first,
	}})
	stop := "end_turn"
	for i, b := range r.Blocks {
		block, kind, field, text := object{"type": "text", "text": ""}, "text_delta", "text", b.Text
		if b.Tool != "" {
			id := cmp.Or(b.ID, fmt.Sprintf("toolu_%03d_%d", n, i))
			block = object{"type": "tool_use", "id": id, "name": b.Tool, "input": object{}}
			stop, kind, field, text = "tool_use", "input_json_delta", "partial_json", string(b.Input)
		}
		event("content_block_start", object{"index": i, "content_block": block})
		event("content_block_delta", object{"index": i, "delta": object{"type": kind, field: text[:len(text)/2]}})
		if r.Hold && i == 0 {
			select {
			case <-m.release:
			case <-ctx.Done():
				return
			}
		}
		event("content_block_delta", object{"index": i, "delta": object{"type": kind, field: text[len(text)/2:]}})
		event("content_block_stop", object{"index": i})
	}
	event("message_delta", object{"delta": object{"stop_reason": cmp.Or(r.Stop, stop), "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": u.Output}})
	event("message_stop", object{})
}

// WireProgram is what a case is run against.
type WireProgram struct {
	Path string
	Args []string // before those of the case
	Env  []string // beside the usual environment
}

// waitTimeout is how long a step may take before the case has failed.
const waitTimeout = 2 * time.Minute

// usualArgs start a session that is driven over stdin.
var usualArgs = []string{
	"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
	"--permission-prompt-tool", "stdio", "--setting-sources", "", "--strict-mcp-config", "--model", "claude-opus-5-5",
	"--system-prompt-snapshot", "off",
}

// RunCase plays the case.
func RunCase(t *testing.T, c *WireCase, p WireProgram) {
	t.Helper()
	cwd := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	home := t.TempDir()
	writeFiles(t, cwd, c.Files)
	m := startModel(t, c.Replies)
	known := names{"CWD": cwd, "HOME": home, "SESSION": uuid.NewString()}
	for _, pr := range c.Runs {
		h := &host{t: t, model: m, names: known, cwd: cwd, home: home}
		h.start(p, pr)
		for _, s := range append(pr.Steps, WireStep{Op: "end"}) {
			ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
			err := operations[s.Op](h, ctx, s.Arg)
			cancel()
			if err != nil {
				t.Fatalf("host line %d: %s %s: %v\n%s", s.Line, s.Op, s.Arg, err, h.transcript())
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, problem := range m.problems {
		t.Errorf("model: %s", problem)
	}
}

// host is the side of the conversation that the case plays.
type host struct {
	t         *testing.T
	model     *model
	names     names
	cwd, home string

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	frames chan any // closed at the end of stdout
	seen   []any
	stderr bytes.Buffer
	output sync.WaitGroup // is read
	exited bool
	stop   chan struct{} // closed when nothing reads frames any more
}

// HeedSignals makes children start with the default action of each signal, even if a script or nohup
// started the tests with some ignored: a signal that is caught here has its default there.
var HeedSignals = sync.OnceFunc(func() {
	for _, sig := range signals {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

func (h *host) start(p WireProgram, pr WireProcess) {
	h.t.Helper()
	HeedSignals()
	args := slices.Concat(p.Args, usualArgs)
	for _, a := range pr.Args {
		args = append(args, h.names.expand(a))
	}
	h.cmd = exec.Command(p.Path, args...)
	h.cmd.Dir = h.cwd
	h.cmd.Env = slices.Concat([]string{
		"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000",
		"ANTHROPIC_BASE_URL=" + h.model.URL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}, p.Env, pr.Env)
	h.stdin = testkit.Must(h.cmd.StdinPipe())(h.t)
	stdout := testkit.Must(h.cmd.StdoutPipe())(h.t)
	stderr := testkit.Must(h.cmd.StderrPipe())(h.t)
	testkit.OK(h.t, h.cmd.Start())
	h.frames, h.stop = make(chan any), make(chan struct{})
	h.output.Go(func() { _, _ = io.Copy(&h.stderr, stderr) })
	h.output.Go(func() { h.read(stdout) })
	h.t.Cleanup(func() { // ends what a failed case left running
		if !h.exited {
			_ = h.cmd.Process.Kill()
			close(h.stop)
			h.output.Wait()
			_ = h.cmd.Wait()
		}
	})
}

func (h *host) read(stdout io.Reader) {
	defer close(h.frames)
	for r := bufio.NewReader(stdout); ; {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var frame any
			if json.Unmarshal(line, &frame) != nil {
				frame = object{"type": "NO JSON", "line": string(line)}
			}
			select {
			case h.frames <- frame:
			case <-h.stop:
			}
		}
		if err != nil {
			return
		}
	}
}

// operations are the steps of a host. end is the last of each.
var operations = map[string]func(h *host, ctx context.Context, arg string) error{
	">": func(h *host, _ context.Context, arg string) error {
		_, err := io.WriteString(h.stdin, h.names.expand(arg)+"\n")
		return err
	},
	"<": func(h *host, ctx context.Context, arg string) error {
		want := pattern(h.names.expand(arg))
		over, err := h.await(ctx, func(frame any) bool { return h.names.matches(want, frame) })
		if over {
			return errors.New("stdout ended")
		}
		return err
	},
	"!": func(h *host, _ context.Context, arg string) error {
		for _, f := range h.seen {
			if h.names.matches(pattern(h.names.expand(arg)), f) {
				return fmt.Errorf("but there was %s", plain(f))
			}
		}
		return nil
	},
	"saw": func(h *host, _ context.Context, arg string) error {
		n, re, _ := strings.Cut(arg, " ")
		bodies, _ := h.model.requests()
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > len(bodies) {
			return fmt.Errorf("there were %d requests", len(bodies))
		}
		return look(h.names.expand(re), bodies[i-1])
	},
	"requests": func(h *host, _ context.Context, arg string) error {
		if bodies, _ := h.model.requests(); strconv.Itoa(len(bodies)) != arg {
			return fmt.Errorf("there were %d", len(bodies))
		}
		return nil
	},
	"called": func(h *host, ctx context.Context, arg string) error {
		n, err := strconv.Atoi(arg)
		for bodies, more := h.model.requests(); err == nil && len(bodies) < n; bodies, more = h.model.requests() {
			select {
			case <-more:
			case <-ctx.Done():
				err = fmt.Errorf("there were %d requests within %s", len(bodies), waitTimeout)
			}
		}
		return err
	},
	"release": func(h *host, _ context.Context, _ string) error {
		h.model.release <- struct{}{} // lets one held reply continue, even one that is still to come
		return nil
	},
	"eof": func(h *host, _ context.Context, _ string) error {
		h.stdin.Close()
		return nil
	},
	"signal": func(h *host, _ context.Context, arg string) error {
		if signals[arg] == nil {
			return errors.New("unknown signal")
		}
		return h.cmd.Process.Signal(signals[arg])
	},
	"exit": (*host).exit,
	"end": func(h *host, ctx context.Context, _ string) error {
		h.stdin.Close()
		if h.exited {
			return nil
		}
		return h.exit(ctx, "")
	},
	"stderr": func(h *host, _ context.Context, arg string) error { return look(arg, h.stderr.String()) },
	"file":   func(h *host, _ context.Context, arg string) error { return h.fileMatches(arg) },
	"until": func(h *host, ctx context.Context, arg string) error { // another process writes it without a notification
		for {
			err := h.fileMatches(arg)
			if err == nil || ctx.Err() != nil {
				return err
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	},
	"touch": func(h *host, _ context.Context, arg string) error {
		return os.WriteFile(filepath.Join(h.cwd, arg), nil, 0o644)
	},
}

// exit waits for the end of the process, with any code if none is given.
func (h *host) exit(ctx context.Context, code string) error {
	if _, err := h.await(ctx, func(any) bool { return false }); err != nil {
		return err
	}
	h.output.Wait()
	h.exited = true
	_ = h.cmd.Wait() // its ProcessState has the exit code
	h.stdin.Close()
	if got := strconv.Itoa(h.cmd.ProcessState.ExitCode()); got != cmp.Or(code, got) {
		return errors.New("exit code " + got)
	}
	return nil
}

func (h *host) fileMatches(arg string) error {
	glob, re, _ := strings.Cut(arg, " ")
	glob = h.names.expand(glob)
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(h.cwd, glob)
	}
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) != 1 {
		return errors.New("files: " + strings.Join(paths, " "))
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	return look(h.names.expand(re), string(raw))
}

// look fails unless the text matches the regular expression.
func look(expr, text string) error {
	re, err := regexp.Compile("(?s)" + expr)
	if err == nil && !re.MatchString(text) {
		err = fmt.Errorf("it is %.4000s", text)
	}
	return err
}

func pattern(s string) (v any) {
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		panic("pattern " + s + ": " + err.Error())
	}
	return v
}

// await reads frames until one is wanted, or stdout is over.
func (h *host) await(ctx context.Context, wanted func(frame any) bool) (over bool, err error) {
	for {
		select {
		case f, ok := <-h.frames:
			if !ok {
				return true, nil
			}
			h.seen = append(h.seen, f)
			if wanted(f) {
				return false, nil
			}
		case <-ctx.Done():
			return false, errors.New("not within " + waitTimeout.String())
		}
	}
}

// transcript lists the frames of the process, for a failure message.
func (h *host) transcript() string {
	var b strings.Builder
	for _, f := range h.seen {
		fmt.Fprintf(&b, "  < %.600s\n", plain(f))
	}
	return b.String()
}

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}
