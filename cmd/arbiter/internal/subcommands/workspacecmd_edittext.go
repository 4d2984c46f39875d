package subcommands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// editedText is a text after editing, with the path of its file.
type editedText struct {
	text, path string
	dir        string
}

// remove removes the file. Without this call it remains.
func (t editedText) remove() { os.RemoveAll(t.dir) }

// editText opens a text in a private file with that name in $VISUAL, or else $EDITOR, or else vi. If the editor
// fails, the file is removed.
func editText(ctx context.Context, name, text string) (editedText, error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" && !term.IsTerminal(int(os.Stdin.Fd())) {
		return editedText{}, errors.New("no editor: there is no terminal for vi; " +
			"set VISUAL or EDITOR to a program that needs none")
	}
	dir, err := os.MkdirTemp("", "arbiter-edit-")
	if err != nil {
		return editedText{}, err
	}
	t := editedText{path: filepath.Join(dir, name), dir: dir}
	if err := os.WriteFile(t.path, []byte(text), 0o600); err != nil {
		t.remove()
		return t, err
	}
	editor = cmp.Or(editor, "vi")
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", EditorScript(editor), "editor", t.path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	interrupted := make(chan os.Signal, 1) // Ctrl+C is for the editor
	signal.Notify(interrupted, os.Interrupt)
	err = cmd.Run()
	signal.Stop(interrupted)
	if err != nil {
		t.remove()
		return t, fmt.Errorf("%w of the editor (%s)", err, editor)
	}
	raw, err := command.ReadFile(t.path, command.MaxSource)
	if err != nil {
		t.remove()
		return t, fmt.Errorf("read what the editor left: %w", err)
	}
	t.text = string(raw)
	return t, nil
}

// EditorScript returns a shell script that runs an editor on the arguments. A shell is needed because the variable
// may contain arguments and quotes. If possible, the shell execs the editor. Otherwise it must survive a Ctrl+C
// that is meant for the editor.
func EditorScript(editor string) string {
	if strings.ContainsAny(editor, "=;&|<>()$`\n") {
		return "trap : INT; " + editor + ` "$@"`
	}
	return "exec " + editor + ` "$@"`
}
