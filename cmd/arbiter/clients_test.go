package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestOneRunManyClients plays one run with many clients. It is started on the screen, whose terminal is then
// closed; watched, also by a client that is stopped and by one that is killed; answered on the web page;
// allowed and steered from a second terminal; and completed over MCP. The remaining watcher gets all events of
// the event log, and each command of the human is in it once.
func TestOneRunManyClients(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.play(absolute(t, "testdata/scenarios/clients.yaml"), "--task", "Make a thing")
		p.await("What shall it be called?", "The Arbiter awaits your answer.")
		run := h.runs()[0]
		var watched, ignored bytes.Buffer
		watch := h.client(&watched, "watch", run, "--since", "0")
		stopped, killed := h.client(&ignored, "watch", run), h.client(new(bytes.Buffer), "watch", run)
		_ = stopped.Process.Signal(syscall.SIGSTOP)
		_ = killed.Process.Kill()
		_ = killed.Wait() // it was killed
		page := h.page(run)
		p.HangUp()
		testkit.Must(p.Exit(p.ctx))(t)
		page.sends(contract.Say{To: contract.Arbiter, Text: "call it dawn"})
		h.waits("permission")
		h.output("send", run, "--to", "orch-1", "--strength", "steer", "be quick")
		h.output("allow", run, "all")
		tools := h.serves(nil)
		var news []string
		h.waits("question")
		tools.call("answer", map[string]any{"run": run, "text": "keep it"}, false)
		tools.waitsFor(tools.sees("status", map[string]any{"run": run}), "complete", &news)
		testkit.Works(t, "watch", watch.Wait())
		_ = stopped.Process.Kill()
		_ = stopped.Wait() // it was killed
		awaitGone(t, run)
		lines := strings.Split(strings.TrimSpace(watched.String()), "\n")
		replayed := strings.Split(strings.TrimSpace(h.output("replay", run)), "\n")
		testkit.Same(t, "lines that were watched", len(replayed), len(lines))
		seen, said := map[string]bool{}, map[string]int{}
		for i, text := range lines {
			line := testkit.Must(contract.DecodeLine([]byte(text)))(t)
			testkit.Check(t, line.Seq == uint64(i+1) && !seen[text], "line %d has number %d", i+1, line.Seq)
			seen[text] = true
			if m, ok := line.Body.(contract.Message); ok && m.From == contract.Human {
				said[m.Text]++
			}
		}
		want := map[string]int{"Make a thing": 1, "call it dawn": 1, "be quick": 1, "keep it": 1}
		testkit.Same(t, "what the human said", want, said)
	})
}

// webUser is a browser with the page of a run.
type webUser struct {
	t         *testing.T
	client    http.Client
	page, key string
}

// page serves the page of a run in the abode, and opens its link.
func (h *testHome) page(run string) *webUser {
	h.t.Helper()
	cmd := exec.Command("arbiter", "web", run)
	cmd.Env, cmd.Dir = h.env, h.work
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.OK(h.t, err)
	h.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by a signal
	})
	link := testkit.Must(bufio.NewReader(out).ReadString('\n'))(h.t)
	jar, _ := cookiejar.New(nil) // no options, no error
	b := &webUser{t: h.t, client: http.Client{Jar: jar}}
	b.page, _, _ = strings.Cut(link, "/?")
	_, token, _ := strings.Cut(strings.TrimSpace(link), "/?t=")
	status, text := b.posts("/enter", "application/x-www-form-urlencoded", "t="+token)
	_, rest, found := strings.Cut(text, "/#k=")
	b.key, _, _ = strings.Cut(rest, `"`)
	testkit.Need(h.t, status == http.StatusOK && found, "the link is answered with %d: %s", status, text)
	return b
}

// requests makes a request as the page does, and returns its answer.
func (b *webUser) requests(ctx context.Context, method, path, kind, body string) *http.Response {
	b.t.Helper()
	req := testkit.Must(http.NewRequestWithContext(ctx, method, b.page+path, strings.NewReader(body)))(b.t)
	for name, value := range map[string]string{"Origin": b.page, "Content-Type": kind, "X-Arbiter-Key": b.key} {
		req.Header.Set(name, value)
	}
	return testkit.Must(b.client.Do(req))(b.t)
}

// posts returns the status and the text of the answer.
func (b *webUser) posts(path, kind, body string) (int, string) {
	b.t.Helper()
	answer := b.requests(b.t.Context(), http.MethodPost, path, kind, body)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // shown on failure
	return answer.StatusCode, string(text)
}

