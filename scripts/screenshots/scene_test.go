package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

const playEnv = "ARBITER_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playEnv) != "" {
		os.Exit(program())
	}
	goleak.VerifyTestMain(m)
}

// program is a small program that uses the whole screen.
func program() int {
	task, err := os.ReadFile("../task.md")
	if err != nil {
		return 1
	}
	fmt.Printf("\x1b[?1049h\x1b]2;a program\a\x1b[2J\x1b[H╭─ \x1b[1m%s\x1b[m ─╮ %v\r\n", task, os.Args[1:])
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch text := lines.Text(); text {
		case "leave":
			fmt.Print("\x1b[?1049l")
			return 0
		default:
			fmt.Printf("told %s", text)
		}
	}
	return 1
}

var tried = scene{
	name: "tried", args: []string{"--flag"}, env: []string{playEnv + "=1"},
	files: map[string]string{"task.md": "weave"},
}

// TestFailures: the error of a scene that cannot be played says where it failed.
func TestFailures(t *testing.T) {
	hopeless := tried
	hopeless.steps = []step{wait("weave"), write("leave\n"), wait("never")}
	stays := tried
	stays.steps = []step{wait("weave"), func(context.Context, *stage) error { return errors.New("no more") }}
	unprepared := tried
	unprepared.files = map[string]string{"nowhere/task.md": "weave"}
	for name, tt := range map[string]struct {
		scene scene
		want  string
	}{
		"hopeless": {hopeless, `step 3: wait until ["never"] are shown: the program has ended`},
		"step":     {stays, "step 2: no more"},
		"files":    {unprepared, "no such file"},
	} {
		err := tt.scene.play(t.Context(),
			player{arbiter: os.Args[0], out: t.TempDir(), home: filepath.Join(t.TempDir(), "loom")})
		testkit.Fails(t, name, err, tt.want)
	}
	err := playAll(t.Context(), []string{"none"},
		player{arbiter: os.Args[0], out: t.TempDir(), home: filepath.Join(t.TempDir(), "loom")})
	testkit.Check(t, err != nil, "a scene that is not was played")
}

// TestAtRest plays the first picture with the program built from this tree.
func TestAtRest(t *testing.T) {
	dir := t.TempDir()
	arbiter := filepath.Join(dir, "arbiter")
	if out, err := exec.Command("go", "build", "-o", arbiter, "../../cmd/arbiter").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := playAll(t.Context(), []string{"oracle"},
		player{arbiter: arbiter, out: dir, home: filepath.Join(dir, "loom")}); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "oracle.svg"))
	testkit.Check(t, err == nil && strings.Contains(string(svg), ">Speak, mortal.</text>"), "%v: %.2000s", err, svg)
}

// TestScript: the run's script is a valid scenario.
func TestScript(t *testing.T) {
	_, err := rehearsal.Parse("loom.yaml", []byte(loom))
	testkit.Check(t, err == nil, "%v", err)
}

// TestPictures: the stored pictures show nothing of the machine that they were made on, and are small.
func TestPictures(t *testing.T) {
	const dir, most = "../../testdata/pictures", 60_000
	foreign := []string{"/root", "/home", "/Users"}
	if here, err := filepath.Abs("../.."); err == nil {
		foreign = append(foreign, here) // where this tree is
	}
	for _, name := range []string{"oracle", "weaving", "focus", "permission", "done", "handoff", "logbook", "light"} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Error(err)
			continue
		}
		testkit.Check(t, len(svg) <= most, "%s has %d bytes", name, len(svg))
		for _, path := range foreign {
			testkit.Check(t, !strings.Contains(string(svg), path), "%s shows %s", name, path)
		}
	}
}
