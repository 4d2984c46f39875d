package driver

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

const (
	longArgument = 256 // bytes; a longer one is recorded by its hash
	// shortSecret is the length below which a value does not count as a secret: hiding a value such as "1"
	// would make half of the record unreadable.
	shortSecret = 8
)

// secretNames are parts of the names of variables whose values are secrets.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"}

// recordedArgs returns the arguments of cmd without the secrets, which must not be recorded.
func recordedArgs(cmd *exec.Cmd) []string {
	secrets := secretsOf(cmd.Env)
	args := make([]string, len(cmd.Args))
	for i, arg := range cmd.Args {
		args[i] = recordedArg(arg, secrets)
	}
	return args
}

func recordedArg(arg string, secrets map[string]string) string {
	for value, name := range secrets {
		if strings.Contains(arg, value) {
			return "[the value of " + name + "]"
		}
	}
	if len(arg) > longArgument {
		return fmt.Sprintf("sha256:%x (%d bytes)", sha256.Sum256([]byte(arg)), len(arg))
	}
	return arg
}

// secretsOf returns the secret values of an environment, by value.
func secretsOf(env []string) map[string]string {
	secrets := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		if len(value) >= shortSecret &&
			slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(upper, part) }) {
			secrets[value] = name
		}
	}
	return secrets
}

// variables are the names of an environment, sorted.
func variables(env []string) []string {
	names := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
