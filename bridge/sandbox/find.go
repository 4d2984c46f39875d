package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Name is the program that makes the sandbox.
const Name = "bwrap"

// leastMinor is the first minor version of version 0 that has all options that are used.
const leastMinor = 3

const versionTimeout = 10 * time.Second

// Find looks for bubblewrap on PATH. Its error says what to do.
func Find() (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("bubblewrap is for Linux alone")
	}
	path, err := exec.LookPath(Name)
	if err != nil {
		return "", errors.New("bubblewrap is not installed (apt-get install bubblewrap, or your system's package of " +
			"that name)")
	}
	return filepath.Abs(path)
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^bubblewrap (\d+)\.(\d+)(\.\d+)?\s*$`)
})

// version returns the program's version, or an error if it is too old.
func version(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s is not bubblewrap: --version says %.100q", program, out)
	}
	major, _ := strconv.Atoi(string(m[1])) // the pattern allows only digits
	minor, _ := strconv.Atoi(string(m[2]))
	v := string(m[1]) + "." + string(m[2]) + string(m[3])
	if major == 0 && minor < leastMinor {
		return v, fmt.Errorf("bubblewrap %s is too old: 0.%d or later is needed", v, leastMinor)
	}
	return v, nil
}
