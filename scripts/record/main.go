// Command record plays scenarios with the real Claude CLI and writes the lines of its protocol, scrubbed, as
// fixtures:
//
//	go run ./scripts/record -arbiter bin/arbiter -claude PATH -out testdata/wire
//
// Lines to the CLI begin with "> ", lines from it with "< ". Ids, paths, times and figures that change from run
// to run are replaced, so that a new recording differs only if the protocol does.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == "tee" {
		os.Exit(tee(os.Args[2], os.Args[3], os.Args[4:]))
	}
	arbiter := flag.String("arbiter", "bin/arbiter", "the arbiter to run")
	claude := flag.String("claude", "claude", "the Claude CLI to record")
	out := flag.String("out", "testdata/wire", "directory of the fixtures")
	flag.Parse()
	scenarios := flag.Args()
	if len(scenarios) == 0 {
		scenarios = []string{"small-job", "parallel", "generations"}
	}
	for _, s := range scenarios {
		if err := record(*arbiter, *claude, *out, s); err != nil {
			fail(fmt.Errorf("%s: %w", s, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "record:", err)
	os.Exit(1)
}

// record plays one scenario and writes a fixture for each agent.
func record(arbiter, claude, out, scenario string) error {
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if claude, err = exec.LookPath(claude); err != nil {
		return err
	}
	if claude, err = filepath.Abs(claude); err != nil {
		return err
	}
	// A rehearsal scrubs the environment, so the wrapper contains the arguments.
	wrapper := filepath.Join(dir, "claude")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' tee '%s' '%s' \"$@\"\n", self, dir, claude)
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		return err
	}
	cmd := exec.Command(arbiter, "--json", "--no-input", "--scenario", scenario, "--claude", wrapper, "--task", "Weave",
		"--state-dir", dir, "--sandbox", "off") // a sandbox hides the recorder, which is in a temporary directory
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	captures, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	if err != nil {
		return err
	}
	sort.Strings(captures)
	name := strings.TrimSuffix(filepath.Base(scenario), ".yaml")
	for _, c := range captures {
		raw, err := os.ReadFile(c)
		if err != nil {
			return err
		}
		agent := strings.TrimSuffix(filepath.Base(c), ".wire")
		file := filepath.Join(out, name+"-"+agent+".wire")
		if err := os.WriteFile(file, []byte(scrub(string(raw), dir)), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, file)
	}
	return nil
}

// tee runs the CLI and records every line in both directions.
func tee(dir, claude string, args []string) int {
	cmd := exec.Command(claude, args...)
	cmd.Stderr = os.Stderr
	if len(args) == 1 { // --version
		cmd.Stdout = os.Stdout
		return exitCode(cmd.Run())
	}
	agent, _, _ := strings.Cut(os.Getenv("ARBITER_AGENT"), ".")
	file, err := os.Create(filepath.Join(dir, agent+".wire"))
	if err != nil {
		fail(err)
	}
	defer file.Close()
	in, err := cmd.StdinPipe()
	if err != nil {
		fail(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		fail(err)
	}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	var mu sync.Mutex
	keep := func(mark string, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(file, "%s %s\n", mark, strings.TrimSuffix(string(line), "\n"))
	}
	go func() { // ends with our stdin
		copyLines(in, os.Stdin, func(line []byte) { keep(">", line) })
		_ = in.Close()
	}()
	copyLines(os.Stdout, out, func(line []byte) { keep("<", line) })
	return exitCode(cmd.Wait())
}

func copyLines(to io.Writer, from io.Reader, keep func([]byte)) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			keep(line)
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() >= 0 {
		return exit.ExitCode()
	}
	return 1
}
