package settings

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxTask bounds a task or requirements file, in bytes. The CLI accepts more, but a task of this size leaves no
// room to work.
const MaxTask = 1 << 20

// taskFromStdin is the value of --task for reading the task from stdin.
const taskFromStdin = "-"

// readTask joins --task and the requirements file.
func readTask(c *cli.Context) (string, error) {
	task, from := strings.TrimSpace(c.String("task")), "--task"
	if task == taskFromStdin {
		var err error
		if task, err = taskOnStdin(c); err != nil {
			return "", err
		}
		from = "stdin"
	}
	if c.IsSet("task") && task == "" {
		return "", command.Usagef("%s is empty: give the text of the task", from)
	}
	if c.NArg() > 1 && !command.LikeCommand(c) {
		if i := slices.IndexFunc(c.Args().Slice(), command.IsFlag); i > 0 {
			return "", command.Usagef("flags go before the requirements file: %s comes after %s", c.Args().Get(i),
				c.Args().First())
		}
		return "", command.Usagef("give one requirements file, not %d: %s", c.NArg(), strings.Join(c.Args().Slice(), " "))
	}
	if c.NArg() > 0 {
		path := c.Args().First()
		if strings.HasPrefix(path, "-") && path != "-" {
			return "", command.Usagef("flags go before the requirements file: %s", path)
		}
		if _, err := os.Stat(path); os.IsNotExist(err) && !strings.ContainsAny(path, "./") {
			return "", command.NoSuchWord(c, path)
		}
		text, err := ReadRequirements(path)
		if err != nil {
			return "", err
		}
		if task != "" {
			task += "\n\n"
		}
		task += words.Requirements(filepath.Base(path), text)
		from = path
	}
	return task, CheckTask(task, from)
}

// CheckTask returns an error for a task that cannot be given to a model.
func CheckTask(task, from string) error {
	switch {
	case len(task) > MaxTask:
		return command.Usagef("%v%s", &command.SizeError{What: "the task", Size: int64(len(task)), Most: MaxTask}, smaller)
	case !utf8.ValidString(task) || strings.ContainsRune(task, 0):
		return command.Usagef("%s: the task is not UTF-8 text", from)
	}
	return nil
}

// taskOnStdin reads the task from stdin until its end.
func taskOnStdin(c *cli.Context) (string, error) {
	if !c.Bool("json") && !c.Bool("plain") && !c.Bool("detach") {
		return "", command.Usagef("--task - reads stdin, which the screen needs for keys: add --plain, --json or --detach, " +
			"or use --task TEXT")
	}
	raw, err := io.ReadAll(io.LimitReader(c.App.Reader, MaxTask+1))
	switch {
	case err != nil:
		return "", command.Usagef("--task -: read stdin: %v", err)
	case len(raw) > MaxTask:
		return "", command.Usagef("the task on stdin has more than %s bytes%s", words.Number(MaxTask), smaller)
	}
	return strings.TrimSpace(string(raw)), nil
}

// smaller is the advice for a task that is too large.
const smaller = ": put it into files of the workspace and name them"

func ReadRequirements(path string) (string, error) {
	raw, err := command.ReadFile(path, MaxTask)
	if large := (*command.SizeError)(nil); errors.As(err, &large) {
		return "", command.Usagef("%v%s", err, smaller)
	}
	if err != nil {
		return "", command.Usagef("cannot read the requirements file %s: %v", path, command.WithoutPath(err))
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff"))
	if text == "" {
		return "", command.Usagef("%s: the requirements file is empty", path)
	}
	return text, nil
}
