package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func HostsCommand(io command.Env) *cli.Command {
	e := linkEnv{io}
	config := settings.FlagOf("config")
	return &cli.Command{
		Name: "hosts", Usage: "list, check, add or remove the machines that Orchestrators may run on",
		Description: "A host is a command that starts a program on another machine and connects its stdin and stdout:\n" +
			"ssh, srun, podman run -i, kubectl exec -i. Arbiter has to be installed there. A run uses the hosts\n" +
			"that --hosts names.\n\n" +
			"  arbiter hosts add box -- ssh box\n  arbiter hosts check box\n  arbiter --hosts box,here\n\n" +
			"Exit codes: 0 listed, checked, added or removed; 1 a check failed; 2 bad usage, or the configuration\n" +
			"has a mistake; 5 the configuration cannot be written.",
		Flags:  []cli.Flag{config, command.JSONFlag()},
		Action: e.listHosts,
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the hosts and pools", Flags: []cli.Flag{config, command.JSONFlag()}, Action: e.listHosts},
			{
				Name: "check", Usage: "check one host: its key, its bridge, versions, login, directory", ArgsUsage: "HOST",
				Description: "Opens a bridge there and ends it. It leaves only an empty directory and a log there.",
				Flags: []cli.Flag{config, command.JSONFlag(),
					&cli.DurationFlag{Name: "wait", Value: checkWait, Usage: "how long the host may take to answer"}},
				Action: e.checkHost,
			},
			{
				Name: "add", Usage: "add a host to your configuration", ArgsUsage: "HOST -- COMMAND…",
				Description: "The words after -- start a program on the host: arbiter appends its own command to them.\n" +
					"Comments and the order of the file are kept.\n\n" +
					"  arbiter hosts add box -- ssh box\n  arbiter hosts add n2 --slots 8 --dir /scratch/me -- srun -Q -n1 -w n2 -u",
				Flags: []cli.Flag{
					config,
					&cli.StringFlag{Name: "dir", Usage: "where work is kept there, as an absolute `PATH` or one below ~/ " +
						"(default: below arbiter's state directory there)"},
					&cli.IntFlag{Name: "slots", Value: hosts.DefaultSlots,
						Usage: "how many Orchestrators may run there at once, a `NUMBER` of at least 1"},
					&cli.StringSliceFlag{Name: "pass-env",
						Usage: "`VARIABLE` that agents there get from here; give it again for others"},
				},
				Action: e.addHost,
			},
			{
				Name: "rm", Usage: "remove a host from your configuration", ArgsUsage: "HOST",
				Flags: []cli.Flag{config}, Action: e.removeHost,
			},
		},
	}
}

// hostLine is a host in the output of `hosts --json`.
type hostLine struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"` // empty for this machine
	Dir     string   `json:"dir,omitempty"`
	Slots   int      `json:"slots,omitempty"` // 0: as many as --max-orchestrators
	End     []string `json:"end,omitempty"`
	PassEnv []string `json:"pass_env,omitempty"`
	Pools   []string `json:"pools,omitempty"`
}

// HostsReport is the output of `hosts --json`.
type HostsReport struct {
	File  string              `json:"file"`
	Hosts []hostLine          `json:"hosts"`
	Pools map[string][]string `json:"pools"`
}

func (e linkEnv) listHosts(c *cli.Context) error {
	cfg, file, _, err := settings.ConfiguredHosts(c)
	if err != nil {
		return err
	}
	r := HostsReport{File: file, Pools: map[string][]string{}}
	for _, h := range cfg.Hosts {
		r.Hosts = append(r.Hosts, hostLine{h.Name, h.Command, h.Dir, h.Slots, h.End, h.PassEnv, cfg.PoolsOf(h.Name)})
	}
	r.Hosts = append(r.Hosts, hostLine{Name: hosts.Here, Pools: cfg.PoolsOf(hosts.Here)})
	for _, p := range cfg.Pools {
		r.Pools[p.Name] = p.Hosts
	}
	if c.Bool("json") {
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, command.Escaped(string(raw)))
		return nil
	}
	for _, h := range r.Hosts {
		fmt.Fprintln(e.Stdout, h.text())
	}
	for _, p := range cfg.Pools {
		fmt.Fprintf(e.Stdout, "%-12s  a pool: %s\n", p.Name, strings.Join(p.Hosts, ", "))
	}
	if len(cfg.Hosts) == 0 {
		fmt.Fprintf(e.Stdout, "No other host is configured in %s: arbiter hosts add NAME -- COMMAND… adds one.\n",
			sanitize.Line(file, 400))
	}
	return nil
}

// text describes the host in one line.
func (h hostLine) text() string {
	if h.Name == hosts.Here {
		return fmt.Sprintf("%-12s  this machine", h.Name)
	}
	text := fmt.Sprintf("%-12s  %s  (%s", h.Name, sanitize.Line(quoteWords(h.Command), 400), words.Count(h.Slots, "slot"))
	if h.Dir != "" {
		text += ", in " + sanitize.Line(h.Dir, 200)
	}
	return text + ")"
}

// quoteWords quotes a command for a shell.
func quoteWords(command []string) string {
	list := make([]string, len(command))
	for i, word := range command {
		list[i] = words.Quote(word)
	}
	return strings.Join(list, " ")
}

func (e linkEnv) addHost(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) < 3 || args[1] != "--" {
		return command.Usagef("hosts add: give a name and, after --, the command that starts a program there: arbiter " +
			"hosts add box -- ssh box")
	}
	h := hosts.Host{Name: args[0], Command: args[2:], Dir: c.String("dir"), Slots: c.Int("slots"),
		PassEnv: c.StringSlice("pass-env")}
	return e.editHosts(c, "added "+h.Name, func(file string, src []byte) ([]byte, error) {
		return hosts.Add(file, src, h)
	})
}

func (e linkEnv) removeHost(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usagef("hosts rm: give one host; arbiter hosts lists them")
	}
	name := c.Args().First()
	return e.editHosts(c, "removed "+name, func(file string, src []byte) ([]byte, error) {
		return hosts.Remove(file, src, name)
	})
}

// editHosts changes the user's configuration file. It creates the file if it does not exist.
func (e linkEnv) editHosts(c *cli.Context, done string, edit func(file string, src []byte) ([]byte, error)) error {
	_, file, src, err := settings.ConfiguredHosts(c)
	if err != nil {
		return err
	}
	out, err := edit(file, src)
	if errors.Is(err, hosts.ErrForm) {
		return command.Usagef("%s: %v", file, err)
	}
	if err != nil {
		return command.Usagef("%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return command.Environmentf("create the directory of your configuration: %v", err)
	}
	if err := command.WriteOutput(file, out); err != nil {
		return command.Environmentf("write your configuration: %v", err)
	}
	fmt.Fprintf(e.Stdout, "%s: %s\n", sanitize.Line(file, 400), sanitize.Line(done, 100))
	return nil
}

// linkEnv has the standard streams, and the commands of this package as methods.
type linkEnv struct{ command.Env }
