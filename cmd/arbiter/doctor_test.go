package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// examination is a doctor's report with everything that was examined.
type examination struct {
	host.DoctorReport
	code int
	temp string
}

// examine runs the doctor without our environment, and with time limits for a busy machine.
func examine(t *testing.T, env []string, args ...string) examination {
	t.Helper()
	temp := t.TempDir()
	s := prepare(t, append([]string{"TMPDIR=" + temp}, env...),
		append([]string{"doctor", "--json", "--trial-timeout", "3m"}, args...)...)
	out, err := s.cmd.Output()
	e := examination{code: s.cmd.ProcessState.ExitCode(), temp: temp}
	jerr := json.Unmarshal(out, &e.DoctorReport)
	testkit.Need(t, jerr == nil, "%v, %v\n%s\n%s", err, jerr, out, s.stderr.String())
	return e
}

func (e examination) find(t *testing.T, area, name string) host.Finding {
	t.Helper()
	i := slices.IndexFunc(e.Findings, func(f host.Finding) bool { return f.Area == area && f.Name == name })
	testkit.Need(t, i >= 0, "nothing of %s, %s: %+v", area, name, e.Findings)
	return e.Findings[i]
}

// TestDoctorLive: the real CLI has all the abilities that arbiter needs, and the trial leaves nothing behind.
func TestDoctorLive(t *testing.T) {
	testkit.Long(t)
	path := neededClaude(t)
	t.Parallel()
	e := examine(t, []string{"ANTHROPIC_API_KEY=sk-ant-rehearsal-0000", "ANTHROPIC_BASE_URL=http://127.0.0.1:9"},
		"--claude", path)
	e.healthy(t)
	f := e.find(t, host.AreaClaude, "login")
	testkit.Check(t, f.State == host.DoctorOK && f.Found == "api_key", "%+v", f)
}

func (e examination) healthy(t *testing.T) {
	t.Helper()
	testkit.Check(t, e.code == 0 && e.State != host.DoctorFail, "exit code %d, %s", e.code, e.State)
	abilities := 0
	for _, f := range e.Findings {
		if f.Area == host.AreaAbilities {
			abilities++
		}
		testkit.Check(t, (f.Area != host.AreaAbilities || f.State == host.DoctorOK) && f.State != host.DoctorFail,
			"%+v", f)
	}
	testkit.Check(t, abilities >= 20, "%d abilities", abilities)
	testkit.Empty(t, "left behind", testkit.Must(os.ReadDir(e.temp))(t))
}

// TestDoctorOfOthers: the doctor finds missing abilities of a CLI by trying them, not by the CLI's own
// statements.
func TestDoctorOfOthers(t *testing.T) {
	testkit.Long(t)
	for name, tt := range map[string]struct {
		drop  string                      // flags, with a value each
		adds  string                      // arguments of a session
		fault string                      // of the stand-in
		worse map[string]host.DoctorState // abilities that are not ok
		found string
	}{
		"all": {},
		"no schema": {drop: "--json-schema", found: "there was none",
			worse: map[string]host.DoctorState{"verdicts": host.DoctorFail, "delivery status": host.DoctorWarn,
				"plain text": host.DoctorFail,
				"queries":    host.DoctorWarn}},
		"no questions": {drop: "--permission-prompt-tool", found: "not asked for",
			worse: map[string]host.DoctorState{"permissions": host.DoctorFail}},
		"no control": {fault: "control-errors@2", found: "control-errors",
			worse: map[string]host.DoctorState{"interrupts": host.DoctorFail, "side questions": host.DoctorWarn}},
		"no transcript": {adds: "--no-session-persistence", found: "there is none",
			worse: map[string]host.DoctorState{"transcripts": host.DoctorFail, "resume": host.DoctorNote,
				"delivery status": host.DoctorNote,
				"plain text":      host.DoctorNote}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `case "$*" in *stream-json*) adds="` + tt.adds + `";; esac
				n=$#; while [ $n -gt 0 ]; do n=$((n-1)); a=$1; shift
				if [ "$a" = "` + cmp.Or(tt.drop, "--none") + `" ]; then shift; n=$((n-1)); else set -- "$@" "$a"; fi; done
				ARBITER_STANDIN_FAULT="` + tt.fault + `" exec arbiter stand-in $adds "$@"`
			e := examine(t, nil, "--claude", program(t, "claude", script+"\n"))
			if len(tt.worse) == 0 {
				e.healthy(t)
				return
			}
			testkit.Same(t, "exit code", int(contract.ExitEnvironment), e.code)
			said := false
			for _, f := range e.Findings {
				if f.Area != host.AreaAbilities {
					continue
				}
				want := tt.worse[f.Name]
				if want == "" {
					want = host.DoctorOK
				}
				testkit.Check(t, f.State == want, "want %s: %+v", want, f)
				said = said || strings.Contains(f.Found, tt.found)
			}
			testkit.Check(t, said, "no finding says %q: %+v", tt.found, e.Findings)
		})
	}
}

