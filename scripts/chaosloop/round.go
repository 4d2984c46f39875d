package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	o      options
	f      *figures
	bin    string
	dir    string
	seed   uint64
	rnd    *rand.Rand
	is     map[string]bool // by variety
	points []string        // all crash points
	must   string          // crash point to try in process mustAt, at its mustN-th pass
	mustAt int
	mustN  int
	forced bool   // must was tried
	enough bool   // earlier rounds have killed enough: kill only at crash points
	claude string // the real CLI; empty: the stand-in

	api    *rehearsal.Server
	refuse *refuser // nil: the API refuses nothing
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
	landed      bool // the work of isolated Orchestrators was landed in the workspace
	sentBack    bool // a COMPLETE was sent back: for open points, or a document that was still checked
	closeAgain  bool // closing is said again
	problems    []string
	sawAgents   bool
	flipped     bool            // a bit of the journal was flipped on purpose
	damaged     map[string]bool // sessions whose transcripts were damaged on purpose
	blurred     bool            // the disk was full: events printed then may be missing in the log
	at          map[string]int  // state of each Orchestrator
	tampered    int             // how often the workspace's settings were changed
	printed     []contract.Line // printed by all processes, as far as compared with the log
}

// sentMessage is a message of the human.
type sentMessage struct {
	text     string
	by       *processRun
	accepted bool
	flipped  bool // accepted before a bit of the journal was flipped
	id       string
}

// path returns a path in the round's directory.
func (r *round) path(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

func (r *round) runDir() string { return r.path("state", "runs", r.run) }

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
	if r.o.verbose {
		fmt.Fprintf(os.Stderr, "  %s: %s\n", filepath.Base(r.dir), fmt.Sprintf(format, args...))
	}
}

// play prepares the round, runs arbiter until the job is complete, and checks.
func (r *round) play() {
	r.f.n["rounds"]++
	r.sent, r.at, r.damaged = map[string]*sentMessage{}, map[string]int{}, map[string]bool{}
	if r.prepare(); len(r.problems) == 0 {
		r.playRuns()
		r.land()
		r.check()
		r.remove()
	}
	if r.refuse != nil {
		r.refuse.Close()
		r.f.n["requests refused"] += r.refuse.refused
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
		again += fmt.Sprintf(" -%s %d", v.name, *r.o.each[v.name])
	}
	points := "none"
	if r.o.points == "some" {
		points = "some"
	}
	if again += " -points " + points; r.must != "" {
		again += fmt.Sprintf(" -at %s:%d:%d", r.must, r.mustN, r.mustAt+1)
	}
	fmt.Printf("round %s failed (%s):\n  %s\n", filepath.Base(r.dir), again, strings.Join(r.problems, "\n  "))
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
	// The ledger of the stand-ins lies outside of what a sandbox lets them write.
	r.player, r.args = r.claude, []string{"--sandbox", "off", "--model", "claude-sonnet-4-5", "--allow", "Bash(*)",
		"--max-failures", "20", "--env", "ARBITER_STANDIN_LEDGER=" + r.path("ledger"), "--task",
		"Weave two threads. " + r.token()}
	if r.claude != "" {
		r.f.n["with the real CLI"]++
	} else {
		r.player = r.path("claude")
	}
	if r.is[mixed] {
		self, err := os.Executable()
		r.try(err)
		if text = strings.Replace(text, westOfClaude, westOfMake, 1); text == job {
			r.fail("the job does not begin the western thread")
		}
		r.f.n["rounds with another make"]++
		r.config = []string{"--config", r.path("config.yaml")}
		r.write(map[string]string{"config.yaml": fmt.Sprintf(
			"makes:\n  other:\n    like: opencode\n    command: ['%s', %s]\n", self, fakeMake)})
	}
	r.write(map[string]string{"work/.": "", "home/.": "", "state/.": "", "tmp/.": "", "job.yaml": text,
		"claude": fmt.Sprintf("#!/bin/sh\n%sexec '%s' stand-in \"$@\"\n", limit, r.bin)})
	// The run records its files only in a repository.
	_, begun := r.git("init", "--quiet")
	_, committed := r.git("-c", "user.name=chaos", "-c", "user.email=chaos@localhost", "commit", "--quiet",
		"--allow-empty", "-mempty")
	sc, loaded := rehearsal.Load(r.path("job.yaml"))
	if r.try(begun, committed, loaded); loaded != nil {
		return
	}
	var err error
	if r.api, err = rehearsal.Start(sc, rehearsal.Options{Record: true}); err != nil {
		r.try(err)
		return
	}
	base := r.api.URL()
	if r.is[refuses] {
		r.refuse = newRefuser(base)
		base = r.refuse.URL
	}
	if r.is[hosted] {
		r.prepareHost()
	}
	if r.is[meddling] {
		r.prepareUserHooks()
	}
	r.args = append(r.args, "--claude", r.player)
	if r.is[acts] {
		r.args = append(r.args, "--trust", "--max-wait", "1m")
		r.tamper()
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
		"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=" + r.api.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "NO_PROXY=127.0.0.1",
		"no_proxy=127.0.0.1", "ARBITER_STATE_DIR=" + r.path("state"),
	}
}