// events opens the page's stream of events.
func (b *webUser) events(ctx context.Context) io.ReadCloser {
	b.t.Helper()
	return b.requests(ctx, http.MethodGet, "/run/events", "", "").Body
}

// sends sends a command as the page does.
func (b *webUser) sends(body contract.CommandBody) {
	b.t.Helper()
	line := testkit.Must(contract.MarshalCommand(contract.Command{Body: body}))(b.t)
	status, text := b.posts("/run/command", "application/json", string(line))
	testkit.Need(b.t, status == http.StatusOK && strings.Contains(text, `"accepted":true`), "%d: %s", status, text)
}

// client starts an arbiter command in the abode. The command writes to out.
func (h *testHome) client(out *bytes.Buffer, args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env, cmd.Dir, cmd.Stdout = h.env, h.work, out
	testkit.OK(h.t, cmd.Start())
	h.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
	return cmd
}

// waits waits until an item of a kind waits for the human.
func (h *testHome) waits(kind string) {
	h.t.Helper()
	testkit.Await(h.t, kind+" that waits", func() bool {
		return strings.Contains(h.output("status", "--json"), `"kind":"`+kind)
	})
}

// received is what a client of the control socket has received.
type received struct {
	client *control.Client
	lines  []contract.Line
	state  *supervisor.State
	end    control.RunEnded
	over   bool // end was received
}

// subscribeTo subscribes to a run. The result may be read once the connection has ended.
func subscribeTo(t *testing.T, socket string, p control.SubscribeParams) *received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c, _, err := control.Dial[runstore.LiveStatus](ctx, socket, nil)
	testkit.OK(t, err)
	t.Cleanup(c.Close)
	h := &received{client: c}
	var states host.StateReceiver
	testkit.OK(t, c.Subscribe(ctx, p, func(part any) {
		switch part := part.(type) {
		case control.Events:
			for _, raw := range part.Lines {
				line, err := contract.DecodeLine([]byte(raw))
				testkit.Check(t, err == nil, "%s: %v", raw, err)
				h.lines = append(h.lines, line)
			}
			testkit.Check(t, part.Skipped == 0, "%d events were skipped", part.Skipped)
		case control.StateChange:
			state, err := states.Apply(part)
			testkit.Check(t, err == nil, "%v", err)
			h.state = state
		case control.RunEnded:
			h.end, h.over = part, true
		}
	}))
	return h
}

// TestSubscribers: clients that connect early or late, or whose connection is lost, receive all events of stdout from
// the requested one on once, the state that they receive is that of the run, and they learn how the run ends.
func TestSubscribers(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	b := atWork(t, players(t)[0])
	socket := filepath.Join(b.stateDir(), "runs", b.run, control.SocketName)
	all := subscribeTo(t, socket, control.SubscribeParams{State: true})
	late := subscribeTo(t, socket, control.SubscribeParams{Since: -1})
	third := subscribeTo(t, socket, control.SubscribeParams{Since: 3})
	var mu sync.Mutex
	var events []contract.Event
	session := testkit.Must(clients.OpenSession(t.Context(), socket, nil, journal.LogPosition{}, nil,
		func(_ time.Time, e contract.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}))(t)
	var watching sync.WaitGroup
	watching.Go(session.Watch)
	defer watching.Wait()
	for range 3 {
		lost := session.Connection()
		lost.Close()
		late := time.After(waitTimeout)
		for session.Connection() == lost {
			select {
			case <-session.Changed(): // a new connection begins with the state
			case <-late:
				t.Fatal("it did not connect again")
			}
		}
	}
	testkit.Check(t, session.Put(t.Context(), contract.Command{Ref: "again", Body: contract.Interrupt{ID: "orch-9"}}),
		"a command was not taken")
	await(b.script, "the answer", func(_ string, r contract.Rejected) bool { return r.Ref == "again" })
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := late.client.Put(ctx, control.PutParams{
		Command: json.RawMessage(`{"command":"set_mode","ref":"mine","mode":"no such mode"}`)}); err != nil {
		t.Error(err)
	}
	await(b.script, "the answer to another client", func(_ string, r contract.Rejected) bool { return r.Ref == "mine" })
	testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.finish(contract.ExitComplete)
	want := b.lines
	session.Close()
	testkit.Check(t, session.Outcome().Exit == contract.ExitComplete && !session.Outcome().Lost, "the outcome is %+v",
		session.Outcome())
	var told, printed []string
	for _, e := range events {
		told = append(told, e.Body.EventName())
	}
	for _, l := range want {
		printed = append(printed, l.Body.EventName())
	}
	testkit.Same(t, "events of the session that connected again", printed, told)
	for _, h := range []*received{all, late, third} {
		select {
		case <-h.client.Done(): // the run's host process has ended
		case <-ctx.Done():
			t.Fatal("the run did not end")
		}
		testkit.Need(t, h.over, "the end of the run was not told")
		testkit.Check(t, h.end.Exit == int(contract.ExitComplete) && h.end.Text == "", "the end is %+v", h.end)
	}
	sameLines(t, "from the first on", all.lines, want)
	sameLines(t, "from the fourth on", third.lines, want[3:])
	if n := len(late.lines); n == 0 || n >= len(want) {
		t.Errorf("from now on: %d lines of %d", n, len(want))
	} else {
		sameLines(t, "from now on", late.lines, want[len(want)-n:])
	}
	testkit.Check(t, all.state != nil && all.state.Ending != nil &&
		all.state.Ending.Status == contract.StatusComplete && all.state.Options.Run == b.run &&
		len(all.state.Agents) == 2, "the last state is %+v", all.state)
}

