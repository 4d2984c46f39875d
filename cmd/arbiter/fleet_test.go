package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestKubernetesJob: the manifest is valid YAML. Its Job does not retry exit codes that a retry cannot change,
// and resumes after all others.
func TestKubernetesJob(t *testing.T) {
	job := yamlFile(t, "docs/kubernetes-job.yaml")["spec"].(mapping)
	final := []any{}
	for _, rule := range job["podFailurePolicy"].(mapping)["rules"].([]any) {
		if codes, ok := rule.(mapping)["onExitCodes"].(mapping); ok && rule.(mapping)["action"] == "FailIndex" {
			final = codes["values"].([]any)
		}
	}
	got := []contract.Exit{}
	for _, code := range final {
		n := testkit.Must(strconv.Atoi(code.(string)))(t)
		got = append(got, contract.Exit(n))
	}
	want := []contract.Exit{contract.ExitFailed, contract.ExitUsage, contract.ExitNeedsInput, contract.ExitLimit,
		contract.ExitEnvironment, contract.ExitBug}
	if !slices.Equal(got, want) {
		t.Errorf("final exit codes %v, want %v", got, want)
	}
	pod := job["template"].(mapping)["spec"].(mapping)
	main := pod["containers"].([]any)[0].(mapping)
	line := main["args"].([]any)[0].(string)
	for _, flag := range []string{"--json", "--no-input", "--resume-or-begin", "--state-dir /fleet/state"} {
		if !strings.Contains(line, flag) {
			t.Errorf("%s is missing: %s", flag, line)
		}
	}
	if pod["restartPolicy"] != "Never" {
		t.Error("exit codes count only with restartPolicy Never")
	}
}

// TestSlurmArray: each task of the array has its own run. A task that a signal ended is queued again with the
// same command; a task with an exit code that a retry cannot change is not.
func TestSlurmArray(t *testing.T) {
	testkit.NewSlurm(t)
	repository := gittest.New(t, map[string]string{"a": "1", "tasks/1.md": "Weave.", "tasks/2.md": "Two.",
		"tasks/3.md": "Three."})
	dir := gittest.Temp(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	list := ""
	for i := range 3 {
		list += filepath.Join(repository.Path, "tasks", fmt.Sprint(i+1)+".md") + "\n"
	}
	write(t, list, dir, "tasks.txt")
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	program := write(t, `#!/bin/sh
echo "$SLURM_ARRAY_TASK_ID $*" >>`+at("ledger")+`
case "$SLURM_ARRAY_TASK_ID" in
1) exec `+self+` --stand-in --scenario workflow "$@" ;;
2) [ -e `+at("second")+` ] && exit 0; touch `+at("second")+`; kill -TERM $$ ;;
3) exit 3 ;;
esac
`, dir, "program")
	testkit.OK(t, os.Chmod(program, 0o755))
	script := testkit.Must(filepath.Abs("../../docs/slurm-array.sh"))(t)
	cmd := exec.Command("sbatch", "--array=1-3", "--output", at("log-%a"), "--cpus-per-task=1", "--mem=0", "--parsable",
		script, at("tasks.txt"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ARBITER="+program, "ARBITER_REPOSITORY="+repository.Path, "ARBITER_FLEET="+at("fleet"),
		"HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sbatch: %v\n%s", err, out)
	}
	job := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(logs(dir))
		}
	})
	testkit.Await(t, "the end of the array", func() bool {
		// A requeued job waits for two minutes, unless scontrol sets an earlier start.
		_ = exec.Command("scontrol", "update", "JobId="+job+"_2", "StartTime=now").Run()
		queued, err := exec.Command("squeue", "-h", "-j", job).CombinedOutput()
		return err != nil || strings.TrimSpace(string(queued)) == ""
	})
	lines := strings.Split(strings.TrimSpace(textOf(t, at("ledger"))), "\n")
	slices.Sort(lines)
	starts := map[string]int{}
	for _, line := range lines {
		starts[line[:1]]++
		if !strings.Contains(line, "--json --no-input --resume-or-begin --state-dir "+at("fleet/"+line[:1]+"/state")) {
			t.Error(line)
		}
	}
	if starts["1"] != 1 || starts["2"] != 2 || starts["3"] != 1 {
		t.Errorf("starts %v, want 1, 2, 1", starts)
	}
	if got := textOf(t, at("fleet/1/events.jsonl")); !strings.Contains(got, `"event":"result"`) {
		t.Errorf("the run did not end: %.2000s", got)
	}
	if _, err := os.Stat(filepath.Join(at("fleet/3"), "work", "a")); err != nil {
		t.Error(err)
	}
}

// logs returns the output of the jobs.
func logs(dir string) string {
	text := ""
	files, _ := filepath.Glob(filepath.Join(dir, "log-*"))
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		text += filepath.Base(file) + ":\n" + string(raw)
	}
	return text
}
