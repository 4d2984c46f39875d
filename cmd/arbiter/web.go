package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func (e env) webCommand() *cli.Command {
	return &cli.Command{
		Name: "web", Usage: "show a run on a page in your browser, and answer it there", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Serves one page until you press Ctrl+C. Without RUN it is of the live run of this directory, which continues when arbiter
web ends. stdout gets the link. It works once, in one browser; the page makes links for further browsers. Only this
machine reaches the page. To open it from elsewhere, use ssh -L, or tailscale serve with --host and the name that the
browser shows.

  arbiter web
  arbiter web 4be1c2d0 --listen 127.0.0.1:8080 --host box.example.ts.net

Exit code 2: also if the address is refused; 5: also if the port cannot be opened.`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "listen at `ADDRESS:PORT`; port 0: any"},
			&cli.StringSliceFlag{Name: "host", Usage: "a further `NAME` of this machine that browsers may use"},
			&cli.BoolFlag{Name: "public", Usage: "allow an address that other machines reach, without encryption"},
			settings.StateDirFlag(),
		},
		Action: e.web,
	}
}

// web is `arbiter web`.
func (e env) web(c *cli.Context) error {
	port, err := e.openRunPort(c)
	if err != nil {
		return err
	}
	info, err := port.shown(c.Args().First())
	if err != nil {
		return err
	}
	server, err := clients.ListenWeb(clients.WebOptions{
		Runs: port, Run: info.Run, State: settings.StateForCommand(port.stateDir), Listen: c.String("listen"),
		Hosts: c.StringSlice("host"), Public: c.Bool("public"),
	})
	switch _, ok := errors.AsType[*os.SyscallError](err); {
	case errors.Is(err, clients.ErrNotLoopback):
		return command.Usagef("--listen %s: %v; use 127.0.0.1, or add --public", c.String("listen"), err)
	case ok:
		return command.Environmentf("listen at %s: %v", c.String("listen"), err)
	case err != nil:
		return command.Usagef("%v", err)
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	if c.Bool("public") {
		fmt.Fprintln(e.Stderr, "Warning: --public encrypts nothing: anyone who can read the traffic can answer for you.")
	}
	fmt.Fprintf(e.Stderr, "Run %s: %s\n", command.ShortID(info.Run), sanitize.Line(info.Title, 100))
	fmt.Fprintln(e.Stderr, "Open the link in your browser. It works once. Ctrl+C ends the page, not the run.")
	if _, err := fmt.Fprintln(e.Stdout, server.Link()); err != nil {
		_ = server.Close() // the link was not printed
		return command.Environmentf("stdout: %v", err)
	}
	for _, name := range c.StringSlice("host") {
		fmt.Fprintf(e.Stderr, "Over a proxy, as another browser: %s\n", server.LinkAt(name))
	}
	if err := server.Serve(ctx); err != nil {
		return command.Environmentf("serve the page: %v", err)
	}
	return command.BySignal(ctx, "")
}

// shown finds the run with a name, live or not; without a name, the live run of this directory.
func (p runPort) shown(named string) (journal.Info, error) {
	if named != "" {
		return p.Find(named)
	}
	store, err := runstore.OpenIn(p.stateDir)
	if err != nil {
		return journal.Info{}, err
	}
	defer store.Close()
	return runstore.FindLive(store, "")
}
