package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

//go:embed job.yaml
var job []byte

// decided is the job of the rounds in which a decider other than the Arbiter decides.
//
//go:embed decided.yaml
var decided []byte

// round is one job, in as many processes as it needs.
type round struct {
	o        options
	f        *figures
	bin      string
	dir      string
	seed     uint64
	rnd      *rand.Rand
	points   []string // all crash points
	must     string   // crash point to try in process mustAt, at its mustN-th pass
	mustAt   int
	mustN    int
	forced   bool   // must was tried
	enough   bool   // earlier rounds have killed enough: kill only at crash points
	claude   string // the real CLI; empty: the stand-in
	asks     bool   // use a stateless decider
	isolated bool   // Orchestrators have their own directories
	landed   bool   // their work was landed in the workspace
	hosted   bool   // Orchestrators live on another host

	api    *rehearsal.Server
	refuse *refuser // nil: the API refuses nothing
	player string
	env    []string
	mark   string // in the environment of arbiter and its bridge
	ledger string
	hits   string

	run         string // the run's id, once known
	tokens      int
	sent        map[string]*sentMessage
	kills       int
	processRuns int
	questions   int
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

func (r *round) token() string {
	r.tokens++
	return fmt.Sprintf("(word %d.%d)", r.seed, r.tokens)
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
	if r.o.verbose {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// play prepares the round, runs arbiter until the job is complete, and checks.
func (r *round) play() {
	r.f.n["rounds"]++
	r.sent, r.at, r.damaged = map[string]*sentMessage{}, map[string]int{}, map[string]bool{}
	if err := r.prepare(); err != nil {
		r.fail("prepare: %v", err)
	} else {
		r.playRuns()
		r.land()
		r.check()
		r.remove()
		if r.refuse != nil {
			r.refuse.Close()
			r.f.n["requests refused"] += r.refuse.count()
		}
		if err := r.api.Close(); err != nil {
			r.fail("%v", err)
		}
	}
	r.noteHits()
	if len(r.problems) > 0 {
		r.f.n["failed rounds"]++
	}
}

// report reports a failed round, and removes the directory of a round that did not fail.
func (r *round) report() {
	if len(r.problems) > 0 {
		tried := ""
		if r.must != "" {
			tried = fmt.Sprintf(" -at %s:%d:%d", r.must, r.mustN, r.mustAt+1)
		}
		fmt.Printf("round %s failed (-seed %d -rounds 1 -real %d -actions %d -transcripts %d -refusals %d -makes %d "+
			"-hosts %d -points %s%s):\n  %s\n", filepath.Base(r.dir), r.seed, b2i(r.claude != ""), r.o.actions, r.o.transcripts,
			r.o.refusals, r.o.makes, r.o.hosts, r.o.randomPoints(), tried, strings.Join(r.problems, "\n  "))
	} else if err := os.RemoveAll(r.dir); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *round) prepare() error {
	for _, d := range []string{"work", "home", "state", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.dir, d), 0o700); err != nil {
			return err
		}
	}
	// The run records its files only in a repository.
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"-c", "user.name=chaos", "-c", "user.email=chaos@localhost", "commit", "--quiet", "--allow-empty", "-mempty"},
	} {
		if _, err := r.git(args...); err != nil {
			return fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	script := filepath.Join(r.dir, "job.yaml")
	text := job
	if r.asks {
		text = decided
	}
	if r.isMixed() {
		var err error
		if text, err = r.prepareMake(text); err != nil {
			return err
		}
	}
	if err := os.WriteFile(script, text, 0o600); err != nil {
		return err
	}
	sc, err := rehearsal.Load(script)
	if err != nil {
		return err
	}
	if r.api, err = rehearsal.Start(sc, rehearsal.Options{Record: true}); err != nil {
		return err
	}
	base := r.api.URL()
	if r.isRefused() {
		if r.refuse, err = newRefuser(base); err != nil {
			return err
		}
		base = r.refuse.URL
	}
	r.ledger, r.hits = filepath.Join(r.dir, "ledger"), filepath.Join(r.dir, "hits")
	if r.player = r.claude; r.player == "" {
		r.player = filepath.Join(r.dir, "claude")
		limit := ""
		if r.acts() {
			limit = fmt.Sprintf("export ARBITER_STANDIN_FAULT=limit:1@2 ARBITER_STANDIN_FAULT_ONCE='%s'\n",
				filepath.Join(r.dir, "tmp"))
		}
		text := fmt.Sprintf("#!/bin/sh\n%sexec '%s' stand-in \"$@\"\n", limit, r.bin)
		if err := os.WriteFile(r.player, []byte(text), 0o700); err != nil {
			return err
		}
	} else {
		r.f.n["with the real CLI"]++
	}
	if r.hosted {
		if err := r.prepareHost(); err != nil {
			return err
		}
	}
	if r.interferes() {
		if err := r.prepareUserHooks(); err != nil {
			return err
		}
	}
	home := filepath.Join(r.dir, "home")
	r.mark = "ARBITER_CHAOS=" + r.dir
	r.env = []string{
		r.mark, "PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "TMPDIR=" + filepath.Join(r.dir, "tmp"), "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=" + r.api.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "NO_PROXY=127.0.0.1",
		"no_proxy=127.0.0.1",
	}
	return nil
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
		l.actions = r.actionsOf()
		if r.run != "" {
			r.f.n["resumes"]++
		}
		again := r.playHuman(l, p)
		if !again {
			return
		}
		r.loseTranscript()
	}
}

