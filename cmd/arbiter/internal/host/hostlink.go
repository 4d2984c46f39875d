package host

// This part of the package opens the bridge of a run on another host and ends the processes that are left
// there. It also has the commands about hosts: list, add, remove, and check.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// checkWait is how long a host may take to answer a check, so that the check ends within three seconds.
const checkWait = 2500 * time.Millisecond

// checkLease is how long the bridge of a check stays alive if this process is killed.
const checkLease = 15 * time.Second

func (e hostEnv) checkHost(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usagef("hosts check: give one host; arbiter hosts lists them")
	}
	if c.Duration("wait") <= 0 {
		return command.Usagef("--wait %s: must be greater than 0", c.Duration("wait"))
	}
	cfg, file, src, err := settings.ConfiguredHosts(c)
	if err != nil {
		return err
	}
	makes, err := settings.MakesOf(file, src)
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
	host.Connect = c.Duration("wait")
	r := LookAtHosts(ctx, Opening{Host: host, Run: uuid.NewString(), Lease: checkLease,
		Handler: NoHandler{}, Makes: makes})
	if interrupted.Err() != nil {
		return context.Cause(interrupted)
	}
	if c.Bool("json") {
		if err := e.PrintJSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(e.Stdout, "host "+r.Host)
		for _, f := range r.Findings {
			f.print(e.Stdout, DoctorStyle{ASCII: !command.SpeaksUTF8(os.Getenv)}, 10)
		}
	}
	if r.State == DoctorFail {
		return &command.Error{Code: contract.ExitFailed}
	}
	return nil
}

