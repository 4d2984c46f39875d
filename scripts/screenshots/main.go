// Command screenshots runs arbiter in a terminal, plays scenes on it as a user would, and writes the screen as
// pictures:
//
//	go run ./scripts/screenshots -arbiter bin/arbiter -claude PATH -out testdata/pictures
//
// Each scene has its own home and workspace, and no credentials: the rehearsal plays the models. Arguments
// select scenes by name.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

func main() {
	th := player{home: filepath.Join(os.TempDir(), "loom")}
	flag.StringVar(&th.arbiter, "arbiter", "bin/arbiter", "the arbiter to run")
	flag.StringVar(&th.claude, "claude", os.Getenv("ARBITER_CLAUDE"), "the Claude CLI it drives")
	flag.StringVar(&th.out, "out", "testdata/pictures", "directory of the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := playAll(ctx, flag.Args(), th); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// playAll plays the scenes with these names; none: all of them.
func playAll(ctx context.Context, names []string, th player) error {
	arbiter, err := filepath.Abs(th.arbiter)
	if th.arbiter = arbiter; err != nil {
		return err
	}
	if err := os.MkdirAll(th.out, 0o755); err != nil {
		return err
	}
	played := 0
	for _, s := range []scene{atRest, fullRun} { // in the order of the documentation
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "screenshots:", s.name)
		if err := s.play(ctx, th); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		played++
	}
	if played < len(names) {
		return fmt.Errorf("there are not all of the scenes %q", names)
	}
	return nil
}

// waitTimeout is the time limit of a scene's step, and of the program's end after the last one.
const waitTimeout = 2 * time.Minute

// scene is a story to be played on the program's screen.
type scene struct {
	name  string
	args  []string
	env   []string          // in addition to the common environment
	files map[string]string // beside the workspace
	steps []step
}

// player has what all scenes need.
type player struct {
	arbiter, claude string // programs
	out             string // directory of the pictures
	home            string // created and removed for each scene; its name is visible
}

// stage is the terminal of a scene.
type stage struct {
	*terminal.Terminal
	out string
}

// step is something that a user does or waits for.
type step func(ctx context.Context, s *stage) error

var usual = terminal.Size{Columns: 100, Rows: 30}

// play plays the scene. The program must end by its last step. Otherwise it is killed and play returns an
// error, since the program might have left other processes.
func (sc scene) play(ctx context.Context, th player) error {
	if err := os.Mkdir(th.home, 0o700); err != nil { // an existing one may belong to someone
		return err
	}
	defer os.RemoveAll(th.home)
	place := filepath.Join(th.home, "oracle") // visible in pictures
	err := os.Mkdir(place, 0o755)
	for name, text := range sc.files {
		err = errors.Join(err, os.WriteFile(filepath.Join(th.home, name), []byte(text), 0o600))
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(th.arbiter, sc.args...)
	cmd.Dir = place
	cmd.Env = append([]string{
		"HOME=" + th.home, "TMPDIR=" + th.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC",
		"TERM=xterm-256color", "COLORTERM=truecolor", "ARBITER_CLAUDE=" + th.claude,
		"ARBITER_STATE_DIR=" + filepath.Join(th.home, "state"),
	}, sc.env...)
	term, err := terminal.Start(cmd, usual)
	if err != nil {
		return err
	}
	defer term.Close()
	s := &stage{Terminal: term, out: th.out}
	for i, step := range append(slices.Clone(sc.steps), ends) {
		ctx, cancel := context.WithTimeout(ctx, waitTimeout)
		err := step(ctx, s)
		if cancel(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// ends waits for the end of the program.
func ends(ctx context.Context, s *stage) error {
	_, err := s.Exit(ctx)
	return err
}

func until(what string, condition func(terminal.Screen) bool) step {
	return func(ctx context.Context, s *stage) error {
		if _, err := s.Wait(ctx, condition); err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		return nil
	}
}

// wait waits until all of the texts are on the screen.
func wait(texts ...string) step {
	return until(fmt.Sprintf("%q are shown", texts), terminal.Shows(texts...))
}

// press presses keys by name.
func press(names ...string) step {
	return func(_ context.Context, s *stage) error { return s.Press(names...) }
}

func write(text string) step {
	return func(_ context.Context, s *stage) error {
		s.Type(text)
		return nil
	}
}

// resize gives the terminal another height.
func resize(rows int) step {
	return func(_ context.Context, s *stage) error {
		return s.Resize(terminal.Size{Columns: usual.Columns, Rows: rows})
	}
}

// shoot takes a picture. label describes it for those who cannot see it.
func shoot(name, label string) step { return shootOn(terminal.Picture{}, name, label) }

// shootOn takes a picture with the colours of another terminal.
func shootOn(p terminal.Picture, name, label string) step {
	return func(_ context.Context, s *stage) error {
		p.Window, p.Label = true, label
		return os.WriteFile(filepath.Join(s.out, name+".svg"), []byte(s.Screen().SVG(p)), 0o644)
	}
}

//go:embed loom.yaml
var loom string

// task is the task in the pictures.
const task = "Teach loom.sh to write its threads as JSON, and prove it with tests."

var atRest = scene{
	name: "oracle", args: []string{"--rehearse"},
	steps: []step{
		wait("Speak, mortal.", "a scripted one"),
		shoot("oracle", "arbiter at rest: its sigil, its name, what there is to work with, and the input line"),
		press("Ctrl+C"),
	},
}

// fullRun is one run from the first message to the end. The script waits where a picture is taken; each step
// below waits for what it needs.
var fullRun = scene{
	name: "weaving", args: []string{"--scenario", "../loom.yaml"}, files: map[string]string{"loom.yaml": loom},
	steps: []step{
		wait("Speak, mortal."),
		write(task), press("Enter"),
		wait("Names are escaped", "Look for names that break it", "20%"),
		shoot("weaving",
			"a run: two Orchestrators at work, how full their contexts are, the plan, and what they say to each other"),
		press("Alt+1"),
		wait("session ", "cat loom.sh", "Prints each thread"),
		shoot("focus", "one Orchestrator from near: what it says and does, and what its subagent does"),
		press("q"),
		wait("THE WEAVING"),
		until("the answers can be given", func(s terminal.Screen) bool {
			x, y, ok := s.Find("Allow once")
			return ok && s.Cells[y][x].Style.Bg != nil && s.Shows("rm -rf build")
		}),
		shoot("permission", "an Orchestrator asks permission to run a command; the run stands dim behind the question"),
		press("y"),
		wait("loom.sh prints one JSON"),
		shoot("done", "the end of the run: its summary, what it cost, and the checks that passed"),
		// The search unfolds its match. The successor's brief contains the document too; the match before it is
		// the document.
		resize(63),
		press("Esc"), wait("NORMAL"), press("/"), write("backslashes"), press("Enter"),
		wait("█ • Quotes and backslashes", "Begin when the Arbiter has"),
		press("N"),
		wait("▾ Orchestrator I → Orchestrator III", "Claims"),
		shoot("handoff",
			"a hand-off document unfolded: what was done, what is left, what was decided, and "+
				"which claims were proved"),
		resize(usual.Rows),
		press("F2"),
		wait("THE LOGBOOK"),
		shoot("logbook", "the logbook: every event, one line each"),
		press("q"),
		wait("THE WEAVING"),
		press("G", "i"), write("/theme light"), press("Enter"),
		until("the colours are light", light),
		until("the command is gone", func(s terminal.Screen) bool { return !s.Shows("NORMAL") && !s.Shows("/theme") }),
		shootOn(terminal.Picture{Foreground: color.RGBA{0x30, 0x30, 0x30, 0xff},
			Background: color.RGBA{0xfb, 0xfa, 0xf7, 0xff}}, "light", "the same run on a light ground"),
		press("Ctrl+C", "Ctrl+C"), // the second answers the question that comes if the run's process has not ended yet
	},
}

// light reports whether the title is dark enough for a light background.
func light(s terminal.Screen) bool {
	x, y, ok := s.Find("THE WEAVING")
	if !ok || s.Cells[y][x].Style.Fg == nil {
		return false
	}
	r, g, b, _ := s.Cells[y][x].Style.Fg.RGBA()
	return r+g+b < 3*0x8000
}