// TestDoctorWithoutSettings: a problem with the settings or the workspace is reported once, with its own remedy, and
// the doctor still looks at everything that does not need them.
func TestDoctorWithoutSettings(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	testkit.OK(t, os.WriteFile(config, []byte("modle: opus\n"), 0o600))
	e := examine(t, nil, "--no-trial", "--config", config, "--state-dir", filepath.Join(dir, "state"))
	if f := e.find(t, host.AreaSettings, "configuration"); f.State != host.DoctorFail || f.Fix != "arbiter schema config" {
		t.Errorf("%+v", f)
	}
	if f := e.find(t, host.AreaMachine, "sandbox"); strings.Contains(f.Found, "absolute") {
		t.Errorf("the trial of the sandbox got an empty path: %+v", f)
	}
	if f := e.find(t, host.AreaLeftovers, "runs"); f.State != host.DoctorOK {
		t.Errorf("%+v", f)
	}

	missing := filepath.Join(dir, "missing")
	e = examine(t, nil, "--no-trial", "--cwd", missing)
	if f := e.find(t, host.AreaSettings, "configuration"); f.State != host.DoctorNote {
		t.Errorf("the configuration is blamed for the workspace: %+v", f)
	}
	f := e.find(t, host.AreaPlaces, "workspace")
	testkit.Check(t, f.State == host.DoctorFail && strings.Contains(f.Found, missing), "%+v", f)
}

// TestDoctorOfPlaces: the state directory is the one that a run would use, and a workspace above the home directory
// holds all that the user has.
func TestDoctorOfPlaces(t *testing.T) {
	t.Parallel()
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	home, config := filepath.Join(dir, "all", "me"), filepath.Join(dir, "config.yaml")
	state := filepath.Join(dir, "file", "runs")
	testkit.OK(t, os.MkdirAll(home, 0o700))
	testkit.OK(t, os.WriteFile(filepath.Dir(state), nil, 0o600))
	testkit.OK(t, os.WriteFile(config, []byte("state-dir: "+state+"\n"), 0o600))
	e := examine(t, []string{"HOME=" + home, "ARBITER_STATE_DIR="}, "--no-trial", "--cwd", filepath.Dir(home), "--config",
		config)
	f := e.find(t, host.AreaPlaces, "workspace")
	testkit.Check(t, strings.Contains(f.Found, "holds all that you have"), "%+v", f)
	f = e.find(t, host.AreaPlaces, "state")
	testkit.Check(t, f.State == host.DoctorFail && strings.Contains(f.Found, filepath.Dir(state)), "%+v", f)
}

