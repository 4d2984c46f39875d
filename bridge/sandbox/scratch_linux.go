package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// scratchDir is where the file system with all changes is mounted: programs inside have an own directory there.
const scratchDir = "/dev/shm"

// scratchTimeout bounds the wait for the copies: a file system that does not answer, of a network, would be waited for
// without end.
var scratchTimeout = time.Minute

// maxScratch is the most bytes that all changes of a command may take: they are in memory.
const maxScratch = 2 << 30

// StartScratch starts cmd in a sandbox, on copies of the directories that it can write to; see the package's comment.
// It returns when the copies exist. The caller sets Dir and Env, and main calls [RunScratch].
func StartScratch(cmd *exec.Cmd, mark proctree.Mark, cfg bridge.SandboxConfig) (*proctree.Child, error) {
	child, err := startScratch(cmd, mark, cfg)
	if err != nil {
		return nil, fmt.Errorf("no scratch copy can be made: %w", err)
	}
	return child, nil
}

func startScratch(cmd *exec.Cmd, mark proctree.Mark, cfg bridge.SandboxConfig) (*proctree.Child, error) {
	if err := wrapScratch(cmd, cfg); err != nil {
		return nil, err
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	defer theirs.Close()
	filter, err := filterFile()
	if err != nil {
		return nil, err
	}
	defer filter.Close()
	cmd.ExtraFiles = []*os.File{theirs, filter}
	child, err := proctree.StartMonitored(cmd, mark)
	theirs.Close()
	if err != nil {
		return nil, err
	}
	_ = report.SetReadDeadline(time.Now().Add(scratchTimeout)) // pipes have deadlines
	why, err := io.ReadAll(io.LimitReader(report, outputCap))  // it ends when bubblewrap begins
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the directories could not be copied within %v", scratchTimeout)
	}
	if text, ok := strings.CutPrefix(string(why), made); err == nil && (!ok || text != "") {
		err = errors.New(cmp.Or(text, "the program that makes it ended"))
	}
	if err != nil {
		_, killErr := child.KillNow()
		return nil, errors.Join(err, killErr)
	}
	return child, nil
}

// filterFile returns the end of a pipe from which bubblewrap reads the filter of system calls.
func filterFile() (*os.File, error) {
	filter, err := socketFilter()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Write(filter); err != nil { // it fits into the pipe
		r.Close()
		return nil, err
	}
	return r, nil
}

// held opens what is at a path that has no symbolic link in it. Bubblewrap compares it with what it has mounted.
func held(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	at, linkErr := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err := errors.Join(err, linkErr); err != nil || at != path || info.Mode()&os.ModeSymlink != 0 {
		f.Close()
		return nil, cmp.Or(err, fmt.Errorf("%s was replaced while the sandbox was made", path))
	}
	return f, nil
}

// wrapScratch changes cmd to make the copies and to become bubblewrap.
func wrapScratch(cmd *exec.Cmd, cfg bridge.SandboxConfig) error {
	m, copies, err := scratchPlan(cmd, cfg)
	if err != nil {
		return err
	}
	cwd, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil {
		return err
	}
	outside, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return err
	}
	size := min(maxScratch, uint64(memory.Totalram)*uint64(memory.Unit)/4)
	args := []string{cfg.Program, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", privateDir(0),
		scratchDir, "--remount-ro", "/dev", "--proc", "/proc", "--remount-ro", "/proc", "--unshare-all",
		"--unshare-user", "--cap-drop", "ALL",
		"--uid", strconv.Itoa(os.Getuid()), "--gid", strconv.Itoa(os.Getgid()), "--seccomp", strconv.Itoa(filterFD)}
	views, err := m.args(nil) // in a copy a link leads no further than the copy
	if err != nil {
		return err
	}
	args, privates := m.shared(args, views)
	args = append(args, "--chdir", cwd, "--", cmd.Path)
	cmd.Args = slices.Concat([]string{os.Args[0], ScratchCommand, outside, strconv.FormatUint(size, 10),
		strconv.Itoa(privates)}, copies, []string{"--"}, args, cmd.Args[1:])
	cmd.Path = "/proc/self/exe"                                // this very program, even if it has been replaced
	cmd.Env = direct(proctree.EnvWithout(cmd.Env, dropped...)) // no network, and values may hold passwords
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return nil
}

