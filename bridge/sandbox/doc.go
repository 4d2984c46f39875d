// Package sandbox confines the processes of agents with bubblewrap: it builds the command line, and tests
// that the sandbox holds.
//
// # What is confined
//
// The root is read-only. Writable are the workspace, the paths that the configuration names, the paths that
// the CLI itself needs (transcripts, sessions; see [bridge.SandboxConfig]), and temporary directories that
// are private to each process tree and disappear with it. Hidden are files with credentials (see
// hidden.go), the sockets of daemons through which agents could act outside, and the paths that the
// configuration hides, above all arbiter's own state and sockets. Code that others run later cannot be
// planted in the usual places: the hooks and the configuration of a repository, its submodules and its
// worktrees are read-only, the directories that contain them cannot be moved away, and the CLI's settings,
// agents, skills and plugins are read-only, too. Each process tree has its own shell snapshots and similar
// files, which tool shells of other sessions run. A home directory, or a directory in a hidden one, is
// refused as a workspace.
//
// Agents own the workspace. Running something in it outside of the sandbox – a Makefile, a test, .envrc,
// tasks of an editor – means running what an agent may have written. The same holds for running git there:
// a repository inside of it (a fake submodule, a commondir, a bare repository) has a configuration of its
// own. Arbiter's own inspections of it are confined in the same way as agents.
//
// The network is not confined: the CLI needs its API. So abstract unix sockets and services on loopback can
// be reached. The CLI's tools can read the credentials that the CLI reads: it is one process tree of one
// user. If the bridge is in no PID namespace, other processes of that user can be signalled, but neither
// read nor traced.
//
// # How it is enforced
//
// Mounts are made in the order of their depth, so that what is inside of a hidden or private directory can
// be shown again, and what is inside of a writable one hidden. The sandbox has a user namespace of its own,
// also for root, without capabilities: /proc and /sys are read-only, mounts cannot be undone, and processes
// outside cannot be inspected. If a process makes a user namespace for itself, that inherits the mounts,
// locked together. Files of other users appear as owned by nobody, and no process can become another user
// (sudo does not work).
//
// # Processes
//
// Bubblewrap stays as a monitor above the one process that it confines, in the same process group. A TERM would
// end the monitor, so signals must go to the other members of the group ([proctree.StartMonitored]). There is no
// PID namespace: the CLI names files after its pid, which sessions share (observed with CLI 2.1.329), and the
// subreaper, the marks in the environment and the accounting of CPU and memory work as they do without a sandbox.
// --die-with-parent is not used: it is tied to the thread that forked, and Go creates and ends threads at any
// time.
//
// # The probe
//
// [Verify] runs a probe with the same command line. Its report counts only together with what is observed
// from outside: the file that it had to write exists, the files that it must not write do not, and its
// mounts and capabilities differ from ours. The package has no goroutines.
package sandbox
