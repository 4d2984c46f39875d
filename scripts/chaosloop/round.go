package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// waitTimeout is the time limit for something that must happen.
	waitTimeout = 60 * time.Second
	// longestProcess is the time limit for one process of arbiter, whatever happens in it: a job takes seconds.
	longestProcess = 10 * time.Minute
)

//go:embed job.yaml
var job string

//go:embed decided.yaml
var decidedJob string

// round is one job, in as many processes as it needs.
type round struct {
	f      *figures
	bin    string
	dir    string
	seed   uint64
	rnd    *rand.Rand
	is     map[string]bool // by variety
	must   string          // crash point to try
	forced bool            // it was tried
	enough bool            // earlier rounds have killed enough: kill only at crash points
	claude string          // the real CLI; empty: the stand-in

	api    *rehearsal.Server
	player string
	env    []string
	args   []string // of the first process
	config []string // arguments of every process
	mark   string   // in the environment of arbiter and its bridge

	run         string // the run's id, once known
	tokens      int
	sent        map[string]*sentMessage
	kills       int
	processRuns int
	questions   int
	sentBack    bool // a COMPLETE was sent back: for open points, a document that was still checked, or a takeover
	closeAgain  bool // closing is said again
	problems    []string
	sawAgents   bool
	at          map[string]int  // state of each Orchestrator
	printed     []contract.Line // printed by all processes, as far as compared with the log
}

// sentMessage is a message of the human.
type sentMessage struct {
	text     string
	by       *processRun
	accepted bool
}

// path returns a path in the round's directory.
func (r *round) path(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

// bad counts and records a fault of arbiter.
func (r *round) bad(fault, format string, args ...any) {
	r.f.n[fault]++
	r.fail(format, args...)
}

// fail records a problem; the round continues as far as it can.
func (r *round) fail(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *round) logf(format string, args ...any) {
	if *verbose {
		fmt.Fprintf(os.Stderr, "  %s: %s\n", filepath.Base(r.dir), fmt.Sprintf(format, args...))
	}
}

// play prepares the round, runs arbiter until the job is complete, and checks.
func (r *round) play() {
	r.f.n["rounds"]++
	r.sent, r.at = map[string]*sentMessage{}, map[string]int{}
	if r.prepare(); len(r.problems) == 0 {
		r.playRuns()
		r.check()
	}
	if r.api != nil {
		r.try(r.api.Close())
	}
	text, _ := os.ReadFile(r.path("hits"))
	for line := range strings.Lines(string(text)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "/")
		if point, dead := strings.CutSuffix(name, " died"); dead {
			r.f.n[killed+"point"]++
			r.f.n[died+point]++
		} else {
			r.f.n[hit+name]++
		}
	}
	if len(r.problems) > 0 {
		r.f.n["failed rounds"]++
	}
}

// report reports a failed round with the flags that play it again, and removes the directory of one that did not fail.
func (r *round) report() {
	if len(r.problems) == 0 {
		if err := os.RemoveAll(r.dir); err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
		}
		return
	}
	again := fmt.Sprintf("-seed %d -rounds 1 -real %d", r.seed, b2i(r.claude != ""))
	for _, v := range varieties {
		again += fmt.Sprintf(" -%s %d", v.name, *v.each)
	}
	points := cmp.Or(r.must, "none")
	if *which == "some" {
		points = "some"
	}
	fmt.Printf("round %s failed (%s -points %s):\n  %s\n", filepath.Base(r.dir), again, points,
		strings.Join(r.problems, "\n  "))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// try records an error that prevents a part of the round.
func (r *round) try(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		r.fail("%v", err)
	}
}

// write writes files of the round's directory; a name that ends with a point is that of a directory alone.
func (r *round) write(files map[string]string) {
	for name, text := range files {
		r.try(os.MkdirAll(filepath.Dir(r.path()+"/"+name), 0o700))
		if !strings.HasSuffix(name, "/.") {
			r.try(os.WriteFile(r.path(name), []byte(text), 0o700))
		}
	}
}

