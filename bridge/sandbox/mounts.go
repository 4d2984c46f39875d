package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// view is how a path is seen from inside. If a path has several views, the greatest holds.
type view int

const (
	readOnly view = iota // as it is
	hidden               // empty
	private              // empty and writable, its own
	writable             // as it is
	shown                // as it is, even inside of a hidden directory
	guarded              // read-only, even inside of a writable directory
	secret               // empty, even inside of a shown directory

	// planted is guarded where agents could write, and changes nothing elsewhere: an agent may have made the path a link
	// to what is hidden, which a mount would show. It is added after the views of directories.
	planted
)

// open reports whether agents may write to a path that is seen so.
func (v view) open() bool { return v == writable || v == shown }

// mounts are the views of paths, by their names without symbolic links.
type mounts map[string]mount

type mount struct {
	view view
	dir  bool
}

// add resolves path and gives it a view. A path that does not exist is skipped, unless must is set.
func (m mounts) add(path string, v view, must bool) error {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return fmt.Errorf("%.200q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if missing(err) && !must {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(real)
	if missing(err) && !must {
		return nil
	}
	if err != nil {
		return err
	}
	if real == "/" {
		return fmt.Errorf("%s is the root of the file system", path)
	}
	if v == planted {
		if !m.at(real).open() {
			return nil
		}
		v = guarded
	}
	if old, ok := m[real]; !ok || v > old.view {
		m[real] = mount{v, info.IsDir()}
	}
	return nil
}

// addAll is add for several names in a directory; dir may be empty.
func (m mounts) addAll(dir string, names []string, v view, must bool) error {
	for _, name := range names {
		if err := m.add(filepath.Join(dir, name), v, must); err != nil {
			return err
		}
	}
	return nil
}

// pin makes each directory between a writable mount and a path in it with a view a mount of its own.
// Otherwise an agent could move the directory away and create it anew with other content, or read what is
// hidden in it under its new name.
func (m mounts) pin() {
	for _, path := range m.paths(hidden, writable, guarded, secret) {
		if !m.above(path).open() {
			continue
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if _, ok := m[dir]; ok {
				break
			}
			m[dir] = mount{writable, true}
		}
	}
}

// missing reports whether an error means that no process of this user can reach a path. A directory of the user's own
// that denies it says nothing: an agent may have closed it, to open it again when the path is not guarded or hidden.
func missing(err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return true
	}
	denied, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) {
		return false
	}
	info, err := os.Stat(filepath.Dir(denied.Path))
	if err != nil {
		return missing(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) != os.Getuid()
}

// paths returns the paths with these views, parents before what is in them.
func (m mounts) paths(views ...view) []string {
	var list []string
	for path, at := range m {
		if slices.Contains(views, at.view) {
			list = append(list, path)
		}
	}
	slices.SortFunc(list, byDepth)
	return list
}

