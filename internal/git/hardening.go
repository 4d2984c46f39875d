package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// flags returns the options that every call of git begins with. They keep git from running what the user's or a
// repository's configuration names, from reaching another repository, and from writing what was not asked for. A
// directory that looks like a bare repository is none.
func flags() []string {
	return []string{
		"--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "color.ui=false", "-c", "protocol.allow=never",
		"-c", "safe.bareRepository=explicit",
	}
}

// Variables returns the variables that every call of git has.
func Variables() []string {
	return []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "LC_ALL=C"}
}

// writing are the options of calls that change a repository: nothing is signed, no maintenance starts, an index is
// one file, submodules are left alone, and another process that holds a lock is waited for.
var writing = []string{
	"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "submodule.recurse=false", "core.splitIndex=false",
	"core.safecrlf=false", "core.alternateRefsCommand=", "branch.autoSetupMerge=false", "advice.addEmbeddedRepo=false",
	"core.filesRefLockTimeout=2000", "core.packedRefsTimeout=5000",
}

// serving are further options of a git that serves a repository: it changes no work tree, and fetches nothing itself.
var serving = []string{
	"receive.denyCurrentBranch=refuse", "receive.autogc=false", "protocol.ext.allow=never", "protocol.file.allow=never",
	"protocol.git.allow=never", "protocol.ssh.allow=never", "protocol.http.allow=never", "protocol.https.allow=never",
	"protocol.ftp.allow=never", "protocol.ftps.allow=never",
}

// Serving returns the options before receive-pack and upload-pack on a host where agents may have written into the
// repository. They keep git from running what its configuration names, as in every other call.
func Serving() []string {
	args := flags()
	for _, option := range slices.Concat(writing, serving) {
		args = append(args, "-c", option)
	}
	return args
}

// Variables of the user that say where git's configuration is, and who commits.
var userVariables = []string{
	"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "EMAIL",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// withheld are prefixes of variables that children may have but git does not need: credentials of models
// and clouds.
var withheld = []string{"ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_", "CLAUDE_", "CLOUD_ML_"}

// Environ returns the variables of an environment that git may have, with [Variables].
func Environ(inherited []string) []string {
	env := []string{}
	for _, entry := range inherited {
		name, _, _ := strings.Cut(entry, "=")
		secret := slices.ContainsFunc(withheld, func(p string) bool { return strings.HasPrefix(name, p) })
		if slices.Contains(userVariables, name) || proctree.EnvAllowed(name) && !secret {
			env = append(env, entry)
		}
	}
	return append(env, Variables()...)
}

// operations are the operations that git can leave unfinished, with the file that shows each.
var operations = []struct{ file, name string }{
	{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
}

// Operation returns the name of the unfinished operation in the work tree of gitDir; empty if there is
// none.
func Operation(gitDir string) string {
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(gitDir, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}
