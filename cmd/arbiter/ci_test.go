package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// mapping is a YAML mapping.
type mapping = map[string]any

// yamlFile reads a YAML file of the repository.
func yamlFile(t *testing.T, name string) mapping {
	t.Helper()
	src := testkit.Must(os.ReadFile(filepath.Join("..", "..", name)))(t)
	doc := testkit.Must(yamldoc.Parse(name, src))(t)
	root, ok := plainValue(doc.Values()[0]).(mapping)
	err := doc.Err()
	testkit.Need(t, err == nil && ok, "%s: %v", name, err)
	return root
}

// plainValue converts a YAML value to a Go value. Scalars are strings, as a CI system passes them on.
func plainValue(v yamldoc.Value) any {
	switch v.Kind() {
	case yamldoc.Mapping:
		m := mapping{}
		for _, f := range v.Fields(v.Path) {
			m[f.Key] = plainValue(f.Value)
		}
		return m
	case yamldoc.List:
		var list []any
		for _, item := range v.Items(v.Path) {
			list = append(list, plainValue(item))
		}
		return list
	}
	text, _ := v.Scalar()
	return text
}

// ciJob is a machine of a CI system, with its own home, workspace and directory of temporary files.
type ciJob struct {
	t    *testing.T
	home string
	work string
	temp string
	env  []string // additional variables of the job
}

func newJob(t *testing.T, model *rehearsal.Server, work string) ciJob {
	return ciJob{t, t.TempDir(), work, t.TempDir(), asksOf(model)}
}

// shell runs a script as a CI system does, and returns what it printed and its exit code.
func (j ciJob) shell(env []string, shell string, args ...string) (log string, code int) {
	j.t.Helper()
	cmd := exec.Command(shell, args...)
	cmd.Dir = j.work
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.home, "TMPDIR=" + j.temp, "LANG=C.UTF-8",
		"XDG_CACHE_HOME=" + host.CacheHome()}, append(j.env, env...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	testkit.Need(j.t, cmd.ProcessState != nil, "%v", err)
	return out.String(), cmd.ProcessState.ExitCode()
}

var expression = regexp.MustCompile(`\$\{\{ ([\w.-]+) \}\}`)

