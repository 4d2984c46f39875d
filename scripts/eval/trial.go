package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Trial is one attempt at a task, and what it said of itself.
type Trial struct {
	Arm      string   `json:"arm"`
	Task     string   `json:"task"`
	Seed     string   `json:"seed"`
	Model    string   `json:"model,omitempty"`
	Complete bool     `json:"complete"` // it says that all is done
	Open     []string `json:"open,omitempty"`
	CostUSD  float64  `json:"cost_usd"`
	Seconds  float64  `json:"seconds"`
	// Interventions are questions to the human, and permission requests.
	Interventions int          `json:"interventions"`
	Usage         bridge.Usage `json:"usage"`
	ArbiterUsage  bridge.Usage `json:"arbiter_usage"`
	Failure       string       `json:"failure,omitempty"` // the harness did not end as it should
	Grade         Grade        `json:"grade"`

	program string   // arbiter; empty: of the PATH, as Claude Code is
	env     []string // of both
}

// ending asks a model without Arbiter to say how it ended.
const ending = "\nEnd with a line DONE if everything is finished and proven, and else with a line OPEN: and what is " +
	"missing.\n"

// grace is how long Arbiter may take to end after its time is over.
const grace = time.Minute

// maxLoops is how often arm loop begins again.
const maxLoops = 8

// run runs the trial in a copy of the task's start state, dir/tree.
func (t *Trial) run(ctx context.Context, task task, dir string) error {
	tree := filepath.Join(dir, "tree")
	start := os.DirFS(filepath.Join(task.dir, "repo"))
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.CopyFS(tree, start)); err != nil {
		return err
	}
	git := exec.CommandContext(ctx, "sh", "-c", "git init -q && git add -A && "+
		"git -c user.name=eval -c user.email=eval@localhost commit -qm start")
	git.Dir = tree
	if out, err := git.CombinedOutput(); err != nil {
		return fmt.Errorf("make a repository: %w\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, task.time()+grace)
	defer cancel()
	began := time.Now()
	err := fmt.Errorf("there is no arm %q: bare, loop, single or arbiter", t.Arm)
	switch t.Arm {
	case "bare", "loop":
		for range map[string]int{"bare": 1, "loop": maxLoops}[t.Arm] {
			if err = t.bare(ctx, task, tree); err != nil || t.Complete || t.CostUSD >= task.USD {
				break
			}
		}
	case "single":
		err = t.arbiter(ctx, task, dir, "--max-orchestrators", "1")
	case "arbiter":
		err = t.arbiter(ctx, task, dir)
	}
	if err != nil {
		t.Failure = err.Error()
	}
	t.Seconds = time.Since(began).Seconds()
	return writeJSON(filepath.Join(dir, "trial.json"), t)
}

// bare lets Claude Code do the task alone, in one session.
func (t *Trial) bare(ctx context.Context, task task, tree string) error {
	args := []string{"-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(*)",
		"--autocompact", strconv.Itoa(task.ContextTokens), "--max-budget-usd", fmt.Sprint(task.USD)}
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	cmd := exec.CommandContext(ctx, "claude", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = tree, t.env, strings.NewReader(task.text+ending), &stderr
	out, err := cmd.Output()
	var said struct {
		Result string
		Cost   float64 `json:"total_cost_usd"`
		Usage  bridge.Usage
	}
	if json.Unmarshal(out, &said) != nil {
		return fmt.Errorf("claude: %w: %.300s%.300s", err, out, stderr.String())
	}
	t.CostUSD += said.Cost
	t.Usage = t.Usage.Plus(said.Usage)
	lines := strings.Split(strings.TrimSpace(said.Result), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if t.Complete = last == "DONE"; !t.Complete {
		t.Open = []string{last}
	}
	return nil
}

// arbiter lets Arbiter do the task, with the scripted human.
func (t *Trial) arbiter(ctx context.Context, task task, dir string, more ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	args := append([]string{"--json", "--cwd", filepath.Join(dir, "tree"), "--state-dir",
		filepath.Join(dir, "state"), "--allow", "Bash(*)", "--allow", "Edit(**)", "--sandbox", "off", "--context-tokens",
		strconv.Itoa(task.ContextTokens), "--max-cost", fmt.Sprint(task.USD), "--timeout", task.time().String(),
		"--task", task.text}, more...)
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	log, err := os.Create(filepath.Join(dir, "events.ndjson"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, cmp.Or(t.program, "arbiter"), args...)
	cmd.Env, cmd.Dir = t.env, dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	commands, noCommands := cmd.StdinPipe()
	events, noEvents := cmd.StdoutPipe()
	if err := errors.Join(noCommands, noEvents, cmd.Start()); err != nil {
		return err
	}
	ended, err := t.follow(io.TeeReader(events, log), commands, task.Human)
	if waited := cmd.Wait(); err == nil && !ended {
		err = fmt.Errorf("arbiter ended without a result: %w\n%.500s", waited, stderr.String())
	}
	return err
}

// follow reads the events of a run and has the human react to them. ended reports whether the run had a result.
func (t *Trial) follow(events io.Reader, commands io.Writer, h human) (ended bool, err error) {
	asked := map[string]int{}
	for lines := bufio.NewReader(events); ; {
		line, read := lines.ReadBytes('\n')
		if read != nil && len(line) == 0 {
			return ended, err
		}
		l, bad := contract.DecodeLine(line)
		if bad != nil { // the rest is read, so that the run can end
			err = errors.Join(err, bad)
			continue
		}
		switch b := l.Event.Body.(type) {
		case contract.Turn:
			t.Usage = t.Usage.Plus(b.Usage)
			if l.Event.ID == contract.Arbiter {
				t.ArbiterUsage = t.ArbiterUsage.Plus(b.Usage)
			}
		case contract.Result:
			ended, t.CostUSD, t.Open = true, b.CostUSD, append(b.Open, b.Failing...)
			t.Complete = b.Status == contract.StatusComplete && len(t.Open) == 0
		}
		said, bad := h.reacts(l.Event.Body, asked)
		if err = errors.Join(err, bad); said != nil {
			t.Interventions++
			command, bad := contract.MarshalCommand(contract.Command{Body: said})
			err = errors.Join(err, bad)
			_, _ = commands.Write(append(command, '\n')) // a run that has ended says so itself
		}
	}
}

// human is the scripted human of a task, who answers a question by the first pattern that it matches.
type human []struct{ Asked, Answer string }

// says answers a question.
func (h human) says(question string) (string, error) {
	for _, a := range h {
		if is, err := regexp.MatchString(a.Asked, question); is || err != nil {
			return a.Answer, err
		}
	}
	return "Decide yourself.", nil
}

// patience is how often the human is asked the same before it cancels the run.
const patience = 3

// reacts returns what the human does about an event; nil: nothing. It allows nothing that the rules of the run do not,
// and spends no more than the limit. asked counts its questions.
func (h human) reacts(e contract.Body, asked map[string]int) (contract.CommandBody, error) {
	switch b := e.(type) {
	case contract.PermissionRequest:
		return contract.Permit{Request: b.Request, Behavior: "deny", Message: "Do it without."}, nil
	case contract.Question:
		switch asked[b.Text]++; {
		case slices.Contains(b.Options, "finish"):
			return contract.Choose{Option: "finish"}, nil
		case len(b.Options) > 0 || asked[b.Text] >= patience:
			return contract.Cancel{}, nil
		}
		text, err := h.says(b.Text)
		return contract.Say{Text: text}, err
	}
	return nil, nil
}
