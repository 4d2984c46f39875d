package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// record plays one scenario with the real CLI, and writes the lines of its protocol, scrubbed, as a fixture for each
// agent. Lines to the CLI begin with "> ", lines from it with "< ". Ids, paths, times and figures that change from run
// to run are replaced, so that a new recording differs only if the protocol does.
func record(arbiter, claude, out, scenario string) error {
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, noSelf := os.Executable()
	found, noCLI := exec.LookPath(claude)
	claude, noPath := filepath.Abs(found)
	if err := errors.Join(noSelf, noCLI, noPath); err != nil {
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
	if _, err := outputOf(cmd); err != nil {
		return err
	}
	captures, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(scenario), ".yaml")
	for _, c := range captures {
		raw, err := os.ReadFile(c)
		if err != nil {
			return err
		}
		agent := strings.TrimSuffix(filepath.Base(c), ".wire")
		file := filepath.Join(out, name+"-"+agent+".wire")
		if err := os.WriteFile(file, []byte(scrubRecording(string(raw), dir)), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, file)
	}
	return nil
}

// tee runs the CLI and records every line in both directions.
func tee(dir, claude string, args []string) (code int, err error) {
	cmd := exec.Command(claude, args...)
	cmd.Stderr = os.Stderr
	if len(args) == 1 { // --version
		cmd.Stdout = os.Stdout
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), nil
	}
	agent, _, _ := strings.Cut(os.Getenv("ARBITER_AGENT"), ".")
	file, err := os.Create(filepath.Join(dir, agent+".wire"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in, noInput := cmd.StdinPipe()
	out, noOutput := cmd.StdoutPipe()
	if err := errors.Join(noInput, noOutput, cmd.Start()); err != nil {
		return 0, err
	}
	var mu sync.Mutex
	pass := func(mark string, to io.Writer, from io.Reader) {
		for r := bufio.NewReaderSize(from, 1<<20); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				mu.Lock()
				fmt.Fprintf(file, "%s %s\n", mark, strings.TrimSuffix(line, "\n"))
				mu.Unlock()
			}
			if _, bad := io.WriteString(to, line); err != nil || bad != nil {
				return
			}
		}
	}
	go func() { // ends with our stdin
		pass(">", in, os.Stdin)
		_ = in.Close()
	}()
	pass("<", os.Stdout, out)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), nil // -1 if a signal ended it
}

// ids are renamed in the order in which they appear, so that references between them stay valid.
var ids = regexp.MustCompile(
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|toolu_[0-9A-Za-z]+|msg_[0-9A-Za-z]+|req_[0-9A-Za-z]+`)

// fixed are figures and paths that do not concern the protocol.
var fixed = replacements{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-01-01T00:00:00.000Z"},
	{regexp.MustCompile(`/[^" ]*arbiter-rehearsal-\d+`), "/rehearsal"},
	{regexp.MustCompile(`-[-a-zA-Z0-9]*arbiter-rehearsal-\d+`), "-rehearsal"},
	{regexp.MustCompile(
		`("(?:duration_ms|duration_api_ms|ttft_ms|total_cost_usd|costUSD|pid|cost_usd|time_to_request_ms|[a-z_]*_ms)"):[0-9.e-]+`), "$1:0"},
	{regexp.MustCompile(`"messaging_socket_path":"[^"]*"`), `"messaging_socket_path":"/socket"`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:1"},
	{regexp.MustCompile(`⟦[a-z2-7]{16} `), "⟦delimiter "},
}

func scrubRecording(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "/record")
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.Contains(line, `"type":"control_response"`) && len(line) > 2000 {
			lines[i] = trimAnswer(line)
		}
	}
	text = strings.Join(lines, "")
	text = fixed.in(text)
	names := map[string]string{}
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			prefix, _, found := strings.Cut(id, "_")
			if found {
				names[id] = fmt.Sprintf("%s_%08d", prefix, len(names)+1)
			} else {
				names[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(names)+1)
			}
		}
		return names[id]
	})
}

// trimAnswer keeps of a long answer (to initialize, to get_context_usage) what a
// driver may look at: its lists are the CLI's own prose about commands, agents,
// models and categories.
func trimAnswer(line string) string {
	mark, raw, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	var frame struct {
		Type     string `json:"type"`
		Response struct {
			Subtype   string         `json:"subtype"`
			RequestID string         `json:"request_id"`
			Response  map[string]any `json:"response"`
		} `json:"response"`
	}
	if json.Unmarshal([]byte(raw), &frame) != nil || frame.Response.Response == nil {
		return line
	}
	for name, value := range frame.Response.Response {
		switch value.(type) {
		case []any:
			if name != "capabilities" {
				frame.Response.Response[name] = []any{}
			}
		case map[string]any:
			if name != "mcp_response" && name != "apiUsage" {
				frame.Response.Response[name] = map[string]any{}
			}
		}
	}
	trimmed, err := json.Marshal(frame)
	if err != nil {
		return line
	}
	return mark + " " + string(trimmed) + "\n"
}
