package sandbox

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

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
		at, exists := m[usual]
		if exists && at.view == writable || m.above(usual) == writable || proctree.EnvLookup(env, name) != "" {
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