// byDepth orders parents before their children.
func byDepth(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// args returns bubblewrap's arguments for all views. Empty directories are made read-only at the end, when
// the paths that are shown in them exist. Agents at work may replace a path in a directory that they can write to by a
// link to elsewhere before it is mounted: hold, if it is not nil, returns a descriptor for such a path. What has gone
// since the plan was made counts as if it had never been there.
func (m mounts) args(hold func(path string) (fd string, err error)) ([]string, error) {
	var args, readOnlyArgs []string
	for _, path := range m.paths(readOnly, hidden, private, writable, shown, guarded, secret) {
		at := m[path]
		bind := "--bind"
		switch at.view {
		case readOnly, guarded:
			bind = "--ro-bind"
			fallthrough
		case writable, shown:
			if hold == nil || !m.above(path).open() {
				args = append(args, bind+"-try", path, path)
				continue
			}
			fd, err := hold(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			args = append(args, bind+"-fd", fd, path)
		case private:
			args = append(args, "--tmpfs", path)
		case hidden, secret:
			if !at.dir {
				args = append(args, "--ro-bind", "/dev/null", path)
				continue
			}
			args, readOnlyArgs = append(args, "--tmpfs", path), append(readOnlyArgs, "--remount-ro", path)
		}
	}
	return append(args, readOnlyArgs...), nil
}

// under reports whether path is dir or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// at returns the view of path: its own, or that of the nearest parent that has one; otherwise readOnly.
func (m mounts) at(path string) view {
	for ; path != "/"; path = filepath.Dir(path) {
		if at, ok := m[path]; ok {
			return at.view
		}
	}
	return readOnly
}

// above returns the view of the directory that has path in it.
func (m mounts) above(path string) view { return m.at(filepath.Dir(path)) }

// credentials are paths below a home directory that contain credentials or lead to some: keys, tokens,
// agents' and browsers' profiles, and shell histories.
var credentials = []string{
	".ssh", ".aws", ".gnupg", ".netrc", "_netrc", ".docker", ".kube", ".azure", ".oci", ".terraform.d", ".vault-token",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/doctl", ".config/op", ".config/sops",
	".config/rclone", ".config/containers", ".config/helm", ".config/git/credentials", ".git-credentials", ".npmrc",
	".yarnrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml",
	".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json",
	".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki", ".pgpass", ".my.cnf", ".s3cfg",
	".boto", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	".config/microsoft-edge", ".bash_history", ".zsh_history", ".zhistory", ".python_history", ".node_repl_history",
	".psql_history", ".mysql_history", ".sqlite_history", ".local/share/fish/fish_history", ".lesshst", ".viminfo",
}

// daemons are sockets and directories of programs that act outside for any caller, and
// secrets of the machine.
var daemons = []string{
	"/run/docker.sock", "/var/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio", "/run/libvirt",
	"/run/lxd.socket", "/run/snapd.socket", "/run/dbus", "/run/systemd/private", "/run/systemd/io.systemd.ManagedOOM",
	"/run/secrets", "/run/credentials", "/var/lib/docker", "/var/lib/kubelet", "/etc/shadow", "/etc/gshadow",
}

// hiddenBy lists the files that are hidden with any configuration.
func hiddenBy(home string, env func(string) string) []string {
	var list []string
	for _, dir := range homes(home) {
		for _, name := range credentials {
			list = append(list, filepath.Join(dir, name))
		}
	}
	list = append(list, daemons...)
	list = append(list, fmt.Sprintf("/run/user/%d", os.Getuid()))
	for _, name := range []string{"SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "GOOGLE_APPLICATION_CREDENTIALS",
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"} {
		if path := env(name); filepath.IsAbs(path) {
			list = append(list, path)
		}
	}
	return list
}

// homes returns the home directory that the environment names, and the user's own if it differs: programs
// outside keep their keys there.
func homes(home string) []string {
	u, err := user.Current()
	if err != nil || !filepath.IsAbs(u.HomeDir) || u.HomeDir == home || u.HomeDir == "/" {
		return []string{home}
	}
	return []string{home, u.HomeDir}
}

// hideSockets hides the sockets in home directories, except those where agents may write: behind them are programs of
// the user that act outside, such as a container engine or a key agent.
func (m mounts) hideSockets(home string) error {
	for _, path := range sockets() {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || m.at(real) != readOnly {
			continue
		}
		for _, dir := range homes(home) {
			if dir, err = filepath.EvalSymlinks(dir); err == nil && under(real, dir) {
				if err := m.add(real, hidden, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// caches are the variables that name the caches of tools, with their usual places below a home directory. What is in
// such a cache runs outside later, and without a cache that can be written to, the tools fail.
var caches = map[string]string{"GOCACHE": ".cache/go-build", "npm_config_cache": ".npm", "PIP_CACHE_DIR": ".cache/pip",
	"UV_CACHE_DIR": ".cache/uv", "YARN_CACHE_FOLDER": ".cache/yarn"}

// caches returns variables that move caches into a private directory, except those that are named, or writable in
// their usual place.
func (m mounts) caches(env []string) (list []string) {
	home := proctree.EnvLookup(env, "HOME")
	for _, name := range slices.Sorted(maps.Keys(caches)) {
		usual := filepath.Join(home, caches[name])
		if real, err := filepath.EvalSymlinks(usual); err == nil {
			usual = real
		}
		if m.at(usual) == writable || proctree.EnvLookup(env, name) != "" {
			continue
		}
		list = append(list, name+"="+filepath.Join("/tmp/arbiter-caches", filepath.Base(usual)))
	}
	return list
}

// temporary lists the directories that are private: empty at first, removed at the end.
func temporary(env func(string) string) []string {
	list := []string{"/tmp", "/var/tmp"}
	for _, name := range []string{"TMPDIR", "CLAUDE_CODE_TMPDIR"} {
		if path := env(name); filepath.IsAbs(path) {
			list = append(list, path)
		}
	}
	return list
}
