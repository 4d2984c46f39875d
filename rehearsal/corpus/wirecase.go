package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/tools/txtar"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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
	Files   map[string][]byte // of the working directory
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
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load case: %w", err)
	}
	c := &WireCase{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Files: map[string][]byte{}}
	sections := map[string][]byte{}
	for _, f := range txtar.Parse(raw).Files {
		if name, ok := strings.CutPrefix(f.Name, "work/"); ok {
			c.Files[name] = f.Data
			continue
		}
		sections[f.Name] = f.Data
	}
	for i, line := range lines(sections["model"]) {
		var r WireReply
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: model reply %d: %w", c.Name, i+1, err)
		}
		c.Replies = append(c.Replies, r)
	}
	delete(sections, "model")
	for n := 1; ; n++ {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf(".%d", n)
		}
		host, ok := sections["host"+suffix]
		if !ok {
			break
		}
		steps, err := parseSteps(host)
		if err != nil {
			return nil, fmt.Errorf("%s: host%s: %w", c.Name, suffix, err)
		}
		c.Runs = append(c.Runs, WireProcess{lines(sections["args"+suffix]), lines(sections["env"+suffix]), steps})
		for _, s := range []string{"host", "args", "env"} {
			delete(sections, s+suffix)
		}
	}
	for name := range sections {
		return nil, fmt.Errorf("%s: unknown section %q", c.Name, name)
	}
	if len(c.Runs) == 0 {
		return nil, fmt.Errorf("%s: no host section", c.Name)
	}
	return c, nil
}

// LoadAll reads all cases that match a glob.
func LoadAll(t *testing.T, glob string) []*WireCase {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases match %s (%v)", glob, err)
	}
	var out []*WireCase
	for _, p := range paths {
		c := testkit.Must(loadOne(p))(t)
		out = append(out, c)
	}
	return out
}

func lines(b []byte) (out []string) {
	for _, l := range strings.Split(string(b), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

func parseSteps(b []byte) (out []WireStep, err error) {
	for i, l := range bytes.Split(b, []byte("\n")) {
		line := strings.TrimSpace(string(l))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		op, arg, _ := strings.Cut(line, " ")
		_, known := operations[op]
		switch {
		case !known:
			return nil, fmt.Errorf("line %d: unknown step %q", i+1, op)
		case (op != "release" && op != "eof") != (arg != ""):
			return nil, fmt.Errorf("line %d: step %q: wrong number of arguments", i+1, op)
		case (op == "<" || op == "!") && !json.Valid([]byte(arg)):
			return nil, fmt.Errorf("line %d: the pattern is not JSON: %s", i+1, arg)
		}
		out = append(out, WireStep{i + 1, op, arg})
	}
	return out, nil
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
	bound := names{}
	if !n.match(want, got, bound) {
		return false
	}
	for k, v := range bound {
		n[k] = v
	}
	return true
}

func (n names) match(want, got any, bound names) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			have, ok := g[k]
			if !ok || !n.match(v, have, bound) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !n.match(w[i], g[i], bound) {
				return false
			}
		}
		return true
	case string:
		return n.matchText(w, got, bound)
	}
	return reflect.DeepEqual(want, got)
}