func HostsCommand(io command.Env) *cli.Command {
	e := hostEnv{io}
	config := settings.FlagOf("config")
	return &cli.Command{
		Name: "hosts", Usage: "list, check, add or remove the machines that Orchestrators may run on",
		Description: "A host is a command that starts a program on another machine and connects its stdin and stdout:\n" +
			"ssh, srun, podman run -i, kubectl exec -i. Arbiter has to be installed there. A run uses the hosts\n" +
			"that --hosts names.\n\n" +
			"  arbiter hosts add box -- ssh box\n  arbiter hosts check box\n  arbiter --hosts box,here\n\n" +
			"Exit code 1: a check failed.",
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

func (e hostEnv) listHosts(c *cli.Context) error {
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
		return e.PrintJSON(r)
	}
	for _, h := range r.Hosts {
		text := "this machine"
		if h.Name != hosts.Here {
			text = fmt.Sprintf("%s  (%s", sanitize.Line(words.Quote(h.Command...), 400), words.Count(h.Slots, "slot"))
			if h.Dir != "" {
				text += ", in " + sanitize.Line(h.Dir, 200)
			}
			text += ")"
		}
		fmt.Fprintf(e.Stdout, "%-12s  %s\n", h.Name, text)
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

func (e hostEnv) addHost(c *cli.Context) error {
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

func (e hostEnv) removeHost(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usagef("hosts rm: give one host; arbiter hosts lists them")
	}
	name := c.Args().First()
	return e.editHosts(c, "removed "+name, func(file string, src []byte) ([]byte, error) {
		return hosts.Remove(file, src, name)
	})
}

// editHosts changes the user's configuration file.
func (e hostEnv) editHosts(c *cli.Context, done string, edit func(file string, src []byte) ([]byte, error)) error {
	_, file, _, err := settings.ConfiguredHosts(c)
	if err == nil {
		err = settings.ChangeConfig(file, func(src []byte) ([]byte, error) { return edit(file, src) })
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "%s: %s\n", sanitize.Line(file, 400), sanitize.Line(done, 100))
	return nil
}

// LinkReport has the findings about a host.
type LinkReport struct {
	Host        string      `json:"host"`
	State       DoctorState `json:"state"` // the worst of all
	Findings    []Finding   `json:"findings"`
	OpenMS      int64       `json:"open_ms,omitempty"`       // until the bridge answered
	RoundTripMS float64     `json:"round_trip_ms,omitempty"` // median of several requests
}

// hostArea is the area of all findings about a host.
const hostArea = "host"

// LookAtHosts checks a host: the connection to it, and what is installed there. It ends with ctx, and reports what has
// not answered by then. It leaves nothing on the host.
func LookAtHosts(ctx context.Context, o Opening) LinkReport {
	r := LinkReport{Host: o.Host.Name, Findings: []Finding{}}
	var keys, there, more []Finding
	var up bool
	var all sync.WaitGroup
	all.Go(func() { keys = sshFindings(ctx, o.Host) })
	all.Go(func() { there, up = o.bridgeFindings(ctx, &r) })
	all.Go(func() { more = o.commandFindings(ctx) })
	all.Wait()
	r.Findings = append(keys, there...)
	if up { // otherwise all would fail for the same reason
		r.Findings = append(r.Findings, more...)
	}
	r.State = worst(r.Findings)
	return r
}

// bridgeFindings opens the bridge, and reports what it finds. up says whether the bridge could be opened.
func (o Opening) bridgeFindings(ctx context.Context, r *LinkReport) (list []Finding, up bool) {
	e := examination{area: hostArea}
	var client *bridge.Client
	o.started = func(p *os.Process) { // ctx ends a process that does not answer
		context.AfterFunc(ctx, func() { _ = p.Kill() })
	}
	begin := time.Now()
	_, init, failed := o.Open(ctx, func(c *bridge.Client) { client = c })
	if client != nil {
		defer client.Close()
	}
	r.OpenMS = time.Since(begin).Milliseconds()
	if failed != nil {
		fix := "try it in a terminal: " + words.Quote(o.Host.Command...) + " arbiter version"
		if failed.Category == bridge.CatTimeout {
			fix += "; --wait gives it more time"
		}
		e.add("bridge", DoctorFail, failed.Message, fix)
		return e.found, false
	}
	trips := []time.Duration{}
	for range 5 {
		begin := time.Now()
		if _, err := client.Resolve(ctx, bridge.ResolveParams{Paths: []string{"/"}}); err != nil {
			break
		}
		trips = append(trips, time.Since(begin))
	}
	slices.Sort(trips)
	link := fmt.Sprintf("open after %d ms", r.OpenMS)
	if len(trips) > 0 {
		r.RoundTripMS = float64(trips[len(trips)/2].Microseconds()) / 1000
		link += fmt.Sprintf(", a request takes %.2f ms", r.RoundTripMS)
	}
	e.add("bridge", DoctorOK, link, "")
	e.add("arbiter", DoctorOK, init.Version, "")
	e.add("claude", DoctorOK, init.Claude.Version+" ("+init.Claude.Path+")", "")
	there := init.Remote
	if there == nil {
		return e.found, true
	}
	e.add("machine", DoctorOK, there.Hostname+", "+there.OS+"/"+there.Arch, "")
	e.add("directory", DoctorOK, there.Dir, "")
	e.first("sandbox", ruling{there.Sandbox != "", DoctorOK, there.Sandbox, ""},
		ruling{true, DoctorNote, there.SandboxReason, "install bubblewrap there to use --sandbox"})
	for _, m := range o.Makes {
		program := m.Command[0]
		e.first("make "+m.Name, ruling{!slices.Contains(there.Missing, program), DoctorOK, program, ""},
			ruling{true, DoctorWarn, program + " is not there", "install it there, or name this make only for other hosts"})
	}
	return e.found, true
}

// commandFindings runs other programs on the host than the bridge.
func (o Opening) commandFindings(ctx context.Context) []Finding {
	var version, examined []byte
	var noGit, noDoctor error
	var both sync.WaitGroup
	both.Go(func() { version, noGit = o.run(ctx, "git", "version") })
	both.Go(func() { examined, noDoctor = o.run(ctx, "arbiter", "doctor", "--json", "--no-trial") })
	both.Wait()
	e := examination{area: hostArea}
	e.first("git", ruling{noGit != nil, DoctorFail, fmt.Sprint(noGit), "install git there: work is moved with it"},
		ruling{true, DoctorOK, strings.TrimPrefix(strings.TrimSpace(string(version)), "git version "), ""})
	var report DoctorReport
	unread := json.Unmarshal(examined, &report) // doctor fails with bad findings, but prints them
	f := Finding{State: DoctorNote, Found: "not known", Fix: "arbiter doctor"}
	switch i := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Name == "login" }); {
	case unread == nil && i >= 0:
		f = report.Findings[i]
	case unread == nil:
	case ctx.Err() != nil:
		f.Found += ": doctor did not answer in time"
	case noDoctor != nil:
		f.Found += ": " + noDoctor.Error()
	default:
		f.Found += ": doctor did not answer"
	}
	if f.State == DoctorFail && len(o.Host.PassEnv) > 0 {
		f.State, f.Fix = DoctorNote, ""
		f.Found += "; agents get " + strings.Join(o.Host.PassEnv, ", ") + " from here"
	} else if f.Fix != "" {
		f.Fix = "run there: " + f.Fix
	}
	e.add("login", f.State, f.Found, f.Fix)
	return e.found
}

// maxRemoteOutput bounds the output of a command on the host.
const maxRemoteOutput = 1 << 20

// run runs a command on the host.
func (o Opening) run(ctx context.Context, words ...string) ([]byte, error) {
	argv, err := o.Host.Argv(words...)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	stdout, stderr := &git.Head{Max: maxRemoteOutput}, &git.Head{Max: maxRemoteOutput}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, 100*time.Millisecond
	if err = runWhole(ctx, cmd, proctree.Mark{Run: o.Run, Bridge: "check:" + o.Host.Name}); err != nil {
		err = fmt.Errorf("%w %s", err, jsonl.Cut(strings.TrimSpace(string(stderr.Data)), 200))
	}
	return stdout.Data, err
}

// sshFindings reports how OpenSSH would treat the host's key and the user's key agent.
func sshFindings(ctx context.Context, h hosts.Host) []Finding {
	args, yes := h.UsesSSH()
	if !yes {
		return nil
	}
	out, err := exec.CommandContext(ctx, h.Command[0], append([]string{"-G"}, args...)...).Output()
	e := examination{area: hostArea}
	if err != nil {
		e.add("ssh", DoctorFail, "ssh -G: "+err.Error(), "check the words of its command")
		return e.found
	}
	home, _ := os.UserHomeDir()
	c := hosts.ParseSSH(string(out), home)
	known := slices.IndexFunc(c.KnownFiles, func(file string) bool {
		_, err := os.Stat(file)
		return err == nil && exec.CommandContext(ctx, "ssh-keygen", "-F", c.KeyName(), "-f", file).Run() == nil
	})
	switch {
	case known >= 0:
		e.add("host key", DoctorOK, "known as "+c.KeyName()+" in "+c.KnownFiles[known], "")
	case c.KeysByOther:
		e.add("host key", DoctorOK, "checked by KnownHostsCommand", "")
	default:
		e.add("host key", DoctorWarn, "no key of "+c.KeyName()+" is known",
			"log in once in a terminal, compare the fingerprint, and accept it")
	}
	if c.ForwardsAgent() {
		e.add("key agent", DoctorWarn, "ForwardAgent is on for this host; Arbiter turns it off for its own connections",
			"turn it off in your ssh configuration: programs there can use your keys")
	}
	if c.AcceptsAnyKey() {
		e.add("key check", DoctorWarn, "StrictHostKeyChecking is "+c.StrictKeys+": any host can pretend to be this one",
			"remove it from your ssh configuration")
	}
	return e.found
}

// Opening has the parameters with which the bridge of a host is opened.
type Opening struct {
	Host    hosts.Host
	Run     string
	Lease   time.Duration
	Debug   bool
	Handler bridge.Handler
	Log     *slog.Logger     // may be nil
	Makes   []runconfig.Make // whose programs are looked for

	started func(*os.Process) // may be nil
}

// Open starts the host's command with a bridge, and waits for its first answer, for as long as
// [hosts.Host.ConnectLimit] says. keep gets the client as soon as there is one. The caller must close that client, also
// after a failure and when ctx ends.
func (o Opening) Open(
	ctx context.Context, keep func(*bridge.Client),
) (*bridge.Client, bridge.InitializeResult, *input.BridgeFailed) {
	var none bridge.InitializeResult
	words := []string{"arbiter", "bridge", "--remote"}
	if o.Debug {
		words = append(words, "--debug")
	}
	argv, err := o.Host.Argv(words...)
	if err != nil {
		return nil, none, &input.BridgeFailed{Category: bridge.CatHost, Message: err.Error()}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = o.env()
	var programs []string
	for _, m := range o.Makes {
		programs = append(programs, m.Command[0])
	}
	client, err := bridge.StartProcess(context.WithoutCancel(ctx), cmd, o.Handler, o.Log, proctree.Tie)
	if err != nil {
		return nil, none, o.failed(err)
	}
	if o.started != nil {
		o.started(cmd.Process)
	}
	keep(client)
	ctx, cancel := context.WithTimeout(ctx, o.Host.ConnectLimit())
	defer cancel()
	init, err := client.Initialize(ctx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + command.Version(), Run: o.Run, Bridge: o.Host.Name,
		Claude: bridge.ClaudeSpec{Path: "claude"},
		Remote: &bridge.RemoteParams{Version: command.Version(), Dir: o.Host.Dir, LeaseMS: o.Lease.Milliseconds(),
			PassEnv: passedEnv(o.Host.PassEnv), Programs: programs},
	})
	var rpc *bridge.RPCError
	if err != nil && ctx.Err() == nil && !errors.As(err, &rpc) {
		err = commandEnded(ctx, client, err)
	}
	if err != nil {
		return nil, none, o.failed(err)
	}
	return client, init, nil
}

// commandEnded waits until the end of the host's command is known, and returns its last error output.
func commandEnded(ctx context.Context, client *bridge.Client, err error) error {
	select {
	case <-client.Done():
	case <-ctx.Done():
		return err
	}
	_ = client.Close() // waits for the process
	if why := client.Err(); why != nil {
		return why
	}
	return err
}

// env returns the environment of the host's command. It has the run's mark, so that a later process of the run
// finds the command. It does not have the mark of the host's bridge: if the host is this machine, as a Slurm login
// node can be, the host would end its own link when it fences an earlier bridge. The mark "link:" cannot collide,
// because no host name has a colon.
func (o Opening) env() []string {
	return append(os.Environ(), proctree.Mark{Run: o.Run, Bridge: "link:" + o.Host.Name}.Env()...)
}

// passedEnv returns the values of those variables that are set here.
func passedEnv(names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return env
}

// failed explains why a host is not available, and what to do. After the category bridge.CatHost, and those of the CLI,
// a retry would fail again.
func (o Opening) failed(err error) *input.BridgeFailed {
	f := &input.BridgeFailed{Category: bridge.CatCrash, Message: err.Error()}
	var known hosts.Failure
	var rpc *bridge.RPCError
	if !errors.As(err, &rpc) { // what the bridge there says of its machine is not about this one
		known = hosts.Explain(err)
	}
	switch _, ok := errors.AsType[*bridge.ViolationError](err); {
	case rpc != nil && rpc.Category != "":
		f.Category, f.Message = rpc.Category, rpc.Message
	case ok, known.Permanent:
		f.Category = bridge.CatHost
	case errors.Is(err, context.DeadlineExceeded):
		f.Category, f.Message = bridge.CatTimeout, "no answer within "+o.Host.ConnectLimit().String()
	}
	f.Message = fmt.Sprintf("host %s: %s", o.Host.Name, f.Message)
	if known.Fix != "" {
		f.Message += "; " + known.Fix
	}
	return f
}

// endHostTimeout bounds the command that ends the processes on a host.
const endHostTimeout = 30 * time.Second

// EndBridge runs the host's command that ends everything that a run started there. fenced reports that all of it has
// ended; it is false without an error if the host has no such command.
func EndBridge(ctx context.Context, h hosts.Host, run string) (fenced bool, err error) {
	if len(h.End) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, endHostTimeout)
	defer cancel()
	cmd := exec.Command(h.End[0], h.End[1:]...)
	cmd.WaitDelay = time.Second
	out := &git.Head{Max: maxRemoteOutput}
	cmd.Stdout, cmd.Stderr = out, out
	if err := runWhole(ctx, cmd, proctree.Mark{Run: run, Bridge: "end:" + h.Name}); err != nil {
		return false, fmt.Errorf("end of host %s: %w: %s", h.Name, err,
			jsonl.Cut(strings.TrimSpace(string(out.Data)), 300))
	}
	return true, nil
}

// runWhole runs a command, and ends it with all that it started if ctx ends first. No other process has its mark.
func runWhole(ctx context.Context, cmd *exec.Cmd, mark proctree.Mark) error {
	cmd.Env = os.Environ()
	child, err := proctree.Start(cmd, mark)
	if err != nil {
		return err
	}
	select {
	case <-child.Done():
		return child.Wait()
	case <-ctx.Done():
		_, err = child.KillNow()
		return errors.Join(ctx.Err(), err)
	}
}

// NoHandler handles a bridge without agents.
type NoHandler struct{}

func (NoHandler) Event(bridge.Event) {}

func (NoHandler) ToolCall(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{}, errors.New("no agent is known here")
}

func (NoHandler) Permission(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error) {
	return bridge.PermissionResult{}, errors.New("no agent is known here")
}

func (NoHandler) Judge(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
	return bridge.JudgeResult{}, errors.New("no agent is known here")
}
