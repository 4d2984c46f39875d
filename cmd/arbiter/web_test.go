package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
		if strings.Contains(web.errs.String()+fmt.Sprint(web.cmd.Args), token) {
			t.Errorf("the token is reported elsewhere: %s", web.errs.String())
		}
		awaitGone(t, run)
		if status := h.output("sessions", "ls", "--json"); !strings.Contains(status, `"complete"`) {
			t.Errorf("the run is %s", status)
		}
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
