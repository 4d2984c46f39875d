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
	"flag"
	"fmt"
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
