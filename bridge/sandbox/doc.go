// Package sandbox confines the processes of agents with bubblewrap: it builds the
// command line, and tests that the sandbox holds.
//
// # What is confined
//
// The root is read-only. Writable are the workspace, what the configuration names,
// what the CLI itself has to keep (transcripts, sessions; see [bridge.SandboxConfig]),
// and temporary directories that are private to each process tree and gone with it.
// Hidden are files with credentials (see hidden.go), the sockets of daemons through
// which agents could act outside, and what the configuration hides, above all
// arbiter's own state and sockets. Code that others run later cannot be
// planted in the usual places: a repository's hooks and configuration, its submodules' and
// worktrees', are read-only, what they lie in cannot be moved away, and the CLI's settings,
// agents, skills and plugins are read-only, too. Shell snapshots and the like, which tool
// shells of other sessions run, are each process tree's own. A home directory, or a directory
// in a hidden one, is refused as a workspace.
//
// Agents own the workspace. To run something in it outside of the sandbox – a Makefile, a
// test, .envrc, tasks of an editor – means to run what an agent may have written, and so does
// running git there: a repository inside of it (a submodule that is none, a commondir, a bare
// one) has a configuration of its own. Arbiter's own inspections of it run confined
// as agents do.
//
// Not confined is the network: the CLI needs its API. So abstract unix sockets and services on loopback can be
// reached. Its tools can read what the CLI reads to log in: it is one process tree of one user. Other processes of
// that user can be signalled where the bridge is in no PID namespace, but neither read nor traced.
//
// # How it is enforced
//
// Mounts are made in the order of their depth, so that what is inside of a hidden or
// private directory can be shown again, and what is inside of a writable one hidden.
// It is a user namespace of its own, root's too, without capabilities: /proc and /sys are
// read-only, mounts cannot be undone, and processes outside cannot be looked into. A user
// namespace that a process makes for itself inherits the mounts locked together. Files of
// other users appear as owned by nobody, and no process can become another user (sudo does not work).
//
// # Processes
//
// Bubblewrap stays as a monitor above the one process that it confines, in the same
// process group; that ends it by TERM, so signals must go to the others of the group
// ([proctree.StartMonitored]). There is no PID namespace: the CLI names files after its
// pid, which sessions share (observed with CLI 2.1.329), and the subreaper, the marks in
// the environment and the account of CPU and memory work as they do without a sandbox.
// --die-with-parent is not used: it is tied to the thread that forked, and Go's come
// and go.
//
// # The probe
//
// [Verify] runs a probe behind the same command line. Its report counts only
// together with what is observed from outside: the file it had to write is there, those it
// could not are not, and its mounts and capabilities are not ours. The package has no
// goroutines.
package sandbox