// TestDoctorIsStopped: a signal in the middle of the trial ends it, and nothing is left behind.
func TestDoctorIsStopped(t *testing.T) {
	t.Parallel()
	temp, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
	testkit.OK(t, syscall.Mkfifo(started, 0o600))
	path := program(t, "claude", "case \"$*\" in *--session-id*) echo on > "+started+
		";; esac\nexec arbiter stand-in \"$@\"\n")
	s := prepare(t, []string{"TMPDIR=" + temp}, "doctor", "--trial-timeout", "3m", "--claude", path)
	testkit.OK(t, s.cmd.Start())
	if _, err := os.ReadFile(started); err != nil { // waits until the trial has started
		t.Error(err)
	}
	testkit.OK(t, s.cmd.Process.Signal(os.Interrupt))
	_ = s.cmd.Wait()
	code := s.cmd.ProcessState.ExitCode()
	testkit.Check(t, code == int(contract.ExitInterrupted), "exit code %d\n%s", code, s.stderr.String())
	testkit.Empty(t, "left behind", testkit.Must(os.ReadDir(temp))(t))
}

// TestDoctorFindsLeftovers: the doctor finds leftovers of a killed rehearsal, and of an old one.
func TestDoctorFindsLeftovers(t *testing.T) {
	t.Parallel()
	state, temp := t.TempDir(), t.TempDir()
	env := []string{"ARBITER_STATE_DIR=" + state, "TMPDIR=" + temp}
	s := start(t, env, "--json", "--stand-in", "--scenario", "dialogue", "--task", "x")
	run := await[contract.Session](s, "the beginning", nil).Session
	await[contract.Question](s, "a question", nil)
	testkit.OK(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
	stray := exec.Command("sleep", "1000")
	stray.Env = []string{"ARBITER_RUN=" + run, "PATH=" + os.Getenv("PATH")}
	testkit.OK(t, stray.Start())
	defer func() { _ = stray.Process.Kill(); _ = stray.Wait() }()
	testkit.OK(t, os.Mkdir(filepath.Join(temp, "arbiter-rehearsal-0"), 0o700))
	dirs, _ := filepath.Glob(filepath.Join(temp, "arbiter-rehearsal-*"))
	for _, dir := range dirs { // also that of the run, which can be resumed
		testkit.OK(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-time.Hour)))
	}
	testkit.Need(t, len(dirs) == 2, "scratch directories: %v", dirs)
	look := func(env []string, args ...string) examination {
		return examine(t, env, append(args, "--no-trial", "--claude", "./none")...)
	}
	var e examination
	for deadline := time.Now().Add(waitTimeout); ; { // the bridge ends its agents first
		e = look(env)
		if slices.ContainsFunc(e.Findings, func(f host.Finding) bool { return f.Name == "interrupted" }) ||
			time.Now().After(deadline) {
			break
		}
	}
	f := e.find(t, host.AreaLeftovers, "interrupted")
	testkit.Check(t, f.Fix == "arbiter --resume --session "+command.ShortID(run), "%+v", f)
	// If only a flag leads to the state directory, the suggested command has that flag too.
	f = look(nil, "--state-dir", state).find(t, host.AreaLeftovers, "interrupted")
	testkit.Check(t, f.Fix == "arbiter --resume --session "+command.ShortID(run)+" --state-dir "+state, "%+v", f)
	// /tmp may also hold leftovers of others. A doctor that does not know the run leaves the run's files alone.
	for _, e := range []examination{e, look([]string{"TMPDIR=" + temp})} {
		f := e.find(t, host.AreaLeftovers, "scratch directories")
		testkit.Check(t, strings.Count(f.Fix, temp) == 1 &&
			strings.Contains(f.Fix, filepath.Join(temp, "arbiter-rehearsal-0")), "%+v", f)
	}
	f = e.find(t, host.AreaLeftovers, "processes")
	testkit.Check(t, strings.Contains(f.Found, "sleep"), "%+v", f)
}

// TestPinnedVersion: the version that the doctor recommends is the tested one.
func TestPinnedVersion(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../scripts/claude.version"))(t)
	testkit.Same(t, "scripts/claude.version and the doctor's", subcommands.PinnedVersion,
		strings.TrimSpace(string(text)))
}