func sameLines(t *testing.T, what string, got, want []contract.Line) {
	t.Helper()
	encoded := func(lines []contract.Line) (list []string) {
		for _, l := range lines {
			list = append(list, string(testkit.Must(json.Marshal(l))(t)))
		}
		return list
	}
	testkit.Same(t, what, encoded(want), encoded(got))
}

// TestDetach: a run without a frontend continues when the command has ended. Other commands answer it, resume
// it after a kill, and complete it.
func TestDetach(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		// TestOneRunManyClients covers the real CLI behind a host process
		h := newTestHome(t, who)
		scenario := absolute(t, "testdata/scenarios/screen.yaml")
		out := h.output(append(h.rehearsing(scenario), "--detach", "--task", "Make a thing")...)
		run := strings.TrimSpace(out)
		runs := h.runs()
		testkit.Need(t, len(runs) == 1 && runs[0] == run, "printed %q, and there are the runs %v", out, runs)
		h.waits("question")
		testkit.Same(t, "resuming a live run prints", out, h.output("--detach", "--resume"))
		host := h.hosts()
		testkit.OK(t, syscall.Kill(host[0], syscall.SIGKILL))
		awaitGone(t, run)
		testkit.Same(t, "resuming prints", out, h.output("--detach", "--session", run[:6]))
		h.waits("question")
		h.output("send", "call it dawn")
		h.waits("permission")
		h.output("allow", "all")
		awaitGone(t, run)
		testkit.Includes(t, "it ended so", h.output("sessions", "show", run), "complete")
	})
}

