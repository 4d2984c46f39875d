// Command driftloop tests what is known of the Claude CLI's protocol with several versions of it, one after the
// other, and writes a table of the differences:
//
//	go run ./scripts/driftloop -out testdata/drift.md -pinned 2.1.329 2.1.300=PATH 2.1.329=PATH …
//
// For each version it runs the driver's live tests, the conversations that the stand-in must pass too, and a
// few whole plays, and it records the protocol of three more plays. A test that fails is tried once more alone,
// so that a busy machine is not mistaken for drift.
//
// It exits with 1 if it could not run, and with 0 otherwise: differences are in the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "testdata/drift.md", "the table")
	pinned := flag.String("pinned", "", "the version that everything else is tested with")
	short := flag.Bool("short", false, "run the core of each part only")
	flag.Parse()
	if err := run(*out, table{pinned: *pinned, short: *short}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		os.Exit(1)
	}
}

func run(out string, t table, clis []string) error {
	if len(clis) == 0 {
		return errors.New("needs VERSION=PATH of each CLI, the oldest first")
	}
	dir, err := build()
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	for _, cli := range clis {
		version, path, ok := strings.Cut(cli, "=")
		if !ok {
			return fmt.Errorf("%q is not VERSION=PATH", cli)
		}
		began := time.Now()
		found, err := trial{dir: dir, version: version, claude: path, short: t.short}.run()
		if err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", version, time.Since(began).Round(time.Second))
		t.versions, t.found = append(t.versions, version), append(t.found, found)
		if err := os.WriteFile(out, []byte(t.render()), 0o644); err != nil { // of those so far
			return err
		}
	}
	return nil
}

// findings are the results of one version, by part of the table.
type findings map[string]cells
