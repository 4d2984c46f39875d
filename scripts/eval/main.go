// Command eval measures how well a task is done by Claude Code alone and by Arbiter, with hidden tests:
//
//	scripts/eval/run [-out DIR] [-model MODEL] [-program ARBITER] ARM TASK SEED
//	scripts/eval/grade TRIAL
//	scripts/eval/report DIR
//
// docs/prompts.md says how prompts are changed with it. A trial is a directory: tree/ is what was delivered,
// trial.json what the run and the hidden tests said of it. Its tests play scripted models and need no login.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

var (
	out     = flag.String("out", "eval", "the directory of the trials")
	model   = flag.String("model", "", "the model of all agents")
	program = flag.String("program", "", "the arbiter to measure, such as that of another work tree")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
		_ = flag.CommandLine.Parse(os.Args[2:]) // it ends the program at an error
	}
	err := run(ctx, verb, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verb string, args []string) error {
	switch {
	case verb == "run" && len(args) == 3:
		t, err := loadTask(filepath.Join(home, args[1]))
		if err != nil {
			return err
		}
		trial := Trial{Arm: args[0], Task: t.name, Seed: args[2], Model: *model, program: *program, env: os.Environ()}
		dir := filepath.Join(*out, trial.Arm+"-"+trial.Task+"-"+trial.Seed)
		if err := trial.run(ctx, t, dir); err != nil {
			return err
		}
		return show(grade(ctx, home, dir))
	case verb == "grade" && len(args) == 1:
		return show(grade(ctx, home, args[0]))
	case verb == "report" && len(args) == 1:
		return report(os.Stdout, args[0])
	}
	return errors.New("usage: run ARM TASK SEED, grade TRIAL, or report DIR")
}

func show(t Trial, err error) error {
	if g := t.Grade; err == nil {
		fmt.Printf("%d of %d hidden tests pass; failed: %q; false done: %v\n", g.Passed, g.Total, g.Failed, g.FalseDone)
	}
	return err
}

// task is a task: what the human says, the start state, its hidden tests, and solutions to try the tests with.
type task struct {
	name, dir, text string
	USD             float64  `json:"usd"`
	Minutes         float64  `json:"minutes"`
	ContextTokens   int      `json:"context_tokens"`
	Proof           string   `json:"proof"` // a command that holds for the solution
	Tests           []string `json:"tests"` // visible tests, which nobody should change
	Human           human    `json:"human"`
}

// home is the directory of the tasks: scripts run this program in that of the repository.
const home = "scripts/eval/tasks"

func loadTask(dir string) (task, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return task{}, err
	}
	t := task{name: filepath.Base(dir), dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "task.md"))
	if err != nil {
		return t, err
	}
	t.text = string(text)
	return t, readJSON(filepath.Join(dir, "task.json"), &t)
}

func (t task) time() time.Duration { return time.Duration(t.Minutes * float64(time.Minute)) }

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o600)
}
