// Command screenshots runs arbiter in a terminal, plays scenes on it as a user would, and writes the screen as
// pictures:
//
//	go run ./scripts/screenshots -arbiter bin/arbiter -claude PATH -out testdata/pictures
//
// Each scene has its own home and workspace, and no credentials: the rehearsal plays the models. Arguments
// select scenes by name; -list lists the names.
package main

import (
	"context"
	_ "embed"
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
	arbiter := flag.String("arbiter", "bin/arbiter", "the arbiter to run")
	claude := flag.String("claude", os.Getenv("ARBITER_CLAUDE"), "the Claude CLI it drives")
	out := flag.String("out", "testdata/pictures", "directory of the pictures")
	home := flag.String("home", filepath.Join(os.TempDir(), "loom"),
		"`DIR` that each scene makes, plays in and removes; its name is seen in pictures")
	list := flag.Bool("list", false, "name the scenes")
	flag.Parse()
	all := scenes()
	if *list {
		for _, s := range all {
			fmt.Println(s.name)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := playAll(ctx, all, flag.Args(),
		player{arbiter: *arbiter, claude: *claude, out: *out, home: *home}); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func playAll(ctx context.Context, all []scene, names []string, th player) error {
	for _, path := range []*string{&th.arbiter, &th.claude, &th.home} {
		var err error
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(th.out, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s scene) bool { return s.name == name }) {
			return fmt.Errorf("there is no scene %q", name)
		}
	}
	for _, s := range all {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "screenshots:", s.name)
		if err := s.play(ctx, th); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

const (
	// waitTimeout is the time limit of a scene's step.
	waitTimeout = 2 * time.Minute
	// farewell is how long the program may take to end after a scene's last step.
	farewell = 30 * time.Second
)

// scene is a story to be played on the program's screen.
type scene struct {
	name  string
	size  terminal.Size
	args  []string
	env   []string                 // in addition to the common environment
	setup func(place string) error // prepares the workspace
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

// play plays the scene. The program must end by its last step. Otherwise it is killed and play returns an
// error, since the program might have left other processes.
func (sc scene) play(ctx context.Context, th player) error {
	if err := os.Mkdir(th.home, 0o700); err != nil { // an existing one may belong to someone
		return err
	}
	defer os.RemoveAll(th.home)
	place := filepath.Join(th.home, "oracle") // visible in pictures
	if err := os.Mkdir(place, 0o755); err != nil {
		return err
	}
	if sc.setup != nil {
		if err := sc.setup(place); err != nil {
			return err
		}
	}
	cmd := exec.Command(th.arbiter, sc.args...)
	cmd.Dir = place
	cmd.Env = append([]string{
		"HOME=" + th.home, "TMPDIR=" + th.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC",
		"TERM=xterm-256color", "COLORTERM=truecolor", "ARBITER_CLAUDE=" + th.claude,
		"ARBITER_STATE_DIR=" + filepath.Join(th.home, "state"),
	}, sc.env...)
	term, err := terminal.Start(cmd, sc.size)
	if err != nil {
		return err
	}
	defer term.Close()
	s := &stage{Terminal: term, out: th.out}
	for i, step := range sc.steps {
		if err := within(ctx, waitTimeout, func(ctx context.Context) error { return step(ctx, s) }); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return within(ctx, farewell, func(ctx context.Context) error {
		_, err := term.Exit(ctx)
		return err
	})
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// wait waits until all of the texts are on the screen.
func wait(texts ...string) step {
	return func(ctx context.Context, s *stage) error {
		if _, err := s.Wait(ctx, terminal.Shows(texts...)); err != nil {
			return fmt.Errorf("wait for %q: %w", texts, err)
		}
		return nil
	}
}

func until(what string, condition func(terminal.Screen) bool) step {
	return func(ctx context.Context, s *stage) error {
		if _, err := s.Wait(ctx, condition); err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		return nil
	}
}

// gone waits until a text is no longer on the screen.
func gone(text string) step {
	return until(text+" is gone", func(s terminal.Screen) bool { return !s.Shows(text) })
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

// resize gives the terminal another size.
func resize(columns, rows int) step {
	return func(_ context.Context, s *stage) error {
		return s.Resize(terminal.Size{Columns: columns, Rows: rows})
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
var loom []byte

// task is the task in the pictures.
const task = "Teach loom.sh to write its threads as JSON, and prove it with tests."

var usual = terminal.Size{Columns: 100, Rows: 30}

// scenes returns the pictures of the documentation, in its order.
func scenes() []scene { return []scene{atRest, fullRun} }

var atRest = scene{
	name: "oracle", size: usual, args: []string{"--rehearse"},
	steps: []step{
		wait("Speak, mortal.", "a scripted one"),
		shoot("oracle", "arbiter at rest: its sigil, its name, what there is to work with, and the input line"),
		press("Ctrl+C"),
	},
}

// fullRun is one run from the first message to the end. The script waits where a picture is taken; each step
// below waits for what it needs.
var fullRun = scene{
	name: "weaving", size: usual, args: []string{"--scenario", filepath.Join("..", "loom.yaml")},
	setup: func(place string) error {
		return os.WriteFile(filepath.Join(place, "..", "loom.yaml"), loom, 0o600)
	},
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
		resize(usual.Columns, 63),
		press("Esc"), wait("NORMAL"), press("/"), write("backslashes"), press("Enter"),
		wait("█ • Quotes and backslashes", "Begin when the Arbiter has"),
		press("N"),
		wait("▾ Orchestrator I → Orchestrator III", "Claims"),
		shoot("handoff",
			"a hand-off document unfolded: what was done, what is left, what was decided, and "+
				"which claims were proved"),
		resize(usual.Columns, usual.Rows),
		press("F2"),
		wait("THE LOGBOOK"),
		shoot("logbook", "the logbook: every event, one line each"),
		press("q"),
		wait("THE WEAVING"),
		press("G", "i"), write("/theme light"), press("Enter"),
		until("the colours are light", light),
		gone("NORMAL"), gone("/theme"),
		shootOn(terminal.Picture{Foreground: color.RGBA{0x30, 0x30, 0x30, 0xff},
			Background: color.RGBA{0xfb, 0xfa, 0xf7, 0xff}}, "light", "the same run on a light ground"),
		press("Ctrl+C"),
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
