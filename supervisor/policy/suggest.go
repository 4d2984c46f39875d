package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxSuggested bounds the length of a suggested rule: a person has to read it.
const maxSuggested = 300

// Suggest returns up to three rules that a person may want to keep for a request, the narrowest first. Each
// covers the request. It returns none if every single rule would allow more than a person means: for several
// commands at once, for substitutions and redirections, for a command that contains a *.
func Suggest(r Request, cwd, home string) []string {
	p := Policy{CWD: cwd, Home: home}
	q := p.newQuery(r)
	var candidates []string
	switch {
	case r.Tool == "Bash":
		candidates = q.suggestCommands()
	case readers.has(r.Tool):
		candidates = q.suggestPaths("Read")
	case editors.has(r.Tool):
		candidates = q.suggestPaths("Edit")
	case r.Tool == "WebFetch":
		if host, ok := q.host(); ok {
			candidates = []string{"WebFetch(domain:" + host + ")"}
		}
	case strings.HasPrefix(r.Tool, "mcp__"):
		server, _, _ := strings.Cut(strings.TrimPrefix(r.Tool, "mcp__"), "__")
		candidates = []string{r.Tool, "mcp__" + server}
	case named[r.Tool] != nil:
		if name, ok := q.name(); ok && !strings.ContainsAny(name, "*") {
			candidates = []string{r.Tool + "(" + name + ")"}
		}
	default:
		candidates = []string{r.Tool}
	}
	var out []string
	for _, text := range candidates {
		rule, err := ParseRule(text)
		if err != nil || len(text) > maxSuggested || !plainText(text) || slices.Contains(out, text) {
			continue
		}
		p.Allow = []Rule{rule}
		if _, ok := p.Covered(r); ok {
			out = append(out, text)
		}
	}
	return out[:min(len(out), 3)]
}

// plainText reports whether a rule shows what it is: it has no control or format characters and nothing that
// looks like other text.
func plainText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c < ' ' || c > '~' && c < 0xa1 || c == 0xad || c >= 0x200b && c <= 0x206f || c >= 0xe000
	})
}

var (
	// suited are programs whose subcommand says what they do, so that a rule about the two words makes sense.
	suited = nameSet{"git", "go", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "pip", "pip3", "uv", "poetry", "bundle",
		"gem", "composer", "mvn", "gradle", "./gradlew", "dotnet",
		"make", "just", "task", "gh", "glab", "brew", "terraform", "systemctl", "rustup", "swift", "mix", "nx", "turbo"}

	// openEnded are subcommands that run or set what follows them.
	openEnded = nameSet{"exec", "x", "dlx", "config", "run", "generate", "tool", "eval", "alias", "api", "filter-branch",
		"submodule", "bisect", "rebase", "push", "clean", "reset", "checkout", "restore", "rm", "publish", "env",
		"install", "edit", "set", "work", "apply", "destroy", "link", "start", "enable", "repl"}

	// scripted are subcommands after which the name of a script says what runs.
	scripted = nameSet{"npm run", "pnpm run", "yarn run", "bun run", "npm run-script"}

	// unsuited are programs that run their arguments: for them only the exact command is suggested.
	unsuited = nameSet{"rm", "rmdir", "mv", "cp", "dd", "ln", "tee", "install", "chmod", "chown", "chgrp", "chattr",
		"truncate", "shred", "mkfs", "mount", "umount", "kill", "pkill", "killall",
		"curl", "wget", "scp", "rsync", "sftp", "ftp", "nc", "ncat", "socat", "telnet", "tar", "zip", "unzip", "sed",
		"awk", "gawk", "mawk", "ed", "ex", "vi", "vim", "nvim", "emacs", "nano", "less", "more", "man",
		"python", "python2", "python3", "node", "nodejs", "perl", "ruby", "php", "lua", "tclsh", "Rscript", "R", "java",
		"osascript", "pwsh", "powershell", "cmd", "npx", "pnpx", "bunx", "uvx", "pipx", "tsx", "ts-node",
		"docker", "podman", "kubectl", "helm", "ansible", "vagrant", "apt", "apt-get", "dnf", "yum", "pacman",
		"crontab", "at", "batch", "source", ".", "export", "cd", "set", "unset", "read", "let", "declare",
		"sqlite3", "psql", "mysql", "redis-cli", "gdb", "lldb", "aws", "gcloud", "az", "openssl", "gpg", "ssh-keygen",
		"git-shell", "shutdown", "reboot", "passwd", "useradd", "usermod", "visudo", "iptables"}
)

// suggestCommands suggests the command as it is, and its first words.
func (q *query) suggestCommands() []string {
	s := q.commands()
	own := slices.IndexFunc(s.commands, func(c command) bool { return !c.inner })
	several := slices.ContainsFunc(s.commands[own+1:], func(c command) bool { return !c.inner })
	if len(s.doubts) > 0 || s.unsandboxed || own < 0 || several || len(s.redirects) > 0 {
		return nil
	}
	words, raw := s.commands[own].Words, s.commands[own].source()
	if !s.plain && raw != s.line {
		return nil
	}
	var out []string
	if !strings.Contains(raw, "*") {
		out = append(out, "Bash("+raw+")")
	}
	first := words[0].Text
	if !words[0].Known() || words[0].Source != first || !plainWord(first) || strings.ContainsRune(first, '/') &&
		first != "./gradlew" {
		return out
	}
	name := first
	if _, reads := readingCommands[name]; reads {
		return out // it was asked because of what it reads, which a name does not bound
	}
	switch {
	case wrappers.has(name), shells.has(name), isInterpreter(name), isLoader(name), finders.has(name),
		evaluators.has(name), unsuited.has(name), strings.ContainsAny(name, "."):
	case suited.has(name):
		if len(words) < 2 || !plainWord(words[1].Text) {
			break
		}
		two := name + " " + words[1].Text
		switch {
		case scripted.has(two) && len(words) > 2 && plainWord(words[2].Text):
			out = append(out, "Bash("+two+" "+words[2].Text+" *)")
		case !openEnded.has(words[1].Text):
			out = append(out, "Bash("+two+" *)")
		}
	default:
		out = append(out, "Bash("+name+" *)")
	}
	return out
}

// plainWord reports whether a word is a name: not an option, not quoted, not a path.
func plainWord(w string) bool {
	return w != "" && w[0] != '-' && !strings.ContainsFunc(w, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("-_.:@/+", c)
	})
}

// suggestPaths suggests the file, and its directory if that is in the working directory.
func (q *query) suggestPaths(tool string) []string {
	targets := q.paths()
	if len(targets) == 0 || !targets[0].sure {
		return nil
	}
	name := targets[0].lexical
	cwd := filepath.Clean(q.policy.CWD)
	rel, ok := below(name, cwd)
	switch {
	case ok && q.policy.CWD != "" && rel != "":
		out := []string{tool + "(./" + quotedPath(rel) + ")"}
		// A directory that makes programs run things is never suggested as a whole.
		if dir := path.Dir(rel); dir != "." && !q.touchesMachinery() {
			out = append(out, tool+"("+quotedPath(dir)+"/**)")
		}
		return out
	case ok && q.policy.CWD != "":
		return nil // the working directory itself
	}
	if home := filepath.Clean(q.policy.Home); q.policy.Home != "" {
		if rel, ok := below(name, home); ok && rel != "" {
			return []string{tool + "(~/" + quotedPath(rel) + ")"}
		}
	}
	if name == "/" {
		return nil
	}
	return []string{tool + "(/" + quotedPath(name) + ")"}
}

// quotedPath escapes the characters that are wildcards in a rule.
func quotedPath(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
