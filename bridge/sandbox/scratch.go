package sandbox

import (
	"os"
	"slices"
	"strings"
)

// ScratchCommand is the hidden command with which arbiter makes a scratch copy: [EnterScratch].
const ScratchCommand = "scratch-copy"

// IsScratch reports whether this program was started to make a scratch copy.
func IsScratch(args []string) bool { return len(args) > 1 && args[1] == ScratchCommand }

// RunScratch makes the scratch copy that [StartScratch] requests with args, and becomes bubblewrap. It returns only if
// that failed. It reports why to the process that requested it.
func RunScratch(args []string) error {
	report := os.NewFile(reportFD, "report")
	err := enterScratch(report, args[2:])
	_, _ = report.WriteString(err.Error()) // if nobody listens, there is nothing to be done
	return err
}

const (
	reportFD = 3 // the first of exec.Cmd.ExtraFiles
	filterFD = 4
	made     = "made " // what is reported when the copies exist
)

// offline returns an environment without variables that refer to hidden paths, and those that name proxies: there is
// no network, and their values may hold passwords.
func offline(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(dropped, name) || strings.HasSuffix(strings.ToLower(name), "_proxy")
	})
}
