package subcommands

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// completes is how long a running arbiter may take to return its agents for a completion.
const completes = 500 * time.Millisecond

// CompletionCommand is `arbiter completion`.
func CompletionCommand(e command.Env) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a shell's completion script", ArgsUsage: strings.Join(command.Shells, "|"),
		Description: strings.TrimSpace(`
Your shell then completes commands, flags and their values: also ids of runs, agents, modes and
scenarios. It asks arbiter at each Tab, so the script stays valid after an update.

  source <(arbiter completion bash)                # in ~/.bashrc
  source <(arbiter completion zsh)                 # in ~/.zshrc, after compinit
  arbiter completion fish > ~/.config/fish/completions/arbiter.fish`),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return command.Usagef("completion: give one shell: %s", strings.Join(command.Shells, ", "))
			}
			text, err := command.ShellScript(c.Args().First())
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
	command.Complete(e.Stdout, app(), args[0], args[1], args[2], offered)
	return 0
}

// offered returns the completions for the value of a flag or an argument.
func offered(h *command.Line, what string) (o command.Offer) {
	listed := h.Word[:strings.LastIndexByte(h.Word, ',')+1] // what the word has of a list
	switch what {
	case "DIR":
		o.Dirs = true
	case "FILE", "PATH", "REQUIREMENTS.md":
		o.Files = true
	case "RUN":
		if o.Words = offeredRuns(h); h.Command.ArgsUsage == PermitArgs { // the argument RUN is optional
			o.Words = append(o.Words, offeredRequests(h)...)
		}
	case "REQUEST":
		o.Words = offeredRequests(h)
	case "AGENT":
		for _, a := range meantRun(h).Agents {
			o.Words = append(o.Words, command.Entry{Term: a.ID, Text: sanitize.Line(a.Name+", "+a.Does, 60)})
		}
	case "OPTION":
		for _, i := range meantRun(h).Inbox {
			for _, option := range i.Choices {
				o.Words = append(o.Words, command.Entry{Term: option, Text: sanitize.Line(i.Text, 60)})
			}
		}
	case "SCENARIO":
		for _, name := range rehearsal.BuiltinNames() {
			if s, err := rehearsal.Builtin(name); err == nil {
				o.Words = append(o.Words, command.Entry{Term: name, Text: s.Title})
			}
		}
		o.Files = h.Flag != nil // user-defined ones
	case "NAME": // of a mode
		place := cmp.Or(h.Given["cwd"], ".")
		if abs, err := filepath.Abs(expandHome(place)); err == nil {
			_, trusted := h.Given["trust"]
			for _, a := range agents.Discover(agents.UserPlaces(abs, trusted, os.Getenv)).Agents {
				o.Words = append(o.Words, command.Entry{Term: a.Name, Text: sanitize.Line(a.Description, 200)})
			}
		}
	case "NUMBER": // of a grant; a flag and another command have numbers, too
		if strings.Contains(h.Command.ArgsUsage, "RULE") {
			o.Words = offeredGrants(h)
		}
	case "RULE":
		o.Words = wordsCompletion("", "Bash", "Read", "Edit", "Write", "WebFetch", "WebSearch", "Agent")
	case "MODEL":
		o.Words = wordsCompletion("", "opus", "sonnet", "haiku")
	case "RECORD":
		o.Words = wordsCompletion("", "last")
	case "HOST", "LIST": // LIST is that of --hosts
		file := settings.UserConfig(expandHome(h.Given["config"]))
		src, _ := command.ReadFile(file, command.MaxSource) // without it, there is this machine
		cfg, _ := hosts.Read(file, src)
		o.Words = wordsCompletion(listed, cfg.Names()...)
	case "WAYS":
		o.Words = wordsCompletion(
			listed,
			slices.DeleteFunc([]string{"bell", "desktop", "finished", "ntfy:", "webhook:", "off"},
				func(way string) bool { return strings.Contains(listed, way) })...)
	case "COMMAND":
		for _, c := range h.Command.VisibleCommands() {
			o.Words = append(o.Words, command.Entry{Term: c.Name, Text: c.Usage})
		}
	}
	return o
}

// wordsCompletion returns possible ends of a list that begins with before.
func wordsCompletion(before string, ends ...string) (list []command.Entry) {
	for _, end := range ends {
		list = append(list, command.Entry{Term: before + end})
	}
	return list
}

// expandHome expands ~ in a typed path to the home directory.
func expandHome(path string) string {
	path, _ = settings.ExpandHome(path) // without a home, it is as it was
	return path
}

// statePlace returns the state directory that a command line names, or "" if it does not exist: completion creates
// nothing.
func statePlace(h *command.Line) string {
	dir, err := command.StatePath(expandHome(cmp.Or(h.Given["state-dir"], os.Getenv("ARBITER_STATE_DIR"))))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err != nil {
		return ""
	}
	return dir
}

// openRuns opens the state directory that a command line names; nil: there is none.
func openRuns(h *command.Line) *runstore.Runs {
	dir := statePlace(h)
	if dir == "" {
		return nil
	}
	store, _ := runstore.OpenIn(dir)
	return store
}

func offeredRuns(h *command.Line) (list []command.Entry) {
	store := openRuns(h)
	if store == nil {
		return nil
	}
	defer store.Close()
	var known []journal.Info
	switch h.Command.Name {
	case "halt", "attach", "hook", "status", "watch", "send", "allow", "deny", "choose", "stop":
		known, _ = store.Live("")
	default:
		known, _ = store.List()
	}
	for _, info := range known {
		run := command.ShortID(info.Run)
		if len(h.Word) > len(run) {
			run = info.Run
		}
		list = append(list, command.Entry{Term: run, Text: runstore.Status(info) + ": " + sanitize.Line(info.Title, 60)})
	}
	return list
}

func offeredGrants(h *command.Line) (list []command.Entry) {
	dir := statePlace(h)
	place, err := filepath.Abs(expandHome(cmp.Or(h.Given["cwd"], ".")))
	if dir == "" || err != nil {
		return nil
	}
	store, err := trust.OpenGrants(dir, place)
	if err != nil {
		return nil
	}
	defer store.Close()
	kept, _, _ := store.Load()
	for i, g := range kept {
		list = append(list, command.Entry{Term: fmt.Sprint(i + 1), Text: GrantLine{Grant: g}.Text()})
	}
	return list
}

// meantRun returns the status of the live run that a command line means: the one in --session or the first
// argument, or else the run of this directory.
func meantRun(h *command.Line) (st runstore.LiveStatus) {
	store := openRuns(h)
	if store == nil {
		return st
	}
	defer store.Close()
	named := h.Given["session"]
	if len(h.Args) > 0 && strings.HasPrefix(h.Command.ArgsUsage, "[RUN] ") {
		named = cmp.Or(named, h.Args[0])
	}
	info, err := runstore.FindLive(store, named)
	if err != nil && h.Given["session"] == "" { // the argument is no run
		info, err = runstore.FindLive(store, "")
	}
	if err != nil {
		return st
	}
	client, st, err := store.Dial(context.Background(), info, completes, nil)
	if err == nil {
		client.Close()
	}
	return st
}

// offeredRequests returns the pending permission requests, and the word for all of them.
func offeredRequests(h *command.Line) (list []command.Entry) {
	for _, i := range meantRun(h).Inbox {
		if i.Kind == supervisor.InboxPermission {
			list = append(list, command.Entry{Term: i.ID, Text: sanitize.Line(i.Agent+", "+i.Text, 60)})
		}
	}
	if len(list) > 0 {
		list = append(list, command.Entry{Term: AllRequests, Text: "every open request"})
	}
	return list
}
