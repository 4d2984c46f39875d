package subcommands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func MemoryCommand(io command.Env) *cli.Command {
	e := workspaceEnv{io}
	place := []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag()}
	list := append(slices.Clone(place), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"})
	const codes = `Exit codes: 0 listed, changed or unchanged; 1 the edited text is wrong, or the editor failed; 2 bad usage, or
no such lesson; 5 the workspace or the file cannot be read or written.`
	return &cli.Command{
		Name: "memory", Usage: "list, edit or remove what earlier runs in a workspace have learned",
		Description: "Lessons are what runs have reported. They are kept in the state directory, at most 50 for a " +
			"workspace,\n" +
			"masked like logs.\n\n  arbiter memory\n  arbiter memory edit\n  arbiter memory rm 2\n\n" + codes,
		Flags:  list,
		Action: e.listMemory,
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the lessons with their numbers", Flags: list, Action: e.listMemory},
			{
				Name: "edit", Usage: "edit the lessons in $VISUAL or $EDITOR", ArgsUsage: "[FILE]",
				Description: "With FILE, the editor opens that text: the one that an earlier edit was refused for.\n\n" +
					codes,
				Flags: place, Action: e.editMemory,
			},
			{
				Name: "rm", Usage: "remove lessons by number", ArgsUsage: "NUMBER…", Description: codes,
				Flags: append(slices.Clone(place), &cli.BoolFlag{
					Name: "all", Usage: "forget everything, also the outcomes of runs, and a file that cannot be read",
				}),
				Action: e.removeMemory,
			},
		},
	}
}

// memoryOf opens the memory of a workspace. The caller closes the store.
func memoryOf(c *cli.Context) (*memory.Store, string, error) {
	return storeOf(c, func(dir, place string) (*memory.Store, error) {
		return memory.Open(dir, place, settings.SecretMasker(nil))
	})
}

// MemoryReport is the output of `memory --json`.
type MemoryReport struct {
	CWD      string           `json:"cwd"`
	File     string           `json:"file"`
	Lessons  []memory.Lesson  `json:"lessons"`
	Outcomes []memory.Outcome `json:"outcomes"`
}

func (e workspaceEnv) listMemory(c *cli.Context) error {
	store, place, err := memoryOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if c.Bool("json") {
		r := MemoryReport{place, store.Path(), append([]memory.Lesson{}, m.Lessons...), append([]memory.Outcome{},
			m.Outcomes...)}
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, command.Escaped(string(raw)))
		return nil
	}
	fmt.Fprintln(e.Stdout, "Workspace "+sanitize.Line(place, 400))
	for i, l := range m.Lessons {
		from := "written by a human"
		if l.Run != "" {
			from = "run " + command.ShortID(l.Run)
		}
		fmt.Fprintf(e.Stdout, "%3d  %s\n     %s, %s\n", i+1, l.Text, l.Date.Local().Format(time.DateOnly), from)
		if l.Evidence != "" {
			fmt.Fprintf(e.Stdout, "     evidence: %s\n", l.Evidence)
		}
	}
	if len(m.Lessons) == 0 {
		fmt.Fprintln(e.Stdout, "No run has reported a lesson here.")
	}
	if n := len(m.Outcomes); n > 0 {
		fmt.Fprintf(e.Stdout, "The outcomes of %s are kept, too.\n", words.Count(n, "run"))
	}
	return nil
}

func (e workspaceEnv) removeMemory(c *cli.Context) error {
	all := c.Bool("all")
	if all == (c.NArg() > 0) {
		return command.Usagef("memory rm: give numbers as arbiter memory lists them, or --all")
	}
	store, _, err := memoryOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	if all {
		if err := store.Clear(); err != nil {
			return command.Environmentf("%v", err)
		}
		fmt.Fprintln(e.Stdout, "Everything is forgotten.")
		return nil
	}
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	unwanted := map[int]bool{}
	for _, word := range c.Args().Slice() {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(m.Lessons) {
			return command.Usagef("there is no lesson %q: %s", word, listed("arbiter memory", "lesson", len(m.Lessons)))
		}
		unwanted[n-1] = true
	}
	var kept []memory.Lesson
	for i, l := range m.Lessons {
		if !unwanted[i] {
			kept = append(kept, l)
		}
	}
	if err := store.Replace(m.Lessons, kept); err != nil {
		return command.Environmentf("%v", err)
	}
	for i, l := range m.Lessons {
		if unwanted[i] {
			fmt.Fprintln(e.Stdout, "Removed: "+l.Text)
		}
	}
	return nil
}

// editMemory lets the human edit the lessons. If the text is refused, it stays in a file that the error names.
func (e workspaceEnv) editMemory(c *cli.Context) error {
	if c.NArg() > 1 {
		return command.Usagef("memory edit: give at most one FILE")
	}
	store, _, err := memoryOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	before := memory.Text(m.Lessons)
	if file := c.Args().First(); file != "" {
		raw, err := command.ReadFile(file, command.MaxSource)
		if err != nil {
			return command.Usagef("memory edit: read %s: %v", file, command.WithoutPath(err))
		}
		before = string(raw)
	}
	edited, err := editText(c.Context, "memory.txt", before)
	if err != nil {
		return &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf("%v; nothing was changed", err)}
	}
	lessons, err := memory.Parse(edited.text, time.Now())
	if err != nil {
		return &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf(
			"%v; nothing was changed, your text is in %s (arbiter memory edit %[2]s opens it again)", err,
			words.Quote(edited.path))}
	}
	defer edited.remove()
	if strings.TrimSpace(edited.text) == strings.TrimSpace(memory.Text(m.Lessons)) {
		fmt.Fprintln(e.Stderr, "Nothing was changed.")
		return nil
	}
	if err := store.Replace(m.Lessons, lessons); err != nil {
		return command.Environmentf("%v", err)
	}
	fmt.Fprintf(e.Stderr, "%s kept.\n", words.Count(len(lessons), "lesson"))
	return nil
}