// playRuns starts processes until the run is complete.
func (r *round) playRuns() {
	for ; ; r.processRuns++ {
		if r.processRuns > r.o.perJob+8 {
			r.bad("failed resumes", "not complete after %d processes", r.processRuns)
			return
		}
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
}

// playHuman plays the human during one process of arbiter, and kills the plan's victim. It reports whether
// another process is needed.
func (r *round) playHuman(l *processRun, p plan) bool {
	timer, whole, tick := time.NewTimer(waitTimeout), time.NewTimer(longestProcess), time.NewTicker(actionTick)
	defer timer.Stop()
	defer whole.Stop()
	defer tick.Stop()
	struck := false
	for {
		stuck := ""
		select {
		case ev, ok := <-l.lines:
			if !ok {
				return r.checkEnded(l, p, struck)
			}
			timer.Reset(waitTimeout)
			l.count++
			r.answer(l, ev)
			if !struck && p.victim != "" && l.count >= p.after {
				struck = r.strike(l, p)
			}
			l.act()
		case <-tick.C:
			l.tick()
		case <-timer.C:
			stuck = fmt.Sprintf("nothing happened within %s", waitTimeout)
		case <-whole.C:
			stuck = fmt.Sprintf("events, and no end within %s", longestProcess)
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

// jobDone reports whether the job's files exist: on the run branch, if the Orchestrators are isolated.
func (r *round) jobDone() bool {
	read := func(name string) ([]byte, error) { return os.ReadFile(r.path("work", name)) }
	if r.is[isolated] && !r.landed {
		read = func(name string) ([]byte, error) {
			return r.git("cat-file", "-p", fmt.Sprintf("refs/heads/arbiter/%.8s/main:%s", r.run, name))
		}
	}
	for name, want := range map[string]string{"east.txt": "east\n", "west.txt": "west\n"} {
		if got, err := read(name); err != nil || string(got) != want {
			return false
		}
	}
	return true
}

// land merges the work of isolated Orchestrators into the branch that is checked out.
func (r *round) land() {
	if !r.is[isolated] || r.flipped || r.run == "" || len(r.problems) > 0 {
		return
	}
	// Its agents write with commands, and some of its checks are made to fail.
	out, text, code := r.command(nil, "land", "--force", "--include", ".", "--no-receipts", r.run)
	if r.landed = true; code != 0 || !r.jobDone() {
		r.bad("wrong files", "landed with %d: %s%s", code, out, text)
	}
}

// git runs git in the workspace.
func (r *round) git(args ...string) ([]byte, error) {
	return exec.Command("git", append([]string{"-C", r.path("work")}, args...)...).Output()
}

// command runs an arbiter command, and returns its exit code: -1 if a signal killed it.
func (r *round) command(env []string, args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command(r.bin, args...)
	cmd.Env, cmd.Dir = append(slices.Clone(r.env), env...), r.path("work")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", err.Error(), -2
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
