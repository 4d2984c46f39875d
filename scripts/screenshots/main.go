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
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
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
