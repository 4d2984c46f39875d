package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inventory lists what the workspace of a working directory contains. own are directories of the user's own
// configuration, such as ~/.claude and ~/.config/arbiter: they do not belong to the workspace, even if it
// contains them. An error says that the directory cannot be read; any problem inside it is an item.
func Inventory(cwd string, own ...string) (Listing, error) {
	abs, err := filepath.Abs(cwd)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Listing{}, fmt.Errorf("look at the workspace: %w", err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return Listing{}, fmt.Errorf("look at the workspace: %s is not a directory", abs)
	}
	up, inRepo := Upwards(abs)
	root := abs
	if inRepo {
		root = up[len(up)-1]
	}
	l := &look{Listing: Listing{CWD: abs, Root: root}, own: own, seen: map[string]bool{}}
	l.settingsIn(abs)
	l.settingsIn(root)
	for _, dir := range up {
		l.claudeDir(filepath.Join(dir, ".claude"))
		if inRepo || dir == abs {
			l.arbiterDir(filepath.Join(dir, ".arbiter"), dir == abs)
		}
		l.instructions(dir)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		l.mcpFile(filepath.Join(dir, ".mcp.json"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if inRepo {
		for _, dir := range l.repository(root) {
			l.settingsIn(dir)
			l.claudeDir(filepath.Join(dir, ".claude"))
		}
	}
	l.finish()
	return l.Listing, nil
}

// Upwards are the directory and those above it up to the repository's root, which is the first that contains
// anything called .git, whatever it is. Without a repository they go up to the root of the file system, as the
// CLI does.
func Upwards(cwd string) (list []string, inRepo bool) {
	for at := cwd; ; at = filepath.Dir(at) {
		list = append(list, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return list, true
		}
		if at == filepath.Dir(at) {
			return list, false
		}
	}
}

// settingsIn lists the settings files of a directory.
func (l *look) settingsIn(dir string) {
	if l.isOwn(filepath.Join(dir, ".claude")) {
		return
	}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		path := filepath.Join(dir, ".claude", name)
		if raw, ok := l.file(path); ok {
			l.settings(path, raw)
		}
	}
}

// claudeDir lists the parts of a .claude directory that are loaded from any directory of the workspace.
func (l *look) claudeDir(dir string) {
	if l.isOwn(dir) {
		return
	}
	for _, d := range []struct{ name, kind string }{
		{"agents", KindAgent}, {"commands", KindCommand}, {"skills", KindSkill}, {"output-styles", KindStyle},
		{"workflows", KindWorkflow},
		{"hooks", KindScript}, {"plugins", KindPlugin},
	} {
		l.tree(filepath.Join(dir, d.name), func(path string, raw []byte) { l.document(d.kind, path, raw) })
	}
	if path := filepath.Join(dir, "scheduled_tasks.json"); l.exists(path) {
		if raw, ok := l.file(path); ok {
			l.add(KindWorkflow, path, "", "a schedule", string(raw))
		}
	}
	l.tree(filepath.Join(dir, "rules"), func(path string, raw []byte) {
		l.add(KindInstruction, path, "", lines(raw), string(raw))
	})
}

// arbiterDir lists Arbiter's own files; configuration and templates count only in the working directory.
func (l *look) arbiterDir(dir string, here bool) {
	if l.isOwn(dir) {
		return
	}
	l.tree(filepath.Join(dir, "agents"), func(path string, raw []byte) { l.document(KindAgent, path, raw) })
	if !here {
		return
	}
	l.tree(filepath.Join(dir, "prompts"), func(path string, raw []byte) {
		l.add(KindPrompt, path, "", lines(raw), string(raw))
	})
	if !l.exists(dir) {
		return
	}
	for _, name := range l.names(dir) {
		if path := filepath.Join(dir, name); strings.HasPrefix(name, "config.") {
			if raw, ok := l.file(path); ok {
				l.add(KindConfig, path, "", "settings of arbiter: "+topKeys(raw), string(raw))
			}
		}
	}
}

// instructions lists texts for a model. They do not count.
func (l *look) instructions(dir string) {
	for _, name := range []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md",
		".claude/AGENTS.md"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || l.seen[path] {
			continue
		}
		l.seen[path] = true
		l.add(KindInstruction, path, "", fmt.Sprintf("text for the agents, %d bytes", info.Size()), "")
	}
}

// repository are the directories in which a worktree says its repository is. It may name any directory: they
// are listed because the CLI reads them, and the file that names them counts.
func (l *look) repository(root string) []string {
	git := filepath.Join(root, ".git")
	info, err := os.Stat(git)
	if err != nil {
		l.unreadable(git, reason(err), "")
		return nil
	}
	var dirs []string
	if !info.IsDir() {
		raw, ok := l.file(git)
		if !ok {
			return nil
		}
		l.add(KindGit, git, "", "a linked worktree: "+oneLine(string(raw), 200), string(raw))
		to, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir:")
		if !ok || len(raw) > 4096 {
			return nil
		}
		git = resolve(root, strings.TrimSpace(to))
	} else if link, err := os.Lstat(git); err == nil && link.Mode().Type() != os.ModeDir {
		l.link(git)
	}
	common := git
	if path := filepath.Join(git, "commondir"); l.exists(path) {
		raw, ok := l.file(path)
		if !ok || len(raw) > 4096 {
			return nil
		}
		common = resolve(git, strings.TrimSpace(string(raw)))
		l.add(KindGit, path, "", "the repository is in "+oneLine(common, 200), string(raw)+"\x00"+common)
	}
	for _, dir := range []string{git, common} {
		if end, err := filepath.EvalSymlinks(dir); err == nil {
			dir = end
		}
		for _, dir := range []string{filepath.Dir(dir), dir} { // a bare repository has its files beside it
			if info, err := os.Stat(filepath.Join(dir, ".claude")); err == nil && info.IsDir() &&
				!slices.Contains(dirs, dir) && dir != root {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isOwn reports whether a directory is the user's own configuration.
func (l *look) isOwn(dir string) bool { return IsOneOf(dir, l.own) }

// IsOneOf reports whether a path leads to one of the others.
func IsOneOf(path string, others []string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(others, func(at string) bool {
		other, err := os.Stat(at)
		return err == nil && os.SameFile(info, other)
	})
}

func (l *look) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func lines(raw []byte) string {
	return fmt.Sprintf("text, %d lines", strings.Count(strings.TrimSuffix(string(raw), "\n"), "\n")+1)
}
