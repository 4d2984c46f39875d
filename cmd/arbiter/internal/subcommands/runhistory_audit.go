package subcommands

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func AuditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "audit",
			Usage: "print what the run did: process starts with their arguments, permissions, messages, commands, " +
				"kills and ends, as a chain of hashes"},
		&cli.BoolFlag{Name: "json", Usage: "with --audit: print one JSON object per line, for --verify"},
		&cli.BoolFlag{Name: "text", Usage: "with --audit: print the text of messages, not only their size and SHA-256"},
		&cli.StringFlag{Name: "verify",
			Usage: "check an audit `FILE` that --audit --json printed: its chain of hashes and, if the run is in the " +
				"state directory, each line", TakesFile: true},
	}
}

// audit prints or verifies an audit.
func (e historyEnv) audit(c *cli.Context) error {
	if c.IsSet("verify") {
		return e.verifyAudit(c)
	}
	if c.NArg() != 1 {
		return command.Usagef("logs --audit: give one RUN; arbiter sessions lists the runs")
	}
	store, info, log, err := runstore.OpenLogOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	defer log.Close()
	w := bufio.NewWriter(e.Stdout)
	emit := func(l supervisor.AuditLine) error { return supervisor.PrintAudit(w, l) }
	if c.Bool("json") {
		emit = func(l supervisor.AuditLine) error {
			_, err := w.Write(append(l.Raw, '\n'))
			return err
		}
	}
	err = supervisor.AuditOf(c.Context, log, info.Run, c.Bool("text"), emit)
	if err = errors.Join(err, w.Flush()); err != nil {
		return command.Environmentf("audit run %s: %v", command.ShortID(info.Run), err)
	}
	return nil
}

// verifyAudit verifies an audit file. A break in it is an error with the line number.
func (e historyEnv) verifyAudit(c *cli.Context) error {
	if c.NArg() > 1 || c.Bool("json") || c.Bool("text") {
		return command.Usagef("logs --verify FILE: give at most one RUN, without --json and --text")
	}
	f, err := os.Open(c.String("verify"))
	if err != nil {
		return command.Usagef("--verify %s: %v", c.String("verify"), command.WithoutPath(err))
	}
	defer f.Close()
	a, err := supervisor.ReadAudit(f)
	if err != nil {
		return brokenf(err)
	}
	if c.NArg() == 1 && !strings.HasPrefix(a.Run, c.Args().First()) {
		return &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf("the audit is of run %s", command.ShortID(a.Run))}
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	with := "its run is not here: nothing but the chain was checked"
	switch _, err := store.Find(a.Run); {
	case err == nil:
		log, err := store.OpenEventLog(a.Run)
		if err != nil {
			return err
		}
		defer log.Close()
		if err := a.Against(c.Context, log); err != nil {
			return brokenf(err)
		}
		with = "it agrees with the journal"
	case !errors.Is(err, journal.ErrNotFound):
		return command.Environmentf("find run %s: %v", command.ShortID(a.Run), err)
	}
	fmt.Fprintf(e.Stdout, "%d lines of run %s hold; %s\n", a.Len(), command.ShortID(a.Run), with)
	return nil
}

// brokenf returns the error for an audit that is broken or cannot be read.
func brokenf(err error) error {
	var broken *supervisor.Broken
	if errors.As(err, &broken) {
		return &command.Error{Code: contract.ExitFailed, Text: "the audit does not hold: " + broken.Error()}
	}
	return command.Environmentf("verify: %v", err)
}
