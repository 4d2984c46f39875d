package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	Sessions int      `json:"sessions"`
	Failure  string   `json:"failure,omitempty"` // the harness did not end as it should
}

// runner is what a trial runs with.
type runner struct {
	program string // arbiter
	claude  string // empty: of the PATH
	env     []string
}

// ending asks a model without Arbiter to say how it ended.
const ending = "\nEnd with a line DONE if everything is finished and proven, and else with a line OPEN: and what is " +
	"missing.\n"

// maxLoops is how often arm loop begins again.
const maxLoops = 8

// run runs the trial in a copy of the task's start state, dir/tree.
func (t *Trial) run(ctx context.Context, task task, dir string, r runner) error {
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(tree, os.DirFS(filepath.Join(task.dir, "repo"))); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=eval", "-c", "user.email=eval@localhost", "commit", "-qm", "start"}} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Dir = tree
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(task.Minutes)*time.Minute)
	defer cancel()
	began := time.Now()
	err := fmt.Errorf("there is no arm %q: bare, loop, single or arbiter", t.Arm)
	switch t.Arm {
	case "bare", "loop":
		for range map[string]int{"bare": 1, "loop": maxLoops}[t.Arm] {
			if err = t.bare(ctx, task, tree, r); err != nil || t.Complete || t.CostUSD >= task.USD {
				break
			}
		}
	case "single":
		err = t.arbiter(ctx, task, dir, r, "--max-orchestrators", "1")
	case "arbiter":
		err = t.arbiter(ctx, task, dir, r)
	}
	if err != nil {
		t.Failure = err.Error()
	}
	t.Seconds = time.Since(began).Seconds()
	return writeJSON(filepath.Join(dir, "trial.json"), t)
}

// bare lets Claude Code do the task alone, in one session.
func (t *Trial) bare(ctx context.Context, task task, tree string, r runner) error {
	args := []string{"-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(*)",
		"--autocompact", strconv.Itoa(task.ContextTokens), "--max-budget-usd", fmt.Sprint(task.USD)}
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	claude := r.claude
	if claude == "" {
		claude = "claude"
	}
	cmd := exec.CommandContext(ctx, claude, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = tree, r.env, strings.NewReader(task.text+ending), &stderr
	out, err := cmd.Output()
	var said struct {
		Result string
		Cost   float64 `json:"total_cost_usd"`
	}
	if json.Unmarshal(out, &said) != nil {
		return fmt.Errorf("claude: %w: %.300s%.300s", err, out, stderr.String())
	}
	t.Sessions++
	t.CostUSD += said.Cost
	lines := strings.Split(strings.TrimSpace(said.Result), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if t.Complete = last == "DONE"; !t.Complete {
		t.Open = []string{last}
	}
	return nil
}

// arbiter lets Arbiter do the task, without a human.
func (t *Trial) arbiter(ctx context.Context, task task, dir string, r runner, more ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	program := r.program
	if program == "" {
		program = "arbiter"
	}
	args := append([]string{"--json", "--no-input", "--cwd", filepath.Join(dir, "tree"), "--state-dir",
		filepath.Join(dir, "state"), "--allow", "Bash(*)", "--allow", "Edit(**)", "--sandbox", "off", "--context-tokens",
		strconv.Itoa(task.ContextTokens), "--max-cost", fmt.Sprint(task.USD), "--task", task.text}, more...)
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	if r.claude != "" {
		args = append(args, "--claude", r.claude)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = r.env, dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	_ = os.WriteFile(filepath.Join(dir, "events.ndjson"), out, 0o600)
	ended := false
	for line := range bytes.Lines(out) {
		l, err := contract.DecodeLine(line)
		if err != nil {
			return err
		}
		switch b := l.Event.Body.(type) {
		case contract.Spawn:
			t.Sessions++
		case contract.Result:
			ended, t.CostUSD, t.Open = true, b.CostUSD, append(b.Open, b.Failing...)
			t.Complete = b.Status == contract.StatusComplete && len(t.Open) == 0
		}
	}
	if !ended {
		return fmt.Errorf("arbiter ended without a result: %w\n%.500s", err, stderr.String())
	}
	return nil
}
