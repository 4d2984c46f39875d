package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// BenchmarkHop measures one routed hop: from the agent's `result` line to the line of the next message, through
// bridge, supervisor and back. The baseline, measured in the same run, is a line of the same length echoed over
// the same kind of pipes.
func BenchmarkHop(b *testing.B) {
	hops := hopTimes(b, b.N, nil)
	b.StopTimer()
	base := echoTimes(b, len(hops))
	b.ReportMetric(float64(quantile(hops, 0.5).Nanoseconds()), "hop-p50-ns")
	b.ReportMetric(float64(quantile(hops, 0.99).Nanoseconds()), "hop-p99-ns")
	b.ReportMetric(float64(quantile(base, 0.5).Nanoseconds()), "echo-p50-ns")
	b.ReportMetric(float64(quantile(base, 0.99).Nanoseconds()), "echo-p99-ns")
}

// BenchmarkHopWithClients measures the same while ten clients are connected: four that follow the run, three
// that are stopped, and three that connected and read nothing. The baseline is the hop after all clients have
// left; the two are measured in turns.
func BenchmarkHopWithClients(b *testing.B) {
	const rounds = 4
	var alone, crowded []time.Duration
	for range rounds {
		alone = append(alone, hopTimes(b, b.N/rounds+10, clientsThatLeft)...)
		crowded = append(crowded, hopTimes(b, b.N/rounds+10, tenClients)...)
	}
	b.ReportMetric(float64(quantile(alone, 0.99).Nanoseconds()), "alone-p99-ns")
	b.ReportMetric(float64(quantile(crowded, 0.99).Nanoseconds()), "clients-p99-ns")
}

// hopTimes plays a run with that many hops. It calls beside when the run's socket exists, and measures the hops
// after beside has returned.
func hopTimes(b *testing.B, hops int, beside func(b *testing.B, state, run string) (end func())) []time.Duration {
	b.Helper()
	hopper := testkit.Must(exec.LookPath("hopper"))(b)
	work, state := b.TempDir(), b.TempDir()
	testkit.OK(b, os.WriteFile(filepath.Join(work, "hops"), []byte(strconv.Itoa(hops)), 0o600))
	wait := filepath.Join(work, "wait")
	if beside != nil {
		testkit.OK(b, os.WriteFile(wait, nil, 0o600))
	}
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", hopper, "--cwd", work, "--task", "hop",
		"--state-dir", state, "--max-exchanges", strconv.Itoa(hops+100_000))
	cmd.Env = []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH")}
	var output strings.Builder
	cmd.Stderr = &output
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	lines := bufio.NewReader(out)
	first, err := lines.ReadBytes('\n')
	testkit.Check(b, err == nil, "the first line: %v", err)
	var printed sync.WaitGroup
	printed.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	if err == nil && beside != nil {
		var line contract.Line
		if line, err = contract.DecodeLine(first); err != nil {
			b.Error(err)
		} else {
			defer beside(b, state, line.Body.(contract.Session).Session)()
		}
		testkit.OK(b, os.Remove(wait))
	}
	printed.Wait()
	err = cmd.Wait()
	testkit.Need(b, err == nil, "%v: %s", err, output.String())
	return readTimes(b, filepath.Join(work, "hop-times"))
}

// clientsThatLeft connects ten clients and disconnects them.
func clientsThatLeft(b *testing.B, state, run string) (end func()) {
	tenClients(b, state, run)()
	return func() {}
}

// tenClients connects ten clients and waits until those that follow the run have printed something.
func tenClients(b *testing.B, state, run string) (end func()) {
	var list []*exec.Cmd
	var conns []net.Conn
	var printed sync.WaitGroup
	for n := range 7 {
		cmd := exec.Command("arbiter", "watch", "--since", "-1", "--state-dir", state, run)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Error(err)
			continue
		}
		list = append(list, cmd)
		lines := bufio.NewReader(out)
		testkit.Works(b, "the first line of a client", testkit.Err(lines.ReadBytes('\n')))
		printed.Go(func() { _, _ = io.Copy(io.Discard, lines) })
		if n >= 4 {
			_ = cmd.Process.Signal(syscall.SIGSTOP)
		}
	}
	for range 3 {
		conn, err := net.Dial("unix", filepath.Join(state, "runs", run, control.SocketName))
		if err != nil {
			b.Error(err)
			continue
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		for _, cmd := range list {
			_ = cmd.Process.Kill() // it may have ended already
		}
		printed.Wait()
		for _, cmd := range list {
			_ = cmd.Wait()
		}
	}
}

func readTimes(b *testing.B, path string) []time.Duration {
	b.Helper()
	raw := testkit.Must(os.ReadFile(path))(b)
	var times []time.Duration
	for line := range strings.Lines(string(raw)) {
		n := testkit.Must(strconv.Atoi(strings.TrimSpace(line)))(b)
		times = append(times, time.Duration(n))
	}
	return times
}