// prepare makes all that the processes need. What cannot be made is among the problems.
func (r *round) prepare() {
	text, limit := job, ""
	if r.is[decided] {
		text = decidedJob
	}
	if r.is[acts] {
		limit = fmt.Sprintf("export ARBITER_STANDIN_FAULT=limit:1@2 ARBITER_STANDIN_FAULT_ONCE='%s'\n", r.path("tmp"))
	}
	r.player = cmp.Or(r.claude, r.path("claude"))
	r.f.n["with the real CLI"] += b2i(r.claude != "")
	if r.is[mixed] {
		text = r.prepareMake()
	}
	r.write(map[string]string{"work/.": "", "home/.": "", "state/.": "", "tmp/.": "", "job.yaml": text,
		"claude": fmt.Sprintf("#!/bin/sh\n%sexec '%s' stand-in \"$@\"\n", limit, r.bin)})
	// The run records its files only in a repository.
	_, begun := r.git("init", "--quiet")
	_, committed := r.git("-c", "user.name=chaos", "-c", "user.email=chaos@localhost", "commit", "--quiet",
		"--allow-empty", "-mempty")
	sc, err := rehearsal.Load(r.path("job.yaml"))
	if err == nil {
		r.api, err = rehearsal.Start(sc, rehearsal.Options{Record: true})
	}
	if r.try(begun, committed, err); err != nil {
		return
	}
	r.args = []string{"--sandbox", "off", "--model", "claude-sonnet-4-5", "--allow", "Bash(*)", "--max-failures", "20",
		"--task", "Weave two threads. " + r.token(), "--claude", r.player}
	if r.is[hosted] {
		r.prepareHost()
	}
	if r.is[acts] {
		r.args = append(r.args, "--max-wait", "1m")
	} else {
		r.args = append(r.args, "--allow", "Write")
	}
	if r.is[isolated] {
		r.args = append(r.args, "--isolation", []string{"worktree", "clone"}[r.seed/4%2])
	}
	if r.is[decided] {
		r.args = append(r.args, "--decider", "stateless")
	}
	r.mark = "ARBITER_CHAOS=" + r.dir
	r.env = []string{
		r.mark, "PATH=" + os.Getenv("PATH"), "HOME=" + r.path("home"), "CLAUDE_CONFIG_DIR=" + r.path("home", ".claude"),
		"XDG_CACHE_HOME=" + r.path("home", ".cache"), "TMPDIR=" + r.path("tmp"), "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + r.api.URL(), "ANTHROPIC_API_KEY=" + r.api.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"ARBITER_STATE_DIR=" + r.path("state"),
	}
}

// playRuns starts processes until the run is complete.
func (r *round) playRuns() {
	for ; r.processRuns <= mostKills+8; r.processRuns++ {
		p := r.plan()
		l, err := r.start(p.crashAt)
		if err != nil {
			r.fail("start arbiter: %v", err)
			return
		}
		if r.run != "" {
			r.f.n["resumes"]++
		}
		if !r.playHuman(l, p) {
			return
		}
		r.loseTranscript()
	}
	r.bad("failed resumes", "not complete after %d processes", r.processRuns)
}

// playHuman plays the human during one process of arbiter, and kills the plan's victim. It reports whether
// another process is needed.
func (r *round) playHuman(l *processRun, p plan) bool {
	timer, began, struck := time.NewTimer(waitTimeout), time.Now(), false
	for {
		stuck := ""
		select {
		case ev, ok := <-l.lines:
			if !ok {
				return r.checkEnded(l, p, struck)
			}
			if timer.Reset(waitTimeout); time.Since(began) > longestProcess {
				stuck = fmt.Sprintf("events, and no end within %s", longestProcess)
			}
			l.count++
			r.answer(l, ev)
			if !struck && p.victim != "" && l.count >= p.after {
				struck = r.strike(l, p.victim)
			}
			l.act()
		case f := <-l.due:
			f()
		case <-timer.C:
			stuck = fmt.Sprintf("nothing happened within %s", waitTimeout)
		}
		if stuck != "" {
			_ = l.cmd.Process.Kill()
			for range l.lines { // to the end
			}
			l.wait()
			r.bad("deadlines missed", "%s\n%s", stuck, l.dump())
			return false
		}
	}
}

// plan says what happens to one process of arbiter.
type plan struct {
	victim  string // see targets; "" for none or a crash point alone
	after   int    // number of lines before it
	crashAt string
}

// needs are of crash points, by the beginning of their names, that a process does not reach otherwise: the round is of
// that variety, or that victim is struck in the same process.
var needs = []struct{ points, variety, victim string }{
	{points: "loop.decide", variety: decided},
	{points: "loop.place", variety: isolated}, {points: "loop.merge", variety: isolated},
	{points: "loop.bridge.", victim: "bridge"},
	{points: "loop.inspect", victim: "human"},
}

