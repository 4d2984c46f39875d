package completion

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/liveruns"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/manual"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/workspacecmd"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/grants"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// completes is how long a running arbiter may take to return its agents for a completion.
const completes = 500 * time.Millisecond

// Command is `arbiter completion`.
func Command(e command.Env) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a shell's completion script", ArgsUsage: strings.Join(manual.Shells, "|"),
		Description: strings.TrimSpace(`
Your shell then completes commands, flags and their values: also ids of runs, agents, modes and
scenarios. It asks arbiter at each Tab, so the script stays valid after an update.

  source <(arbiter completion bash)                # in ~/.bashrc
  source <(arbiter completion zsh)                 # in ~/.zshrc, after compinit
  arbiter completion fish > ~/.config/fish/completions/arbiter.fish`),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return command.Usagef("completion: give one shell: %s", strings.Join(manual.Shells, ", "))
			}
			text, err := manual.Script(c.Args().First())
			if err != nil {
				return command.Usagef("%v", err)
			}
			_, err = fmt.Fprint(e.Stdout, text)
			return err
		},
	}
}

// Complete answers a shell that completes a command line of the program that app makes. It writes nothing if there
// is nothing to offer, and no errors: they would appear in the middle of the user's line.
func Complete(e command.Env, app func() *cli.App, args []string) int {
	defer func() { _ = recover() }()
	args = append(args, "", "", "")
	manual.Complete(e.Stdout, app(), args[0], args[1], args[2], offered)
	return 0
}

// offered returns the completions for the value of a flag or an argument.
func offered(h *manual.Line, what string) (o manual.Offer) {
	switch what {
	case "DIR":
		o.Dirs = true
	case "FILE", "PATH", "REQUIREMENTS.md":
		o.Files = true
	case "RUN":
		if o.Words = offeredRuns(h); h.Command.ArgsUsage == liveruns.PermitArgs { // the argument RUN is optional
			o.Words = append(o.Words, offeredRequests(h)...)
		}
	case "REQUEST":
		o.Words = offeredRequests(h)
	case "AGENT":
		o.Words = offeredAgents(h)
	case "OPTION":
		o.Words = offeredOptions(h)
	case "SCENARIO":
		for _, name := range rehearsal.BuiltinNames() {
			if s, err := rehearsal.Builtin(name); err == nil {
				o.Words = append(o.Words, manual.Entry{Term: name, Text: s.Title})
			}
		}
		o.Files = h.Flag != nil // user-defined ones
	case "NAME": // of a mode
		place := cmp.Or(h.Given["cwd"], ".")
		if abs, err := filepath.Abs(shortenHome(place)); err == nil {
			_, trusted := h.Given["trust"]
			for _, a := range agents.Discover(agents.UserPlaces(abs, trusted, os.Getenv)).Agents {
				o.Words = append(o.Words, manual.Entry{Term: a.Name, Text: sanitize.Line(a.Description, 200)})
			}
		}
	case "NUMBER":
		o.Words = offeredGrants(h)
	case "RULE":
		for _, tool := range []string{"Bash", "Read", "Edit", "Write", "WebFetch", "WebSearch", "Agent"} {
			o.Words = append(o.Words, manual.Entry{Term: tool})
		}
	case "MODEL":
		o.Words = []manual.Entry{{Term: "opus"}, {Term: "sonnet"}, {Term: "haiku"}}
	case "RECORD":
		o.Words = []manual.Entry{{Term: "last"}}
	case "HOST":
		for _, name := range offeredHosts(h) {
			o.Words = append(o.Words, manual.Entry{Term: name})
		}
	case "LIST": // of --hosts
		before := h.Word[:strings.LastIndexByte(h.Word, ',')+1]
		for _, name := range offeredHosts(h) {
			o.Words = append(o.Words, manual.Entry{Term: before + name})
		}
	case "WAYS":
		before := h.Word[:strings.LastIndexByte(h.Word, ',')+1]
		for _, way := range []string{"bell", "desktop", "finished", "ntfy:", "webhook:", "off"} {
			if !strings.Contains(before, way) {
				o.Words = append(o.Words, manual.Entry{Term: before + way})
			}
		}
	case "COMMAND":
		for _, c := range h.Command.VisibleCommands() {
			o.Words = append(o.Words, manual.Entry{Term: c.Name, Text: c.Usage})
		}
	}
	return o
}

// offeredHosts returns the names that --hosts accepts, from the configuration that the command line names.
func offeredHosts(h *manual.Line) []string {
	file := shortenHome(h.Given["config"])
	if dir, err := os.UserConfigDir(); err == nil && file == "" {
		file = filepath.Join(dir, "arbiter", "config.yaml")
	}
	src, err := command.ReadFile(file, command.MaxSource)
	if err != nil {
		return []string{hosts.Here}
	}
	cfg, _ := hosts.Read(file, src)
	return cfg.Names()
}

// shortenHome expands ~ in a typed path to the home directory.
func shortenHome(path string) string {
	if rest, ok := settings.CutHome(path); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// statePlace returns the state directory that a command line names, or "" if it does not exist: completion creates
// nothing.
func statePlace(h *manual.Line) string {
	dir, err := command.StatePath(shortenHome(cmp.Or(h.Given["state-dir"], os.Getenv("ARBITER_STATE_DIR"))))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err != nil {
		return ""
	}
	return dir
}

// knownRuns returns the runs that a command line may name. With live, only live runs: a run must be live to be
// stopped or attached to.
func knownRuns(h *manual.Line, live bool) (*runstore.Runs, []journal.Info) {
	dir := statePlace(h)
	if dir == "" {
		return nil, nil
	}
	store, err := journal.OpenStore(dir)
	if err != nil {
		return nil, nil
	}
	list, _ := store.List()
	var some []journal.Info
	for _, info := range list {
		if info.Live || !live {
			some = append(some, info)
		}
	}
	return &runstore.Runs{Store: store, Root: dir}, some
}

func offeredRuns(h *manual.Line) (list []manual.Entry) {
	live := false
	switch h.Command.Name {
	case "halt", "attach", "hook", "status", "watch", "send", "allow", "deny", "choose", "stop":
		live = true
	}
	store, known := knownRuns(h, live)
	if store == nil {
		return nil
	}
	defer store.Close()
	for _, info := range known {
		run := command.ShortID(info.Run)
		if len(h.Word) > len(run) {
			run = info.Run
		}
		list = append(list, manual.Entry{Term: run, Text: runstore.Status(info) + ": " + sanitize.Line(info.Title, 60)})
	}
	return list
}

func offeredGrants(h *manual.Line) (list []manual.Entry) {
	dir := statePlace(h)
	place, err := filepath.Abs(shortenHome(cmp.Or(h.Given["cwd"], ".")))
	if dir == "" || err != nil {
		return nil
	}
	store, err := grants.Open(dir, place)
	if err != nil {
		return nil
	}
	defer store.Close()
	kept, _, _ := store.Load()
	for i, g := range kept {
		list = append(list,
			manual.Entry{Term: fmt.Sprint(i + 1), Text: workspacecmd.GrantLine{Rule: g.Rule, Tool: g.Tool,
				Action: g.Action}.Text()})
	}
	return list
}
