package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// checkWait is how long a host may take to answer a check, so that the check ends within three seconds.
const checkWait = 2500 * time.Millisecond

// checkLease is how long the bridge of a check stays alive if this process is killed.
const checkLease = 15 * time.Second

func (e linkEnv) checkHost(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usagef("hosts check: give one host; arbiter hosts lists them")
	}
	if c.Duration("wait") <= 0 {
		return command.Usagef("--wait %s: must be greater than 0", c.Duration("wait"))
	}
	cfg, file, _, err := settings.ConfiguredHosts(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	host, ok := cfg.Find(name)
	switch {
	case name == hosts.Here:
		return command.Usagef("%q is this machine: arbiter doctor checks it", name)
	case !ok:
		return command.Usagef("there is no host %q in %s; arbiter hosts lists them", name, file)
	}
	interrupted, stop := command.Interruptible(c.Context, false)
	defer stop()
	ctx, cancel := context.WithTimeout(interrupted, c.Duration("wait"))
	defer cancel()
	r := LookAtHosts(ctx, Opening{Host: host, Run: uuid.NewString(), Version: command.Version(), Lease: checkLease,
		Handler: NoHandler{}})
	if interrupted.Err() != nil {
		return context.Cause(interrupted)
	}
	if err := e.printCheck(r, c.Bool("json")); err != nil {
		return err
	}
	if r.State == DoctorFail {
		return &command.Error{Code: contract.ExitFailed}
	}
	return nil
}

func (e linkEnv) printCheck(r LinkReport, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(e.Stdout)
		enc.SetEscapeHTML(false) // for commands to type
		return enc.Encode(r)
	}
	signs := map[DoctorState]string{DoctorOK: "✓", DoctorNote: "·", DoctorWarn: "!", DoctorFail: "✗"}
	arrow := "→"
	if !command.SpeaksUTF8(os.Getenv) {
		signs = map[DoctorState]string{DoctorOK: "+", DoctorNote: "-", DoctorWarn: "!", DoctorFail: "x"}
		arrow = "->"
	}
	fmt.Fprintln(e.Stdout, "host "+r.Host)
	for _, f := range r.Findings {
		fmt.Fprintf(e.Stdout, "%s %-10s %s\n", signs[f.State], f.Name, sanitize.Line(sanitize.Redact(f.Found), 1000))
		if f.Fix != "" {
			fmt.Fprintf(e.Stdout, "%s%s %s\n", strings.Repeat(" ", 13), arrow, sanitize.Line(f.Fix, 1000))
		}
	}
	return nil
}