// playHuman plays the human during one process of arbiter, and kills the plan's victim. It reports whether
// another process is needed.
func (r *round) playHuman(l *processRun, p plan) bool {
	timer := time.NewTimer(waitTimeout)
	defer timer.Stop()
	whole := time.NewTimer(longestProcess)
	defer whole.Stop()
	tick := time.NewTicker(actionTick)
	defer tick.Stop()
	struck := false
	for {
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
			r.stuck(l, fmt.Sprintf("nothing happened within %s", waitTimeout))
			return false
		case <-whole.C:
			r.stuck(l, fmt.Sprintf("events, and no end within %s", longestProcess))
			return false
		}
	}
}

// stuck ends a process that does not get anywhere.
func (r *round) stuck(l *processRun, how string) {
	r.f.n["deadlines missed"]++
	_ = l.cmd.Process.Kill()
	for range l.lines { // to the end
	}
	l.wait()
	r.fail("%s\n%s", how, l.dump())
}

// answer reacts to an event as a human would.
func (r *round) answer(l *processRun, ev contract.Line) {
	r.follow(ev)
	if r.acts() {
		l.respond(ev)
	}
	if isCompared(ev.Body) {
		r.printed = append(r.printed, ev)
	}
	switch b := ev.Body.(type) {
	case contract.Session:
		l.resumed, r.run = true, b.Session
		l.connect()
		if b.Resumed {
			l.send("go on", contract.Continue{}) // it may have been paused when its process was killed
			r.closeAgain = r.sentBack            // the Arbiter may not have got to ruling once more
			r.close(l)
		}
	case contract.Question:
		r.questions++
		switch {
		case r.jobDone():
			l.sendMessage(closing)
		case strings.Contains(b.Text, "already alive, which is the limit"): // and the script's Arbiter releases nobody
			if m := idle.FindStringSubmatch(b.Text); m != nil {
				l.send("make room", contract.Kill{ID: m[1]})
			}
		case r.questions > 2: // a spawn was lost
			l.send("force", contract.ForceAgent{Mode: "developer"})
		default:
			l.sendMessage("weave dawn")
		}
	case contract.Done:
		if ev.ID != contract.Arbiter {
			r.close(l)
		}
	case contract.Message:
		r.sentBack = r.sentBack || strings.HasPrefix(b.Text, "COMPLETE did not take effect") ||
			strings.HasPrefix(b.Text, "COMPLETE while the supervisor still checks")
		if r.sentBack && (b.Kind == "retry" || strings.Contains(b.Text, "none is at work")) {
			r.closeAgain = true // its process ended, or it forgot
		}
		if b.To == contract.Arbiter && b.From != contract.Human {
			r.close(l)
		}
	case contract.Accepted:
		if s := r.sent[b.Ref]; s != nil {
			s.accepted = true
		}
	case contract.PermissionRequest:
		if !r.acts() {
			l.send("permit", contract.Permit{Request: b.Request, Behavior: "allow"})
		}
	case contract.Error:
		l.freeDisk()
		if ev.ID == contract.Arbiter && slices.Equal(b.RecoveryOptions, supervisor.ParkedOptions()) {
			l.send("retry", contract.Choose{Option: "retry"}) // a busy machine: it did not start in time
		}
	case contract.Result:
		l.ended = &b
	}
	if ev.Body.EventName() == "spawn" || ev.Body.EventName() == "delivered" {
		r.checkSessions()
		if r.rnd.IntN(4) == 0 && !r.jobDone() {
			l.sendMessage("a passing note")
		}
	}
}

