package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
		if err := watch.Wait(); err != nil {
			t.Errorf("watch: %v", err)
		}
		_ = stopped.Process.Kill()
		_ = stopped.Wait() // it was killed
		awaitGone(t, run)
		lines := strings.Split(strings.TrimSpace(watched.String()), "\n")
		replayed := strings.Split(strings.TrimSpace(h.output("replay", run)), "\n")
		if len(lines) != len(replayed) {
			t.Errorf("%d lines were watched, %d were told", len(lines), len(replayed))
		}
		seen, said := map[string]bool{}, map[string]int{}
		for i, text := range lines {
			line := testkit.Must(contract.DecodeLine([]byte(text)))(t)
			if line.Seq != uint64(i+1) || seen[text] {
				t.Errorf("line %d has number %d", i+1, line.Seq)
			}
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
	req := testkit.Must(http.NewRequestWithContext(h.t.Context(), http.MethodPost, b.page+"/enter",
		strings.NewReader("t="+token)))(h.t)
	req.Header.Set("Origin", b.page)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := testkit.Must(b.client.Do(req))(h.t)
	text, _ := io.ReadAll(answer.Body) // shown on failure
	_ = answer.Body.Close()
	_, rest, found := strings.Cut(string(text), "/#k=")
	b.key, _, _ = strings.Cut(rest, `"`)
	if answer.StatusCode != http.StatusOK || !found {
		h.t.Fatalf("the link is answered with %s: %s", answer.Status, text)
	}
	return b
}

// sends sends a command as the page does.
func (b *webUser) sends(body contract.CommandBody) {
	b.t.Helper()
	line := testkit.Must(contract.MarshalCommand(contract.Command{Body: body}))(b.t)
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.page+"/run/command", bytes.NewReader(line))
	testkit.OK(b.t, err)
	for name, value := range map[string]string{
		"Origin": b.page, "Content-Type": "application/json", "X-Arbiter-Key": b.key,
	} {
		req.Header.Set(name, value)
	}
	answer := testkit.Must(b.client.Do(req))(b.t)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // shown on failure
	if answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"accepted":true`)) {
		b.t.Fatalf("%s: %s", answer.Status, text)
	}
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
	until(h.t, kind+" that waits", func() bool {
		return strings.Contains(h.output("status", "--json"), `"kind":"`+kind)
	})
}
