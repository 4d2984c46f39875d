// Command driftloop tests what is known of the Claude CLI's protocol with several versions of it, one after the
// other, and writes a table of the differences:
//
//	go run ./scripts/driftloop -out testdata/drift.md -pinned 2.1.329 2.1.300=PATH 2.1.329=PATH …
//
// For each version it runs the driver's live tests, the conversations that the stand-in must pass too, and a
// few whole plays, and it records the protocol of three more plays. A test that fails is tried once more alone,
// so that a busy machine is not mistaken for drift.
//
// With -record it only records these plays, as fixtures for a new frame:
//
//	go run ./scripts/driftloop -record testdata/wire PATH
//
// It exits with 1 if it could not run, and with 0 otherwise: differences are in the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "testdata/drift.md", "the table")
	pinned := flag.String("pinned", "", "the version that everything else is tested with")
	short := flag.Bool("short", false, "run the core of each part only")
	fixtures := flag.String("record", "", "write recordings with one CLI into `DIR`")
	code, err := 0, error(nil)
	if len(os.Args) > 3 && os.Args[1] == "tee" {
		code, err = tee(os.Args[2], os.Args[3], os.Args[4:])
	} else {
		flag.Parse()
		err = run(*out, *fixtures, table{pinned: *pinned, short: *short}, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		code = 1
	}
	os.Exit(code)
}

func run(out, fixtures string, t table, clis []string) error {
	if len(clis) == 0 {
		return errors.New("needs VERSION=PATH of each CLI, the oldest first, or the PATH of one for -record")
	}
	dir, err := build()
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	if fixtures != "" {
		for _, s := range scenarios {
			err = errors.Join(err, record(filepath.Join(dir, "arbiter"), clis[0], fixtures, s))
		}
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
