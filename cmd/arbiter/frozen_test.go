package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The frozen tests compare what users and their scripts can observe with files in testdata/frozen. They run the
// built program and use none of its packages: code can be moved freely, and these files change only when a
// promise to users does.
var freeze = flag.Bool("freeze", false, "write the files in testdata/frozen anew")

// frozen compares a text with its golden file.
func frozen(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "frozen", name)
	if *freeze {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-frozen +now):\n%s", path, diff)
	}
}

// builtProgram runs the built program in an environment without any configuration or state of arbiter, and
// returns its stdout.
func builtProgram(t *testing.T, home string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command("arbiter", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	cmd.Dir, cmd.Stderr = home, &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("arbiter %s: %v, %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

var subcommandLine = regexp.MustCompile(`(?m)^  ([a-z]+)  `)

// TestFrozenHelp: every command with its arguments, every flag with the kind of its value, its default and its
// environment variable, and the exit codes.
func TestFrozenHelp(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var all strings.Builder
	var walk func(command []string)
	walk = func(command []string) {
		text := builtProgram(t, home, append(command, "--help")...)
		all.WriteString("$ arbiter " + strings.Join(append(command, "--help"), " ") + "\n" + text + "\n")
		_, list, _ := strings.Cut(text, "\nCommands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for _, m := range subcommandLine.FindAllStringSubmatch(list, -1) {
			walk(append(command[:len(command):len(command)], m[1]))
		}
	}
	walk(nil)
	if n := strings.Count(all.String(), "$ arbiter "); n < 20 {
		t.Errorf("only %d commands", n)
	}
	frozen(t, "help.txt", all.String())
}

// TestFrozenSchemas: every event and command with its fields, every setting, and the task's state machine, as
// scripts read them.
func TestFrozenSchemas(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"events", "commands", "config", "machine"} { // bridge/schema.json is that of the bridge
		frozen(t, "schema-"+name+".json", builtProgram(t, home, "schema", name))
	}
}