func (n names) matchText(want string, got any, bound names) bool {
	if len(want) > 1 && want[0] == '/' && want[len(want)-1] == '/' {
		s, ok := got.(string)
		if n, number := got.(float64); number {
			s, ok = strconv.FormatFloat(n, 'f', -1, 64), true
		}
		return ok && regexp.MustCompile("(?s)"+want[1:len(want)-1]).MatchString(s)
	}
	if name, ok := strings.CutPrefix(want, "$"); ok {
		text, isText := got.(string)
		if !isText {
			raw, err := json.Marshal(got)
			if err != nil {
				return false
			}
			text = string(raw)
		}
		for _, known := range []names{n, bound} {
			if v, ok := known[name]; ok {
				return v == text
			}
		}
		bound[name] = text
		return true
	}
	return want == got
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
	For    string      `json:"for"` // regular expression: only for requests whose body matches
	Blocks []WireBlock `json:"blocks"`
	Hold   bool        `json:"hold"`  // stop in the middle of the first block until released, or cancelled
	Usage  *WireUsage  `json:"usage"` // of the prompt; small numbers if absent
	Stop   string      `json:"stop"`

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

// WireUsage is the token count that a reply claims.
type WireUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// model serves the Messages API on loopback.
type model struct {
	t      *testing.T
	server *http.Server
	url    string
	ended  chan struct{}
	// release has room for the releases of a whole script.
	release chan struct{}

	mu       sync.Mutex
	replies  []WireReply
	bodies   []string
	calls    int
	more     chan struct{} // closed and replaced with each request
	problems []string
}

func startModel(t *testing.T, replies []WireReply) *model {
	t.Helper()
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	m := &model{t: t, url: "http://" + l.Addr().String(), replies: append([]WireReply(nil), replies...),
		release: make(chan struct{}, 16), more: make(chan struct{}), ended: make(chan struct{})}
	m.server = &http.Server{Handler: m}
	go func() {
		defer close(m.ended)
		m.server.Serve(l)
	}()
	t.Cleanup(func() {
		m.server.Close()
		<-m.ended
	})
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return
	case r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages"):
		w.WriteHeader(http.StatusNotFound)
		return
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
		return
	}
	if isProbe(string(body)) {
		w.Header().Set("content-type", "application/json")
		fmt.Fprint(w,
			`{"id":"msg_probe","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Hi"}],`+
				`"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
		return
	}
	reply, n, release := m.next(string(body))
	if reply.Status != 0 {
		for k, v := range reply.Header {
			w.Header().Set(k, v)
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(reply.Status)
		json.NewEncoder(w).Encode(map[string]any{"type": "error",
			"error": map[string]string{"type": reply.Type, "message": reply.Message}})
		return
	}
	(&answerStream{w: w, r: r, n: n, release: release}).write(reply)
}

// isProbe reports whether a request is a probe: set_model makes the CLI send "Hi" to a model that it does
// not know yet, not as a stream. A stand-in does not.
func isProbe(body string) bool {
	return !strings.Contains(body, `"stream":true`) && strings.Contains(body, `"text":"Hi"`)
}

// next takes the first reply for this request. An error reply stays for the retries of the CLI (it drops
// beta headers one by one).
func (m *model) next(body string) (WireReply, int, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, body)
	m.calls++
	close(m.more)
	m.more = make(chan struct{})
	for i, r := range m.replies {
		if r.For != "" && !regexp.MustCompile("(?s)"+r.For).MatchString(body) {
			continue
		}
		if r.Status != http.StatusBadRequest {
			m.replies = append(m.replies[:i:i], m.replies[i+1:]...)
		}
		return r, m.calls, m.release
	}
	m.problems = append(m.problems, fmt.Sprintf("no reply for request %d", m.calls))
	return WireReply{Blocks: []WireBlock{{Text: "The script has no more replies."}}}, m.calls, m.release
}

// await waits until there were so many requests.
func (m *model) await(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		m.mu.Lock()
		calls, more := m.calls, m.more
		m.mu.Unlock()
		if calls >= n {
			return nil
		}
		select {
		case <-more:
		case <-deadline.C:
			return fmt.Errorf("there were %d requests within %s", calls, waitTimeout)
		}
	}
}

func (m *model) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.bodies...)
}

func (m *model) check(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.problems {
		t.Errorf("model: %s", p)
	}
}

// answerStream writes one reply as server-sent events.
type answerStream struct {
	w       http.ResponseWriter
	r       *http.Request
	n       int
	release <-chan struct{}
}

func (s *answerStream) event(kind string, data map[string]any) {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw)
	s.w.(http.Flusher).Flush()
}

func (s *answerStream) write(r WireReply) {
	s.w.Header().Set("content-type", "text/event-stream")
	s.w.Header().Set("request-id", fmt.Sprintf("req_%d", s.n))
	u := WireUsage{Input: 1000 + s.n, Output: 20}
	if r.Usage != nil {
		u = *r.Usage
	}
	s.event("message_start", map[string]any{"message": map[string]any{
		"id": fmt.Sprintf("msg_%03d", s.n), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": u.Input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
			"output_tokens": 1},
	}})
	stop := "end_turn"
	for i, b := range r.Blocks {
		if b.Tool != "" {
			stop = "tool_use"
		}
		if !s.block(i, b, r.Hold && i == 0) {
			return
		}
	}
	if r.Stop != "" {
		stop = r.Stop
	}
	s.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": u.Output}})
	s.event("message_stop", map[string]any{})
}

// block writes one content block; false: the client has gone.
func (s *answerStream) block(i int, b WireBlock, hold bool) bool {
	opening, delta := map[string]any{"type": "text", "text": ""}, "text_delta"
	text := b.Text
	if b.Tool != "" {
		if b.ID == "" {
			b.ID = fmt.Sprintf("toolu_%03d_%d", s.n, i)
		}
		opening = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": map[string]any{}}
		delta, text = "input_json_delta", string(b.Input)
	}
	s.event("content_block_start", map[string]any{"index": i, "content_block": opening})
	half := len(text) / 2
	for n, part := range []string{text[:half], text[half:]} {
		if n == 1 && hold {
			select {
			case <-s.release:
			case <-s.r.Context().Done():
				return false
			}
		}
		d := map[string]any{"type": delta}
		if b.Tool != "" {
			d["partial_json"] = part
		} else {
			d["text"] = part
		}
		s.event("content_block_delta", map[string]any{"index": i, "delta": d})
	}
	s.event("content_block_stop", map[string]any{"index": i})
	return true
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
	for name, data := range c.Files {
		path := filepath.Join(cwd, filepath.FromSlash(name))
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(t, os.WriteFile(path, data, 0o644))
	}
	m := startModel(t, c.Replies)
	known := names{"CWD": cwd, "HOME": home, "SESSION": uuid.NewString()}
	for _, pr := range c.Runs {
		h := &host{t: t, model: m, names: known, cwd: cwd, home: home}
		h.start(p, pr)
		for _, s := range pr.Steps {
			h.step(s)
		}
		h.end()
	}
	m.check(t)
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
	errEnd sync.WaitGroup
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
	args := append(append([]string{}, p.Args...), usualArgs...)
	for _, a := range pr.Args {
		args = append(args, h.names.expand(a))
	}
	h.cmd = exec.Command(p.Path, args...)
	h.cmd.Dir = h.cwd
	h.cmd.Env = append([]string{
		"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000",
		"ANTHROPIC_BASE_URL=" + h.model.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}, p.Env...)
	h.cmd.Env = append(h.cmd.Env, pr.Env...)
	var err error
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	stdout := testkit.Must(h.cmd.StdoutPipe())(h.t)
	stderr := testkit.Must(h.cmd.StderrPipe())(h.t)
	testkit.OK(h.t, h.cmd.Start())
	h.frames, h.stop = make(chan any), make(chan struct{})
	h.errEnd.Go(func() { io.Copy(&h.stderr, stderr) })
	h.errEnd.Go(func() { h.read(stdout) })
	h.t.Cleanup(h.abandon)
}

// abandon ends what a failed case left running.
func (h *host) abandon() {
	if !h.exited {
		h.exited = true
		h.cmd.Process.Kill()
		close(h.stop)
		h.errEnd.Wait()
		h.cmd.Wait()
	}
}

func (h *host) read(stdout io.Reader) {
	defer close(h.frames)
	for r := bufio.NewReader(stdout); ; {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var frame any
			if json.Unmarshal(line, &frame) != nil {
				frame = map[string]any{"type": "NO JSON", "line": string(line)}
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

func (h *host) step(s WireStep) {
	h.t.Helper()
	if err := operations[s.Op](h, s.Arg); err != nil {
		h.t.Fatalf("host line %d: %s %s: %v\n%s", s.Line, s.Op, s.Arg, err, h.transcript())
	}
}

// operations are the steps of a host.
var operations = map[string]func(h *host, arg string) error{
	">": func(h *host, arg string) error {
		_, err := io.WriteString(h.stdin, h.names.expand(arg)+"\n")
		return err
	},
	"<": func(h *host, arg string) error { return h.await(pattern(h.names.expand(arg))) },
	"!": func(h *host, arg string) error {
		for _, f := range h.seen {
			if h.names.matches(pattern(h.names.expand(arg)), f) {
				raw, _ := json.Marshal(f)
				return fmt.Errorf("but there was %s", raw)
			}
		}
		return nil
	},
	"saw": func(h *host, arg string) error {
		n, re, _ := strings.Cut(arg, " ")
		bodies := h.model.requests()
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > len(bodies) {
			return fmt.Errorf("there were %d requests", len(bodies))
		}
		return look(h.names.expand(re), bodies[i-1])
	},
	"requests": func(h *host, arg string) error {
		if n := strconv.Itoa(len(h.model.requests())); n != arg {
			return errors.New("there were " + n)
		}
		return nil
	},
	"called": func(h *host, arg string) error { return h.model.await(arg) },
	"release": func(h *host, _ string) error {
		h.model.release <- struct{}{} // lets one held reply continue, even one that is still to come
		return nil
	},
	"eof": func(h *host, _ string) error {
		h.stdin.Close()
		return nil
	},
	"signal": func(h *host, arg string) error { return sendSignal(h.cmd.Process, arg) },
	"exit":   (*host).awaitExit,
	"stderr": func(h *host, arg string) error { return look(arg, h.stderr.String()) },
	"file":   (*host).fileMatches,
	"until":  (*host).untilFile,
	"touch":  func(h *host, arg string) error { return os.WriteFile(filepath.Join(h.cwd, arg), nil, 0o644) },
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
	if err != nil {
		return err
	}
	if re.MatchString(text) {
		return nil
	}
	const shown = 4000
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return errors.New("it is " + text)
}

// untilFile polls a file, because another process writes it without a notification.
func (h *host) untilFile(arg string) error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		err := h.fileMatches(arg)
		if err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return err
		}
	}
}

func pattern(s string) (v any) {
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		panic("pattern " + s + ": " + err.Error())
	}
	return v
}

func (h *host) await(want any) error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-h.frames:
			if !ok {
				return errors.New("stdout ended")
			}
			h.seen = append(h.seen, f)
			if h.names.matches(want, f) {
				return nil
			}
		case <-deadline.C:
			return errors.New("no such frame within " + waitTimeout.String())
		}
	}
}

func (h *host) awaitExit(code string) error {
	if err := h.drain(); err != nil {
		return err
	}
	if got := strconv.Itoa(h.cmd.ProcessState.ExitCode()); got != code {
		return errors.New("exit code " + got)
	}
	return nil
}

// drain reads the remaining output of the process, until it has ended.
func (h *host) drain() error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-h.frames:
			if ok {
				h.seen = append(h.seen, f)
				continue
			}
			h.errEnd.Wait()
			h.exited = true
			h.cmd.Wait() // its ProcessState has the exit code
			h.stdin.Close()
			return nil
		case <-deadline.C:
			return errors.New("still running after " + waitTimeout.String())
		}
	}
}

// end closes a process whose script has no exit step.
func (h *host) end() {
	h.t.Helper()
	if h.exited {
		return
	}
	h.stdin.Close()
	if err := h.drain(); err != nil {
		h.t.Fatalf("after the end of its script: %v\n%s", err, h.transcript())
	}
}

// transcript lists the frames of the process, for a failure message.
func (h *host) transcript() string {
	var b strings.Builder
	for _, f := range h.seen {
		raw, _ := json.Marshal(f)
		if len(raw) > 600 {
			raw = append(raw[:600], "…"...)
		}
		b.WriteString("  < ")
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}

func sendSignal(p *os.Process, name string) error {
	s, ok := signals[name]
	if !ok {
		return fmt.Errorf("unknown signal %q", name)
	}
	return p.Signal(s)
}