// echoTimes measures a program of this binary that echoes lines.
func echoTimes(b *testing.B, n int) []time.Duration {
	b.Helper()
	cmd := exec.Command("echo-lines")
	in := testkit.Must(cmd.StdinPipe())(b)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	r := bufio.NewReaderSize(out, 1<<20)
	line := strings.Repeat("x", 500) + "\n"
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		testkit.Must(io.WriteString(in, line))(b)
		testkit.Must(r.ReadString('\n'))(b)
		times[i] = time.Since(began)
	}
	_ = in.Close()
	_ = cmd.Wait()
	return times
}

func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// BenchmarkStart measures the time from the start of `arbiter --json` until the Arbiter's model has answered a request
// with the task. The baseline is the bare CLI, without arbiter, up to its model's answer.
func BenchmarkStart(b *testing.B) {
	claude := benchClaude(b)
	model := serve(b, playOf(anybody(says("Here.")))) // only the start is measured
	var taken, bare []time.Duration
	for b.Loop() {
		taken = append(taken, timeArbiter(b, claude, model))
		bare = append(bare, timeBare(b, claude, model))
	}
	b.ReportMetric(ms(quantile(taken, 0.5)), "task-taken-ms")
	b.ReportMetric(ms(quantile(bare, 0.5)), "bare-cli-ms")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func pss(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			kb := testkit.Must(strconv.Atoi(f[1]))(b)
			return float64(kb) / 1024
		}
	}
	b.Fatal("no Pss")
	return 0
}

// BenchmarkToolCall measures a tool call of an agent, from one result to the next, and the processor time of the host
// and the bridge for it, its messages included, with deny rules about commands and files. The baseline, measured in the
// same run and in turns, is the bare CLI with the same calls; its commands do not count as its processor time. It plays
// the pinned CLI.
func BenchmarkToolCall(b *testing.B) {
	claude := benchClaude(b)
	const warm, calls = 20, 100
	var ours, cli time.Duration
	var through, bare []time.Duration
	rounds := max(1, b.N/calls)
	for range rounds {
		t := callsThroughArbiter(b, claude, warm, calls)
		ours, cli, through = ours+t.ours, cli+t.cli, append(through, t.took)
		bare = append(bare, callsOfTheBareCLI(b, claude, warm, calls))
	}
	each := func(d time.Duration, of int) float64 { return d.Seconds() * 1000 / float64(of) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each(ours, rounds*calls), "ms-ours")
	b.ReportMetric(each(cli, rounds*calls), "ms-cli")
	b.ReportMetric(each(quantile(through, 0.5), calls), "through-ms")
	b.ReportMetric(each(quantile(bare, 0.5), calls), "bare-ms")
}

// timedCalls is what calls took, in all, and the processor time for them.
type timedCalls struct{ took, ours, cli time.Duration }

// callsThroughArbiter plays an Orchestrator that calls a tool again and again.
func callsThroughArbiter(b *testing.B, claude string, warm, calls int) (t timedCalls) {
	b.Helper()
	model := modelThatCalls(b, arbiter(summons("Look."), complete("s")), "orchestrator", warm+calls, done("Looked."))
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", claude, "--cwd", b.TempDir(), "--task", "look",
		"--state-dir", b.TempDir(), "--sandbox", "off", "--allow", "Bash(true)", "--deny", "Bash(git push *)", "--deny",
		"Bash(rm -rf *)", "--deny", "Read(.env)", "--ask", "Bash(sudo *)")
	cmd.Env = modelEnv(b, model)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	used := func() timedCalls {
		bridgePID, ok := childNamed(cmd.Process.Pid, "bridge")
		if !ok {
			b.Skip("no /proc here")
		}
		now := timedCalls{ours: processorTime(b, cmd.Process.Pid) + processorTime(b, bridgePID)}
		for _, pid := range childrenOf(bridgePID) {
			now.cli += processorTime(b, pid)
		}
		return now
	}
	var at timedCalls
	t.took = timeResults(b, out, warm, calls, func(text []byte) bool {
		line, err := contract.DecodeLine(text)
		_, ok := line.Body.(contract.ToolResult)
		return err == nil && ok
	}, func() { at, t = t, used() })
	t.ours, t.cli = t.ours-at.ours, t.cli-at.cli
	_, _ = io.Copy(io.Discard, out)
	return t
}

