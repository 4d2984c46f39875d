package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/crashlog"

	"github.com/urfave/cli/v2"
)

func (e env) logs(c *cli.Context) error {
	if c.Bool("audit") || c.IsSet("verify") {
		return e.audit(c)
	}
	if c.Bool("json") || c.Bool("text") {
		return usagef("logs: --json and --text need --audit")
	}
	if c.NArg() != 1 {
		return usagef("logs: give one RUN; arbiter sessions lists the runs")
	}
	store, info, err := openRun(c)
	if err != nil {
		return err
	}
	defer store.Close()
	found := false
	for _, name := range []string{crashlog.LogName + ".1", crashlog.LogName} {
		f, err := os.Open(filepath.Join(store.Dir(info.Run), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return environmentf("log: %v", err)
		}
		found = true
		_, err = io.Copy(e.stdout, f)
		f.Close()
		if err != nil {
			return environmentf("log: %v", err)
		}
	}
	if !found {
		return usagef("run %s has no log", short(info.Run))
	}
	return nil
}