// TestRunPort: a client cannot pass flags that override what it chooses by other means, such as the directory,
// and a refusal says why.
func TestRunPort(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	port := runPort{env{}, state}
	for args, want := range map[string]string{
		"--json":                       "--json cannot be given here: it says how arbiter itself begins a run",
		"--cwd=/":                      "--cwd cannot be given here",
		"--task=x":                     "--task cannot be given here",
		"--session=x":                  "--session cannot be given here",
		"host":                         `leave out host`,
		"--no-such-flag":               "no-such-flag",
		"--max-cost=many":              "max-cost",
		"--isolation=a":                "--isolation",
		"--permissions=allow-all":      "--i-accept-the-risk",
		"--rehearse --isolation=clone": "--isolation and --rehearse",
	} {
		_, err := port.choices(dir, "", strings.Fields(args))
		testkit.Check(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %q", args, err, want)
	}
	c := testkit.Must(port.choices(dir, "", []string{"--max-cost", "5", "--permissions=accept-edits"}))(t)
	real, _ := filepath.EvalSymlinks(dir)
	testkit.Check(t, c.Options.MaxCostUSD == 5 && (c.Place == dir || c.Place == real) && c.StateDir == state,
		"the choices are %+v", c)
	for name, err := range map[string]error{
		"an unknown run":      port.Resume(t.Context(), "none", "", nil),
		"an unknown report":   port.Report(t.Context(), "none", "markdown", nil),
		"a format":            port.Report(t.Context(), "none", "pdf", nil),
		"an unknown log":      func() error { _, err := port.Log("none"); return err }(),
		"an unknown live run": func() error { _, _, err := port.Dial(t.Context(), "none"); return err }(),
	} {
		var exit *command.Error
		testkit.Check(t, errors.As(err, &exit) && exit.Code == contract.ExitUsage, "%s: %v", name, err)
	}
}

// TestWebPage plays a run whose question and permission request are answered on its page, in a browser.
// Meanwhile the run's host process is killed, and the run is resumed on the page. It completes, the page says
// so, and ending arbiter web does not end the run. A second browser with the same link is refused.
func TestWebPage(t *testing.T) {
	path := testkit.Chromium(t)
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		args := append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), "--detach", "--task", "Make it")
		run := strings.TrimSpace(h.output(args...))
		web := &onlooker{t: t, cmd: exec.Command("arbiter", "web", run[:8])}
		web.cmd.Env, web.cmd.Dir, web.cmd.Stdout, web.cmd.Stderr = h.env, h.work, &web.out, &web.errs
		testkit.OK(t, web.cmd.Start())
		t.Cleanup(func() { _ = web.cmd.Process.Kill() }) // it may have ended already
		web.shows("\n")
		link := strings.TrimSpace(web.out.String())

		p := openInBrowser(t, path, link)
		p.until(`document.querySelector(".card.question")?.textContent.includes("What shall it be called?")`)
		testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
		p.until(`document.querySelector("#outcome h2")?.textContent === "The run was interrupted"`)
		p.eval(`document.querySelector("#outcome button").click()`)
		p.eval(`document.querySelector("#confirm-yes").click()`)
		p.until(`document.querySelector("#outcome").hidden && document.querySelector(".card.question")`)
		p.until(`document.querySelector("#feed").textContent.includes("The run continues in a new process")`)
		p.eval(`document.querySelector(".card textarea").focus()`)
		p.do(chromedp.KeyEvent("call it dawn" + kb.Enter))
		p.until(`document.querySelector(".card.permission pre")?.textContent === "echo it > dawn.txt"`)
		p.until(`document.querySelector("#inbox").getAttribute("aria-busy") === "false"`)
		p.eval(`document.querySelector("[data-act=once]").click()`)
		p.until(`document.querySelector("#outcome h2")?.textContent === "The run is over: Complete"`)
		p.until(`document.querySelector("#outcome").textContent.includes("The file is there.")`)
		p.until(`!document.querySelector("#outcome").textContent.includes("null")`)
		// Each amount of a rehearsal is marked as simulated.
		p.until(`["#cost", "#outcome .quiet", ".agent .gauge"].every((s) =>` +
			` / simulated/.test(document.querySelector(s).textContent))`)
		p.until(`document.querySelector("#feed").textContent.includes("Allowed by the human: Bash for Orchestrator I")`)
		p.until(`[...document.querySelectorAll(".entry.mine")].filter((e) => ` +
			`e.textContent.includes("Make it")).length === 1`)
		p.mu.Lock()
		testkit.Same(t, "the problems are", nil, p.problems)
		p.mu.Unlock()
		other := openInBrowser(t, path, link)
		other.until(`document.body.innerText.includes("This link was used already")`)

		testkit.OK(t, web.cmd.Process.Signal(syscall.SIGINT))
		web.ends(contract.ExitInterrupted)
		token := link[strings.LastIndex(link, "=")+1:]
		testkit.Check(t, !strings.Contains(web.errs.String()+fmt.Sprint(web.cmd.Args), token),
			"the token is reported elsewhere: %s", web.errs.String())
		awaitGone(t, run)
		testkit.Includes(t, "the run", h.output("sessions", "ls", "--json"), `"complete"`)
	})
}

// tab is a page of arbiter web in a browser.
type tab struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	problems []string // what the console of the browser shows as an error
}

func openInBrowser(t *testing.T, path, url string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &tab{t: t}
	testkit.OK(t, chromedp.Listen(ctx, p.handleEvent))
	p.ctx, cancel = context.WithTimeout(ctx, waitTimeout)
	t.Cleanup(cancel)
	p.do(chromedp.Navigate(url))
	return p
}

func (p *tab) handleEvent(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.problems = append(p.problems, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Text)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	testkit.OK(p.t, chromedp.Do(p.ctx, steps...))
}

func (p *tab) eval(expression string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](expression))
}

func (p *tab) until(expression string) {
	p.t.Helper()
	testkit.Await(p.t, "the page says "+expression, func() bool {
		met, _ := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")")) // an error while a page loads
		return met
	})
}