func needOf(point string) (need struct{ points, variety, victim string }) {
	for _, n := range needs {
		if strings.HasPrefix(point, n.points) {
			need = n
		}
	}
	return need
}

// plan makes the plan for the next process. The last processes of a job are not killed. Some points are passed only in
// a run's first process, others only after a resume: the seed says in which this one is tried, and at which pass.
func (r *round) plan() plan {
	mustAt, mustN, need := int(r.seed%2), 1+int(r.seed/2%2), needOf(r.must)
	if need.victim != "" {
		mustN = 1 // it occurs once
	}
	switch {
	case r.kills >= mostKills:
		return plan{}
	case r.must != "" && r.processRuns < mustAt: // so that there is another process
		return plan{victim: "arbiter", after: 15 + r.rnd.IntN(20)}
	case r.must != "" && !r.forced:
		r.forced = true
		return plan{crashAt: fmt.Sprintf("%s:%d", r.must, mustN), victim: need.victim, after: 2 + r.rnd.IntN(20)}
	case r.must != "" && r.enough:
		return plan{}
	case *which == "some" && r.rnd.IntN(3) == 0:
		return plan{crashAt: fmt.Sprintf("%s:%d", points[r.rnd.IntN(len(points))], 1+r.rnd.IntN(6))}
	}
	list := []string{"arbiter", "arbiter", "arbiter", "bridge", "agent", "agent", "all", "int", "term", "human"}
	return plan{victim: list[r.rnd.IntN(len(list))], after: 1 + r.rnd.IntN(50)}
}

// targets returns the processes that are killed; none or a zero: there are none yet.
func (r *round) targets(l *processRun, victim string) (pids []int) {
	for _, a := range r.agents() {
		pids = append(pids, a.pid)
	}
	switch victim {
	case "bridge":
		return []int{l.findBridge()}
	case "agent":
		r.rnd.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
		return pids[:min(len(pids), 1)]
	case "all":
		return append(pids, l.cmd.Process.Pid, l.findBridge())
	}
	return []int{l.cmd.Process.Pid}
}

// strike kills a victim, and reports whether it could.
func (r *round) strike(l *processRun, victim string) bool {
	if victim == "human" {
		if !r.dismiss(l) {
			return false
		}
	} else {
		targets := r.targets(l, victim)
		if len(targets) == 0 || slices.Contains(targets, 0) {
			return false
		}
		sig := syscall.SIGKILL
		switch victim {
		case "int":
			sig = syscall.SIGINT
		case "term":
			sig = syscall.SIGTERM
		}
		for _, pid := range targets {
			_ = syscall.Kill(pid, sig)
		}
	}
	r.kills++
	r.f.n[killed+victim]++
	r.logf("line %d, %s", l.count, victim)
	return true
}

// dismiss has the human end an Orchestrator that is at work; the supervisor then finds out what it has done. It
// does nothing if Orchestrators have their own directories: the scripted successor would make all files, the
// human would end the job because they exist, but a check of unmerged work would rightly keep the job open
// until the limit of Orchestrators is reached.
func (r *round) dismiss(l *processRun) bool {
	id := r.anybody("")
	if id == "" || r.is[isolated] || r.is[hosted] || r.jobDone() {
		return false
	}
	r.at[id] = finished
	l.send("dismiss", contract.Kill{ID: id})
	return true
}

// jobDone reports whether the job's files exist: on the run branch, if the Orchestrators are isolated.
func (r *round) jobDone() bool {
	for name, want := range map[string]string{"east.txt": "east\n", "west.txt": "west\n"} {
		got, err := os.ReadFile(r.path("work", name))
		if r.is[isolated] {
			got, err = r.git("cat-file", "-p", fmt.Sprintf("refs/heads/arbiter/%.8s/main:%s", r.run, name))
		}
		if err != nil || string(got) != want {
			return false
		}
	}
	return true
}

// git runs git in the workspace.
func (r *round) git(args ...string) ([]byte, error) {
	return exec.Command("git", append([]string{"-C", r.path("work")}, args...)...).Output()
}

// command runs an arbiter command, and returns its exit code: -1 if it could not run.
func (r *round) command(args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command(r.bin, args...)
	cmd.Env, cmd.Dir = r.env, r.path("work")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