// shared appends list, the arguments for all views, to args. Private directories share the limit of all changes: they
// are numbered from 1, and counted together with 0, that of the programs' shared memory.
func (m mounts) shared(args, list []string) (all []string, privates int) {
	for privates = 1; len(list) > 0; {
		if list[0] != "--tmpfs" || m[list[1]].view != private {
			args, list = append(args, list[0]), list[1:]
			continue
		}
		args, list = append(args, "--bind", privateDir(privates), list[1]), list[2:]
		privates++
	}
	return args, privates
}

func privateDir(n int) string { return filepath.Join(scratchDir, "private-"+strconv.Itoa(n)) }

// enterScratch takes the mount namespace outside, the limit in bytes, how many private directories there are, and
// DIRECTORY… -- PROGRAM ARGUMENT….
func enterScratch(report *os.File, args []string) error {
	unix.CloseOnExec(reportFD)
	runtime.LockOSThread() // a keyring belongs to a thread
	end := slices.Index(args, "--")
	if end < 3 || end+1 == len(args) {
		return fmt.Errorf("%s is for arbiter alone", ScratchCommand)
	}
	privates, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if here, err := os.Readlink("/proc/self/ns/mnt"); err != nil || here == args[0] {
		return errors.New("there is no mount namespace of its own")
	}
	program := args[end+1:]
	if err := mountScratch(args[1], privates, args[3:end]); err != nil {
		return err
	}
	// Keys of the user stay outside. Where the kernel or a container has no keys, nobody needs to.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil &&
		err != unix.ENOSYS && err != unix.EPERM {
		return fmt.Errorf("a keyring of its own: %w", err)
	}
	// A program of the system keeps what crashes, wherever it runs: a limit of one byte keeps it from that.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return err
	}
	if _, err := report.WriteString(made); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", program[0], syscall.Exec(program[0], program, os.Environ()))
}

// mountScratch mounts a copy of each directory over itself.
func mountScratch(size string, privates int, dirs []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	lower := make([]int, len(dirs))
	for i, dir := range dirs {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		lower[i] = fd
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("tmpfs", scratchDir, "tmpfs", flags, "mode=0700,nr_inodes=1m,size="+size); err != nil {
		return fmt.Errorf("mount a file system in memory on %s: %w", scratchDir, err)
	}
	options, err := overlayOptions()
	if err != nil {
		return err
	}
	for i, dir := range dirs {
		upper, work := filepath.Join(scratchDir, fmt.Sprint("upper-", i)), filepath.Join(scratchDir, fmt.Sprint("work-", i))
		var info unix.Stat_t
		if err := errors.Join(os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700), unix.Fstat(lower[i], &info),
			unix.Chmod(upper, info.Mode&0o7777)); err != nil { // the copy has the mode of the upper directory
			return fmt.Errorf("%s: %w", dir, err)
		}
		// A descriptor, because a path may have characters with a meaning.
		data := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=%s,workdir=%s%s", lower[i], upper, work, options)
		if err := unix.Mount("overlay", dir, "overlay", flags, data); err != nil {
			return fmt.Errorf("mount an overlay on %s: %w", dir, err)
		}
	}
	for i := range privates {
		if err := os.Mkdir(privateDir(i), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// overlayOptions returns options by the attributes that overlays can keep here: without any, a directory that was
// removed could not be made again.
func overlayOptions() (string, error) {
	switch {
	case unix.Setxattr(scratchDir, "trusted.arbiter", []byte("1"), 0) == nil:
		return "", nil
	case unix.Setxattr(scratchDir, "user.arbiter", []byte("1"), 0) == nil:
		return ",userxattr", nil
	}
	return "", errors.New("files in memory have no attributes: Linux 6.6 or later is needed, or root")
}
