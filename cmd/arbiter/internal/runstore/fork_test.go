package runstore

import (
	"fmt"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestMovePaths: a directory is replaced where it is named, and not where it is a part of another name.
func TestMovePaths(t *testing.T) {
	for text, want := range map[string]string{
		`{"cwd":"/src/a"}`:                       `{"cwd":"/own/orch-1"}`,
		`{"file_path":"/src/a/b.go"}`:            `{"file_path":"/own/orch-1/b.go"}`,
		`cd /src/a && ls /src/a/; \"/src/a\"`:    `cd /own/orch-1 && ls /own/orch-1/; \"/own/orch-1\"`,
		`/src/ab /src/a-b /src/a.git /src/aé`:    `/src/ab /src/a-b /src/a.git /src/aé`,
		`/home/src/a /mnt//src/a x/src/a ../src`: `/home/src/a /mnt//src/a x/src/a ../src`,
		`/src/a`:                                 `/own/orch-1`,
		`list:\n/src/a/x\n\t/src/a/y`:            `list:\n/own/orch-1/x\n\t/own/orch-1/y`,
	} {
		testkit.Same(t, fmt.Sprintf("%s became", text), want, movePaths(text, "/src/a", "/own/orch-1"))
	}
}
