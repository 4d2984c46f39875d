package policy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Forms of git's subcommands that only read. Checked against the documentation of git 2.39.
//
// Git runs programs that its configuration names: core.fsmonitor, textconv and external diff drivers, signature
// checks. The configuration of the user and of the workspace's own repository belongs to the user; that of
// another repository does not, and an attributes file that an agent writes selects drivers. So only forms that
// run none of these programs are harmless, and only in the workspace's own repository; [GitEnvironment]
// switches off the rest.

const (
	gitStats = "stat stat= shortstat numstat summary name-only name-status raw no-patch "

	gitDiffing = gitStats + "patch no-color color color= word-diff word-diff= unified= ignore-all-space " +
		"ignore-space-change " +
		"ignore-blank-lines diff-filter= find-renames find-copies no-renames minimal patience histogram check " +
		"relative full-index " +
		"binary exit-code quiet no-ext-diff no-textconv no-prefix compact-summary abbrev= "

	gitLogging = gitDiffing + "oneline graph all decorate decorate= no-decorate format= pretty pretty= since= " +
		"after= until= before= " +
		"author= committer= grep= abbrev-commit no-abbrev-commit date= merges no-merges first-parent reverse follow " +
		"max-count= skip= " +
		"branches remotes tags topo-order date-order relative-date no-walk source simplify-by-decoration left-right " +
		"cherry-pick " +
		"cherry-mark ancestry-path not "

	gitLogLetters = "pquszwbaRcmigEFPrt" + digits
)

// readingGit are git's subcommands that only read. Left out: --output, --ext-diff, --textconv, --no-index,
// --show-signature, -O, and options before the subcommand.
var readingGit = map[string]reading{
	"status": {short: "sbvz", optional: "u",
		long: "short branch porcelain porcelain= long verbose untracked-files untracked-files= ignored ignored= " +
			"ahead-behind " +
			"no-ahead-behind renames no-renames show-stash column"},
	"log":  {deep: true, short: gitLogLetters, value: "nSGL", optional: "UMC", long: gitLogging},
	"show": {deep: true, short: gitLogLetters, value: "nSGL", optional: "UMC", long: gitLogging},
	"diff": {deep: true, short: "pquszwbaRcmrt" + digits, value: "SG", optional: "UMC",
		long: gitDiffing + "cached staged merge-base"},
	"rev-parse": {short: "q",
		long: "abbrev-ref show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir " +
			"is-inside-work-tree " +
			"is-inside-git-dir is-bare-repository short short= verify quiet symbolic symbolic-full-name all branches " +
			"tags remotes"},
	"ls-files": {short: "cdmotuksvz",
		long: "cached deleted modified others ignored stage unmerged exclude-standard full-name error-unmatch"},
	"blame": {deep: true, short: "lswcbtfnpe", value: "L", optional: "MC",
		long: "porcelain line-porcelain date= abbrev= root show-name show-number show-email no-textconv"},
	"describe": {long: "tags all always long dirty dirty= abbrev= exact-match contains match= exclude= " +
		"candidates= first-parent"},
	"remote": {short: "v", long: "verbose", operands: none},
	"branch": {short: "arv", operands: words,
		long: "all remotes verbose show-current list merged no-merged no-color color= sort= format= contains= " +
			"merged= no-merged= " +
			"points-at= abbrev= column"},
	"tag": {short: "l", long: "list sort= format= contains= merged= no-merged= points-at=", operands: words},
}

// GitEnvironment adds settings to an environment so that git's reading forms run no program, for commands that
// [Policy.Harmless] allows: there is no file system monitor, and a directory that only looks like a repository
// is not used as one. env is not changed.
func GitEnvironment(env map[string]string) map[string]string {
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	n, err := strconv.Atoi(out["GIT_CONFIG_COUNT"])
	if err != nil {
		n = 0
	}
	for _, set := range [][2]string{{"core.fsmonitor", "false"}, {"safe.bareRepository", "explicit"}} {
		out["GIT_CONFIG_KEY_"+strconv.Itoa(n)], out["GIT_CONFIG_VALUE_"+strconv.Itoa(n)] = set[0], set[1]
		n++
	}
	out["GIT_CONFIG_COUNT"] = strconv.Itoa(n)
	return out
}

func (q *query) gitReads(args []string) bool {
	if len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 || !q.inOwnRepository() {
		return false
	}
	sub, args := args[0], args[1:]
	if sub == "stash" {
		return slices.Equal(args, []string{"list"})
	}
	if slices.ContainsFunc(args, func(s string) bool { return strings.Contains(s, "%G") }) {
		return false // checks a signature, with a program that the configuration names
	}
	use, ok := readingGit[sub]
	if !ok {
		return false
	}
	operands, options, ok := use.parse(args)
	if !ok || runsDrivers(sub, operands, options) {
		return false
	}
	if sub == "branch" || sub == "tag" { // with a name they create one
		listing := slices.Contains(options, "--list") || sub == "tag" && slices.Contains(options, "-l")
		return len(operands) == 0 || listing
	}
	return q.readsBy(use, args)
}

// runsDrivers reports whether a subcommand shows contents in a way that runs diff drivers, which the
// configuration and the attributes select.
func runsDrivers(sub string, operands, options []string) bool {
	given := func(names ...string) bool {
		return slices.ContainsFunc(options, func(o string) bool { return slices.Contains(names, o) })
	}
	patch := given("-p", "-u", "-U", "-c", "-m", "-S", "-G", "-L", "-R", "--patch", "--unified", "--word-diff",
		"--check", "--quiet",
		"--exit-code", "--binary", "-q")
	stats := given("-s", "--no-patch", "--stat", "--shortstat", "--numstat", "--summary", "--name-only",
		"--name-status", "--raw", "--compact-summary")
	switch sub {
	case "log":
		return patch && !given("--no-textconv")
	case "show":
		blobs := len(operands) > 0 && !slices.ContainsFunc(operands, func(s string) bool {
			return !strings.Contains(s, ":")
		})
		return (patch || !stats && !blobs) && !given("--no-textconv")
	case "diff":
		return (patch || !stats) && !(given("--no-textconv") && given("--no-ext-diff"))
	case "blame":
		return !given("--no-textconv")
	}
	return false
}

// inOwnRepository reports whether git, called in the request's directory, finds the same repository as in the
// workspace. On its way up from a directory, git uses anything that looks like a repository, and that can be
// ordinary files that an agent wrote.
func (q *query) inOwnRepository() bool {
	own, ok := q.policy.repository(q.policy.CWD)
	at, okHere := q.policy.repository(q.cwd)
	return ok && okHere && own == at
}

// repository is the directory with the .git that git finds from a directory upwards; ok is false if git finds a
// bare repository, or if it cannot be checked.
func (p *Policy) repository(dir string) (root string, ok bool) {
	unsure := false
	exists := func(name string) bool {
		there, err := p.exists(filepath.Join(dir, name))
		unsure = unsure || err != nil
		return there
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if exists(".git") {
			return dir, !unsure
		}
		if exists("HEAD") && exists("objects") && exists("refs") {
			return "", false
		}
		if dir == filepath.Dir(dir) {
			return "", !unsure
		}
	}
}

// exists reports whether something has a name. On this machine what cannot be checked counts as missing: it is
// missing for git, too.
func (p *Policy) exists(name string) (bool, error) {
	if p.Exists != nil {
		return p.Exists(name)
	}
	_, err := os.Lstat(name)
	return err == nil, nil
}