// callsOfTheBareCLI plays the same calls, with the same rules, without Arbiter.
func callsOfTheBareCLI(b *testing.B, claude string, warm, calls int) time.Duration {
	b.Helper()
	model := modelThatCalls(b, nil, "any", warm+calls, object{"say": "Looked."})
	cmd := exec.Command(claude, "-p", "look", "--output-format", "stream-json", "--verbose", "--setting-sources", "",
		"--settings", `{"permissions":{"allow":["Bash(true)"],"ask":["Bash(sudo *)"],"deny":["Bash(git push *)",`+
			`"Bash(rm -rf *)","Read(.env)"]}}`)
	cmd.Env, cmd.Dir = modelEnv(b, model), b.TempDir()
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	took := timeResults(b, out, warm, calls, func(text []byte) bool {
		return bytes.HasPrefix(text, []byte(`{"type":"user"`))
	}, func() {})
	_, _ = io.Copy(io.Discard, out)
	return took
}

// modelThatCalls starts a model that plays an actor, and one that runs a command some times before its last step.
func modelThatCalls(b *testing.B, other object, role string, calls int, last object) *rehearsal.Server {
	b.Helper()
	actors := []object{actor("caller", object{"role": role}, []object{with(bash("true"), "repeat", calls), last})}
	if other != nil {
		actors = append([]object{other}, actors...)
	}
	return serve(b, playOf(actors...))
}

// timeResults returns the time between two results among the lines of out, and calls at at both.
func timeResults(b *testing.B, out io.Reader, warm, calls int, result func(line []byte) bool, at func()) time.Duration {
	b.Helper()
	var began time.Time
	lines, seen := bufio.NewReaderSize(out, 1<<20), 0
	for {
		text, err := lines.ReadBytes('\n')
		testkit.Need(b, err == nil, "%d of %d calls were seen: %v", seen, warm+calls, err)
		if !result(text) {
			continue
		}
		switch seen++; seen {
		case warm:
			at()
			began = time.Now()
		case warm + calls:
			took := time.Since(began)
			at()
			return took
		}
	}
}

func benchClaude(b *testing.B) string {
	b.Helper()
	path := testkit.Must(pinnedClaude())(b)
	if path == "" {
		b.Skip("no claude: run scripts/setup")
	}
	return path
}

func modelEnv(b *testing.B, s *rehearsal.Server) []string {
	return append(asksOf(s), "HOME="+b.TempDir(), "PATH="+os.Getenv("PATH"), "XDG_CACHE_HOME="+host.CacheHome(),
		"DISABLE_AUTOUPDATER=1")
}

func timeArbiter(b *testing.B, claude string, s *rehearsal.Server) time.Duration {
	b.Helper()
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", claude, "--task", "begin")
	cmd.Env, cmd.Dir = modelEnv(b, s), b.TempDir()
	began := time.Now()
	timeLines(b, cmd, nil, func(line []byte, _ io.Writer) bool {
		l := testkit.Must(contract.DecodeLine(line))(b)
		_, ok := l.Body.(contract.Delivered)
		return ok
	})
	return time.Since(began)
}

// timeBare drives the CLI in the simplest way: initialize, one message, and the frame with the model's answer.
func timeBare(b *testing.B, claude string, s *rehearsal.Server) time.Duration {
	b.Helper()
	cmd := exec.Command(claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--setting-sources", "user", "--session-id", uuid.NewString())
	cmd.Env, cmd.Dir = modelEnv(b, s), b.TempDir()
	began := time.Now()
	timeLines(b, cmd, []byte(`{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`+"\n"),
		func(line []byte, in io.Writer) bool {
			var m struct {
				Type string `json:"type"`
			}
			testkit.OK(b, json.Unmarshal(line, &m))
			if m.Type == "control_response" {
				fmt.Fprintf(in, `{"type":"user","uuid":%q,"message":{"role":"user","content":"begin"},"parent_tool_use_id":null}`+"\n", uuid.NewString())
			}
			return m.Type == "assistant"
		})
	return time.Since(began)
}

// timeLines runs a command until it prints the awaited line.
func timeLines(b *testing.B, cmd *exec.Cmd, hello []byte, awaited func(line []byte, in io.Writer) bool) {
	b.Helper()
	in := testkit.Must(cmd.StdinPipe())(b)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	testkit.Must(in.Write(hello))(b)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line := testkit.Must(r.ReadBytes('\n'))(b)
		if awaited(line, in) {
			break
		}
	}
	b.StopTimer()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.StartTimer()
}

// hopper is a minimal agent: it answers every message at once with a verdict, and measures how long the next
// message takes to come. It runs in place of the CLI, so the result is the cost of arbiter and its bridge.
//
// It reads the number of hops to make from the file `hops` in its working directory, and writes the measured
// times to `hop-times` there, in nanoseconds. While there is a file `wait`, hops do not count. If there is a
// file `stay`, the Arbiter asks the human after the hops, and the run stays live.
func hopper() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.329 (Claude Code)")
		return
	}
	text, err := os.ReadFile("hops")
	if err != nil {
		panic(err)
	}
	hops, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	_, err = os.Stat("stay")
	h := &hopping{left: hops, stays: err == nil, out: os.Stdout, orchestrator: !slices.Contains(os.Args, "--tools")}
	_, err = os.Stat("wait")
	h.waits = err == nil
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		h.line(line)
	}
}