// idle finds an Orchestrator that has nothing to do in the list of those that are alive.
var idle = regexp.MustCompile(`(orch-\d+) done`)

// closing is the human's last message, once the files exist. Nothing is sent after it, so that no message is
// unread when the job ends.
const closing = "all is woven"

// close sends closing, unless it was sent by this process or accepted before. It is sent again if the COMPLETE that
// followed it went back to the Arbiter before a process was killed.
func (r *round) close(l *processRun) {
	for _, s := range r.sent {
		if s.text == closing && !r.closeAgain && (s.accepted && !s.flipped || s.by == l) {
			return
		}
	}
	if r.jobDone() {
		r.closeAgain = false
		l.sendMessage(closing)
	}
}

// jobDone reports whether the job's files exist: on the run branch, if the Orchestrators are isolated.
func (r *round) jobDone() bool {
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(r.dir, "work", name)) }
	if r.isolated && !r.landed {
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

// isolation returns the kind of isolation of this round's Orchestrators.
func (r *round) isolation() string { return []string{"worktree", "clone"}[r.seed/4%2] }

// land merges the work of isolated Orchestrators into the branch that is checked out.
func (r *round) land() {
	if !r.isolated || r.flipped || r.run == "" || len(r.problems) > 0 {
		return
	}
	// Its agents write with commands, and some of its checks are made to fail.
	out, text, code := r.command(nil, "land", "--force", "--include", ".", "--no-receipts", "--state-dir",
		filepath.Join(r.dir, "state"), r.run)
	if r.landed = true; code != 0 || !r.jobDone() {
		r.bad("wrong files", "landed with %d: %s%s", code, out, text)
	}
}

// git runs git in the workspace.
func (r *round) git(args ...string) ([]byte, error) {
	return exec.Command("git", append([]string{"-C", filepath.Join(r.dir, "work")}, args...)...).Output()
}

// hostLease is the lease of a round's host. It is the shortest possible one, since each process waits for it.
const hostLease = "5s"

// hostsFile returns the path of the configuration with the round's host.
func (r *round) hostsFile() string { return filepath.Join(r.dir, "hosts.yaml") }

// prepareHost makes this machine a host: a command with its own home and search path. Processes there have the
// round's mark, so that they are found and killed like local ones.
func (r *round) prepareHost() error {
	far := filepath.Join(r.dir, "far")
	for _, d := range []string{"bin", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(far, d), 0o700); err != nil {
			return err
		}
	}
	for name, program := range map[string]string{"arbiter": r.bin, "claude": r.player} {
		if err := os.Symlink(program, filepath.Join(far, "bin", name)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("hosts:\n  box:\n    command: [env, -i, 'ARBITER_CHAOS=%[1]s', 'HOME=%[2]s/home', "+
		"'TMPDIR=%[2]s/tmp', 'PATH=%[2]s/bin:/usr/local/bin:/usr/bin:/bin']\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, DISABLE_AUTOUPDATER]\n", r.dir, far)
	return os.WriteFile(r.hostsFile(), []byte(text), 0o600)
}