// action runs the steps of action.yml until one fails, and returns the outputs of the action.
func (j ciJob) action(inputs map[string]string) (outputs map[string]string, log string, code int) {
	j.t.Helper()
	action := yamlFile(j.t, "action.yml")
	known := map[string]string{"github.action_path": "/nowhere", "runner.temp": j.temp}
	for name, input := range action["inputs"].(mapping) {
		known["inputs."+name] = fmt.Sprint(input.(mapping)["default"])
	}
	for name, value := range inputs {
		_, ok := known["inputs."+name]
		testkit.Need(j.t, ok, "there is no input %q", name)
		known["inputs."+name] = value
	}
	value := func(text any) string {
		return expression.ReplaceAllStringFunc(fmt.Sprint(text), func(x string) string {
			name := expression.FindStringSubmatch(x)[1]
			_, ok := known[name]
			testkit.Check(j.t, ok || strings.HasPrefix(name, "steps."), "nothing is known of %s", name)
			return known[name]
		})
	}
	for i, step := range action["runs"].(mapping)["steps"].([]any) {
		step := step.(mapping)
		file, summary := filepath.Join(j.temp, fmt.Sprint("output-", i)), filepath.Join(j.temp, "summary")
		env := []string{"GITHUB_OUTPUT=" + file, "GITHUB_STEP_SUMMARY=" + summary}
		for name, text := range step["env"].(mapping) {
			env = append(env, name+"="+value(text))
		}
		script := write(j.t, step["run"].(string), j.temp, fmt.Sprintf("step-%d.sh", i))
		output, exit := j.shell(env, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		log += output
		text, _ := os.ReadFile(file) // the file is missing if the step sets no outputs
		for line := range strings.Lines(string(text)) {
			name, out, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			known[fmt.Sprintf("steps.%s.outputs.%s", step["id"], name)] = out
		}
		if code = exit; code != 0 {
			break
		}
	}
	outputs = map[string]string{}
	for name, output := range action["outputs"].(mapping) {
		outputs[name] = value(output.(mapping)["value"])
	}
	return outputs, log, code
}

// TestActionIsSafe: the text of an input is never part of a script, no step downloads a script, and the
// installed version is the tested one.
func TestActionIsSafe(t *testing.T) {
	action := yamlFile(t, "action.yml")
	pinned, err := os.ReadFile("../../scripts/claude.version")
	claude := action["inputs"].(mapping)["claude-version"].(mapping)["default"]
	testkit.Check(t, err == nil && claude == strings.TrimSpace(string(pinned)),
		"claude-version is %v, and %s is tested: %v", claude, pinned, err)
	for _, step := range action["runs"].(mapping)["steps"].([]any) {
		step := step.(mapping)
		script, _ := step["run"].(string)
		testkit.Check(t, script != "" && step["shell"] == "bash" && step["uses"] == nil,
			"step %v is not a script of bash", step["name"])
		testkit.Excludes(t, fmt.Sprintf("step %v", step["name"]), script, "${{", "curl", "wget", "eval", "| sh", "| bash")
	}
}

// hostileTask contains characters that are special to shells, to YAML and to CI systems.
const hostileTask = "Keep names\n::error::x\n$(touch pwned) `touch pwned` '\"; touch pwned; ${{ github.token }}\n--help"

// TestActionOverTwoJobs runs the action: the run ends with a question, and another job on another machine continues
// with the archive and the answer.
func TestActionOverTwoJobs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	model := serve(t, carried)
	inputs := map[string]string{"arbiter": arbiterProgram(t), "claude": standInProgram(t), "allow": "Bash(*)\n\nRead",
		"max-cost": "5", "sandbox": "off", "args": "--model\nopus"}
	repository := gittest.New(t, map[string]string{"kept.txt": "1\n"})
	first, second := newJob(t, model, repository.Path), newJob(t, model, repository.Copy().Path)
	ask := maps.Clone(inputs)
	ask["task"] = hostileTask
	out, log, code := first.action(ask)
	testkit.Need(t, code == int(contract.ExitNeedsInput) && out["exit-code"] == "3" && out["status"] == "needs_input" &&
		out["run"] != "" && out["archive"] != "", "exit code %d, outputs %v\n%s", code, out, log)
	silent := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*\n?::([0-9a-f]{32})::\n::error title=Run`)
	m := silent.FindStringSubmatch(log)
	testkit.Check(t, m != nil && m[1] == m[2], "the log is\n%s", log)
	testkit.Includes(t, "the step's summary", textOf(t, filepath.Join(first.temp, "summary")), "# Report of run")
	var suites struct {
		Tests int `xml:"tests,attr"`
	}
	b, err := os.ReadFile(out["junit"])
	testkit.Check(t, err == nil && xml.Unmarshal(b, &suites) == nil && suites.Tests != 0, "%v: %s", err, b)
	events := testkit.Must(os.ReadFile(out["events"]))(t)
	lines := testkit.Must(contractLines(string(events)))(t)
	for _, l := range lines {
		m, ok := l.Body.(contract.Message)
		testkit.Check(t, !ok || m.Kind != "task" || m.Text == hostileTask, "the task is %q", m.Text)
	}
	pass := maps.Clone(ask)
	pass["on-question"] = "pass"
	if _, log, code := newJob(t, serve(t, carried), t.TempDir()).action(pass); code != 0 {
		t.Errorf("a question fails the job: %d\n%s", code, log)
	}

	answer := maps.Clone(inputs)
	answer["archive"], answer["task"] = out["archive"], "Call it dawn."
	then, log, code := second.action(answer)
	testkit.Check(t, code == 0 && then["status"] == "complete" && then["run"] == out["run"] && then["archive"] == "",
		"exit code %d, outputs %v\n%s", code, then, log)
	testkit.Same(t, "names.txt", "dusk\ndawn\n", textOf(t, filepath.Join(second.work, "names.txt")))
	for _, dir := range []string{first.work, second.work} {
		absent(t, "the task was run as a command", filepath.Join(dir, "pwned"))
	}
}

// TestActionRefuses: if no run began, the job fails and says why.
func TestActionRefuses(t *testing.T) {
	t.Parallel()
	model := serve(t, carried)
	inputs := map[string]string{"arbiter": arbiterProgram(t), "claude": standInProgram(t), "task": "Keep names"}
	for name, c := range map[string]struct {
		input, value, says string
		code               int
	}{
		"a bad setting": {"max-cost", "much", "No run began", int(contract.ExitUsage)},
		"no archive":    {"archive", "missing.tar.gz", "cannot read missing.tar.gz", int(contract.ExitUsage)},
		"no version":    {"claude-version", "latest; touch pwned", "claude-version takes a version", 1},
	} {
		t.Run(name, func(t *testing.T) {
			with := maps.Clone(inputs)
			with[c.input] = c.value
			if c.input == "claude-version" {
				with["claude"] = ""
			}
			j := newJob(t, model, t.TempDir())
			out, log, code := j.action(with)
			testkit.Check(t, code == c.code && strings.Contains(log, c.says) && out["run"] == "",
				"exit code %d, outputs %v\n%s", code, out, log)
			testkit.Empty(t, "left", testkit.Must(filepath.Glob(filepath.Join(j.work, "*")))(t))
		})
	}
}

var gitLabOutputs = regexp.MustCompile(`^ARBITER_RUN=[0-9a-f-]{36}\nARBITER_EXIT_CODE=3\n$`)

// TestVariablesOfTheTemplate: arbiter refuses none of the variables that the job for GitLab leaves to it.
func TestVariablesOfTheTemplate(t *testing.T) {
	job := yamlFile(t, "docs/gitlab-ci.yml")[".arbiter"].(mapping)
	var environ []string
	for name := range job["variables"].(mapping) {
		if !strings.Contains(job["script"].([]any)[0].(string), "\nunset "+name+"\n") {
			environ = append(environ, name+"=x")
		}
	}
	unknown := settings.UnknownVariables(environ)
	testkit.Check(t, unknown == nil && len(environ) >= 5, "of %q arbiter refuses %q", environ, unknown)
}

// TestGitLabOverTwoJobs does the same with the template for GitLab, in both shells that its runners use.
func TestGitLabOverTwoJobs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	job := yamlFile(t, "docs/gitlab-ci.yml")[".arbiter"].(mapping)
	script := ""
	for _, line := range job["script"].([]any) {
		script += line.(string) + "\n"
	}
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(err)
			}
			model, bin := serve(t, carried), t.TempDir()
			for name, program := range map[string]string{"arbiter": arbiterProgram(t), "claude": standInProgram(t)} {
				testkit.OK(t, os.Symlink(program, filepath.Join(bin, name)))
			}
			run := func(work string, variables map[string]string) (ciJob, string, int) {
				j := newJob(t, model, work)
				env := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
				for name, value := range job["variables"].(mapping) {
					env = append(env, fmt.Sprintf("%s=%v", name, value))
				}
				for name, value := range variables {
					env = append(env, name+"="+value)
				}
				log, code := j.shell(env, shell, "-e", write(t, script, j.temp, "job.sh"))
				return j, log, code
			}
			with := map[string]string{"ARBITER_TASK": hostileTask, "ARBITER_ALLOW": "Bash(*)\nRead",
				"ARBITER_SANDBOX": "off", "ARBITER_EXPORT": "true", "ARBITER_ARGS": "--model\nopus"}
			first, log, code := run(t.TempDir(), with)
			results := filepath.Join(first.work, "arbiter-job")
			testkit.Need(t, code == int(contract.ExitNeedsInput), "exit code %d\n%s", code, log)
			variables, err := os.ReadFile(filepath.Join(results, "arbiter.env"))
			testkit.Check(t, err == nil && gitLabOutputs.Match(variables), "%q, %v", variables, err)
			for _, name := range []string{"events.jsonl", "junit.xml", "report.md", "run.tar.gz"} {
				info, err := os.Stat(filepath.Join(results, name))
				testkit.Check(t, err == nil && info.Size() != 0, "%s: %v\n%s", name, err, log)
			}
			work := t.TempDir()
			write(t, "dusk\n", work, "names.txt")
			with["ARBITER_TASK"], with["ARBITER_ARCHIVE"] = "Call it dawn.", filepath.Join(results, "run.tar.gz")
			second, log, code := run(work, with)
			names, err := os.ReadFile(filepath.Join(work, "names.txt"))
			testkit.Check(t, code == 0 && err == nil && string(names) == "dusk\ndawn\n", "exit code %d, %q, %v\n%s",
				code, names, err, log)
			for _, dir := range []string{first.work, second.work} {
				absent(t, "the task was run as a command", filepath.Join(dir, "pwned"))
			}
		})
	}
}

// arbiterProgram is the path of the program under test.
func arbiterProgram(t *testing.T) string {
	t.Helper()
	return testkit.Must(exec.LookPath("arbiter"))(t)
}

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
	testkit.Same(t, "final exit codes", want, got)
	pod := job["template"].(mapping)["spec"].(mapping)
	main := pod["containers"].([]any)[0].(mapping)
	line := main["args"].([]any)[0].(string)
	testkit.Includes(t, "", line, "--json", "--no-input", "--resume-or-begin", "--state-dir /fleet/state")
	testkit.Same(t, "exit codes count only with restartPolicy Never", "Never", pod["restartPolicy"])
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
		"HOME="+dir, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	testkit.Need(t, err == nil, "sbatch: %v\n%s", err, out)
	job := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(logs(dir))
		}
	})
	sooner := false
	testkit.Await(t, "the end of the array", func() bool {
		// A requeued job waits for two minutes, unless scontrol sets an earlier start. A node refuses a job that it has
		// killed in the same second.
		waits, _ := exec.Command("squeue", "-h", "-t", "PD", "-j", job+"_2").Output()
		if _, err := os.Stat(at("second")); err == nil && len(waits) > 0 && !sooner {
			sooner = exec.Command("scontrol", "update", "JobId="+job+"_2", "StartTime=now+2").Run() == nil
		}
		queued, err := exec.Command("squeue", "-h", "-j", job).CombinedOutput()
		return err != nil || strings.TrimSpace(string(queued)) == ""
	})
	lines := strings.Split(strings.TrimSpace(textOf(t, at("ledger"))), "\n")
	slices.Sort(lines)
	starts := map[string]int{}
	for _, line := range lines {
		starts[line[:1]]++
		testkit.Includes(t, "", line, "--json --no-input --resume-or-begin --state-dir "+at("fleet/"+line[:1]+"/state"))
	}
	testkit.Check(t, starts["1"] == 1 && starts["2"] == 2 && starts["3"] == 1, "starts %v, want 1, 2, 1", starts)
	testkit.Includes(t, "the run did not end", textOf(t, at("fleet/1/events.jsonl")), `"event":"result"`)
	testkit.Must(os.Stat(filepath.Join(at("fleet/3"), "work", "a")))(t)
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