type hopping struct {
	left         int
	orchestrator bool
	stays        bool
	waits        bool // hops do not count yet
	out          io.Writer
	wrote        time.Time
	asked        bool // the last verdict was a question, which goes through the Arbiter
	times        []time.Duration
	session      string
}

func (h *hopping) line(line []byte) {
	received := time.Now()
	var m struct {
		Type    string `json:"type"`
		UUID    string `json:"uuid"`
		ID      string `json:"request_id"`
		Request struct {
			Subtype string `json:"subtype"`
		} `json:"request"`
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Type {
	case "control_request":
		payload := "{}"
		if m.Request.Subtype == "get_context_usage" {
			payload = `{"totalTokens":10,"maxTokens":200000,"rawMaxTokens":200000,"isAutoCompactEnabled":false}`
		}
		fmt.Fprintf(h.out, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`+
			"\n", m.ID, payload)
	case "user":
		if !h.wrote.IsZero() && !h.asked && !h.waits {
			h.times = append(h.times, received.Sub(h.wrote))
		}
		h.answer(m.UUID, m.Message.Content)
	}
}

// lastQuestion is the Arbiter's question after the hops of a run that stays live.
const lastQuestion = "Proceed?"

const hopDocument = `{"accomplished":["hops"],"remaining":[],"key_context":"none","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}`

// answer ends the turn: the Arbiter spawns once, answers questions, and completes
// when it reads anything else; the Orchestrator reports until its hops are made.
func (h *hopping) answer(uuid, text string) {
	verdict := `{"decision":"COMPLETE","message":"done","reason":"r","summary":"s"}`
	h.asked = false
	switch {
	case h.orchestrator && h.left > 0 && h.left%50 == 0:
		// Every 50th verdict is a question, as an Orchestrator asks: the work log is sent along with it.
		h.left--
		h.asked = true
		verdict = `{"expects_response":true,"kind":"question","message":"on?"}`
	case h.orchestrator && h.left > 0:
		if h.waits {
			_, err := os.Stat("wait")
			h.waits = err == nil
		} else {
			h.left--
		}
		verdict = `{"expects_response":false,"kind":"progress","message":"on"}`
	case h.orchestrator:
		h.save()
		verdict = `{"expects_response":true,"kind":"done","message":"done","handoff":` + hopDocument + `}`
	case !h.orchestrator && strings.Contains(text, "kind: question"):
		verdict = `{"decision":"ADDRESS_ORCHESTRATOR","to":"orch-1","message":"on","reason":"r"}`
	case h.stays && !h.wrote.IsZero():
		verdict = `{"decision":"ADDRESS_HUMAN","message":"` + lastQuestion + `","reason":"r"}`
	case h.wrote.IsZero():
		verdict = `{"decision":"SELECT_MODE","mode":"developer","message":"hop","reason":"r"}`
	}
	fmt.Fprintf(h.out, `{"type":"command_lifecycle","command_uuid":%q,"state":"started"}`+"\n", uuid)
	// A turn with a tool is work: after three reports without any the supervisor lets an Orchestrator wait.
	fmt.Fprintf(h.out, `{"type":"assistant","message":{"id":"msg-%[1]s","role":"assistant","model":"m","content":[`+
		`{"type":"tool_use","id":"use-%[1]s","name":"Read","input":{"file_path":"hops"}}],"usage":{"input_tokens":1,`+
		`"output_tokens":1}},"parent_tool_use_id":null,"session_id":%[2]q}`+"\n"+`{"type":"user","message":{"role":"user",`+
		`"content":[{"type":"tool_result","tool_use_id":"use-%[1]s","content":"1"}]},"parent_tool_use_id":null,`+
		`"session_id":%[2]q}`+"\n", uuid, h.session)
	line := fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"","structured_output":%s,"user_message_uuid":%q,"user_message_uuids":[%q],"total_cost_usd":0,"usage":{"input_tokens":1,"output_tokens":1},"session_id":%q,"terminal_reason":"completed"}`+"\n",
		verdict, uuid, uuid, h.session)
	h.wrote = time.Now()
	_, _ = io.WriteString(h.out, line)
}

func (h *hopping) save() {
	var b strings.Builder
	for _, d := range h.times {
		fmt.Fprintln(&b, d.Nanoseconds())
	}
	if err := os.WriteFile("hop-times", []byte(b.String()), 0o600); err != nil {
		panic(err)
	}
}

// echo sends every line straight back: the minimal cost of a pipe.
func echo() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
}
