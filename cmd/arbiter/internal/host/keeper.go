package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// clockInterval is how often the keeper looks at the clock: timers may stand still while the machine sleeps.
const clockInterval = 250 * time.Millisecond

// endGrace is how much longer than its lease the bridge may take to end, in order, what it started.
const endGrace = 2500 * time.Millisecond

// KeeperOptions are the settings of a keeper.
type KeeperOptions struct {
	Program string   // started as the bridge, with Args; it calls [Kept]
	Args    []string // without the program's name
	Env     []string // without the variables of the client's machine
	Locks   string   // directory of the locks
	Mode    proctree.Mode
	Log     *slog.Logger
}

// KeepBridge is the process above a remote bridge: `arbiter bridge --remote`. It starts the bridge itself as a child,
// isolated as well as the host allows, and ensures that no two bridges work for one run:
//
//   - It reads the first line of the client, `initialize`, which names the run and the bridge, and passes it on.
//   - It takes a lock for both. If an earlier bridge holds it, that one is ended with all that it started, including
//     stopped processes, without waiting for an answer.
//   - It knows the bridge's lease. If the bridge does not end in time, because it is stopped or hangs, the keeper kills
//     it and all processes that bear its mark. The clock includes the time in which the machine slept.
//   - When the bridge has ended, for whatever reason, the keeper ends its remaining processes.
//
// Both hold the lock, so that it is free only when both have ended. If a keeper is killed, its bridge is
// killed, too (Linux: PR_SET_PDEATHSIG); on other systems the bridge notices at the next renewal of its
// lease ([KeptBridge.Under]).
//
// # Limits
//
// If keeper and bridge are stopped at the same time, the agents keep running while both are stopped. Agents
// cannot use tools then, since the bridge judges each call, and checks its lease first when it continues. A
// virtual machine that is paused from outside does not count the time: fence it with the host's `end`
// command.
//
// # Result
//
// It returns the exit code of the bridge when no process of the bridge is left; 1 if the bridge had to be killed, or
// could not be started. stdin and stdout become the bridge's and are closed here.
func KeepBridge(ctx context.Context, stdin, stdout *os.File, o KeeperOptions) (code int, err error) {
	read, h, err := readHello(stdin)
	if errors.Is(err, io.EOF) {
		return 0, nil // the client ended before it sent anything
	}
	if err != nil {
		return 1, err
	}
	k := &keeper{KeeperOptions: o, hello: h, mark: proctree.Mark{Run: h.run, Bridge: h.bridge}}
	if h.run != "" {
		held, ended, err := lockBridge(ctx, o.Locks, k.mark)
		if err != nil {
			return 1, err
		}
		defer func() {
			_ = os.Remove(held.Name()) // or each run and each check of this host leaves one; lockBridge knows
			held.Close()
		}()
		k.lock, k.ended = held, ended
	}
	// The kernel sends the signal of follow when the thread that started the bridge ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := k.start(ctx, stdin, stdout, read); err != nil {
		return 1, err
	}
	defer k.handing.Wait()
	return k.wait(ctx)
}

type keeper struct {
	KeeperOptions
	hello
	mark  proctree.Mark
	lock  *os.File // nil for a client that requests no remote bridge
	ended int

	cmd     *exec.Cmd
	leases  *os.File // where the bridge writes new ends of its lease
	exited  chan error
	handing sync.WaitGroup // of what was read to the bridge
	until   atomic.Int64   // end of the lease, in nanoseconds after the boot
}

// Variables by which a bridge knows its keeper.
const (
	envKept  = "ARBITER_KEPT"       // descriptors of the first bytes and of the lease
	envEnded = "ARBITER_KEPT_ENDED" // how many processes of an earlier bridge were ended
)

func (k *keeper) start(ctx context.Context, stdin, stdout *os.File, read []byte) (err error) {
	words, wordsWriter, err := os.Pipe()
	if err != nil {
		return err
	}
	defer words.Close()
	leases, renew, err := os.Pipe()
	if err != nil {
		return errors.Join(err, wordsWriter.Close())
	}
	defer renew.Close()
	cmd := exec.Command(k.Program, k.Args...)
	cmd.Env = append([]string{}, k.Env...)
	if k.run != "" {
		cmd.Env = append(cmd.Env, k.mark.Env()...)
	}
	if k.lock != nil {
		proctree.InheritLock(cmd, k.lock)
	}
	first := 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, words, renew)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d,%d", envKept, first, first+1), fmt.Sprintf("%s=%d", envEnded, k.ended))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	isolation := proctree.Isolate(ctx, cmd, k.Mode)
	k.Log.Debug("process isolation", "namespace", isolation.String())
	endWithParent(cmd)
	k.cmd, k.leases, k.exited = cmd, leases, make(chan error, 1)
	k.until.Store(int64(bridge.BootTime() + k.lease))
	if err := proctree.AdoptOrphans(); err != nil {
		k.Log.Warn("become subreaper failed", "err", err)
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, wordsWriter.Close(), leases.Close())
	}
	go func() { k.exited <- cmd.Wait() }()
	k.handing.Go(func() { // when the bridge ends, it closes its end
		_, err := wordsWriter.Write(read)
		if err = errors.Join(err, wordsWriter.Close()); err != nil {
			k.Log.Warn("hand on initialize failed", "err", err)
		}
	})
	_ = stdin.Close() // both belong to the bridge from now on, and end with it
	_ = stdout.Close()
	return nil
}

// wait waits for the end of the bridge, or ends it.
func (k *keeper) wait(ctx context.Context) (code int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer signal.Stop(signals)
	var reading sync.WaitGroup
	reading.Go(func() { // until the bridge has ended, or the pipe is closed here
		for raw := make([]byte, 8); ; {
			if _, err := io.ReadFull(k.leases, raw); err != nil {
				return
			}
			k.until.Store(max(k.until.Load(), int64(binary.BigEndian.Uint64(raw))))
		}
	})
	defer reading.Wait()
	defer k.leases.Close()
	clock := time.NewTicker(clockInterval)
	defer clock.Stop()
	for {
		select {
		case err := <-k.exited:
			k.sweep()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
				return exit.ExitCode(), nil
			} else if err != nil {
				return 1, nil
			}
			return 0, nil
		case <-signals:
			_ = k.cmd.Process.Signal(syscall.SIGTERM)
		case <-ctx.Done():
			_ = k.cmd.Process.Signal(syscall.SIGTERM)
			ctx = context.WithoutCancel(ctx)
		case <-clock.C:
			if k.lease > 0 && bridge.BootTime() > time.Duration(k.until.Load())+endGrace {
				_ = k.cmd.Process.Kill()
				k.sweep()
				<-k.exited
				k.sweep()
				return 1, errors.New("the bridge was out of reach of its client for longer than the lease, and did not end: " +
					"it was killed with all that it started")
			}
		}
	}
}

// sweep ends the processes that bear the mark of the bridge.
func (k *keeper) sweep() {
	if n := proctree.SweepMarked(k.mark); n > 0 {
		k.Log.Warn("ended processes that the bridge had left", "count", n)
	}
}

// KeptBridge is a bridge's connection to its keeper.
type KeptBridge struct {
	Ended  int      // processes of an earlier bridge that the keeper ended
	words  *os.File // what the keeper read of the client
	leases *os.File
	gone   context.CancelCauseFunc // of the context of [KeptBridge.Under]
}

// Kept returns this process's connection to its keeper; nil if it has no keeper. It is called once, before
// any child is started.
func Kept() (*KeptBridge, error) {
	value, kept := os.LookupEnv(envKept)
	if !kept {
		return nil, nil
	}
	ended, _ := strconv.Atoi(os.Getenv(envEnded)) // written by the keeper
	_ = os.Unsetenv(envKept)
	_ = os.Unsetenv(envEnded)
	first, second, _ := strings.Cut(value, ",")
	files := [2]*os.File{}
	for i, text := range []string{first, second} {
		fd, err := strconv.Atoi(text)
		if err != nil || fd < 3 {
			return nil, fmt.Errorf("%s=%q names no descriptors", envKept, value)
		}
		syscall.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), envKept)
	}
	return &KeptBridge{Ended: ended, words: files[0], leases: files[1]}, nil
}

// Renewed reports a new end of the lease to the keeper. It is a [bridge.ServerOptions.Renewed].
func (b *KeptBridge) Renewed(until time.Duration) {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(until))
	if _, err := b.leases.Write(raw[:]); err != nil {
		b.gone(errors.New("the process above the bridge is gone"))
	}
}

// Under returns a context that is cancelled when the keeper was found to have ended. It is called once, before a lease
// is renewed.
func (b *KeptBridge) Under(ctx context.Context) (under context.Context, done func()) {
	under, b.gone = context.WithCancelCause(ctx)
	return under, func() { b.gone(nil) }
}

// Pipe returns the pipe to the client, including the bytes that the keeper has read.
func (b *KeptBridge) Pipe(rest io.ReadWriteCloser) io.ReadWriteCloser {
	return struct {
		io.Reader
		io.WriteCloser
	}{io.MultiReader(b.words, rest), rest}
}

// maxHello bounds the first line of a client.
const maxHello = 1 << 20

// hello holds what the keeper needs from the first line.
type hello struct {
	run, bridge string
	lease       time.Duration
}

// safeName matches valid names of run and bridge: they are part of a file's name.
var safeName = command.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// readHello reads up to the first line end, and possibly more: the caller must pass all that was read to
// the bridge. A line that is not an initialize of a remote bridge is not an error here: the hello is empty
// then, and the bridge answers.
func readHello(r io.Reader) (read []byte, h hello, err error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		read = append(read, buf[:n]...)
		line, _, whole := bytes.Cut(read, []byte("\n"))
		if whole || len(bytes.TrimSpace(read)) > 0 && errors.Is(err, io.EOF) {
			return read, parseHello(line), nil
		}
		if len(read) > maxHello {
			return nil, hello{}, fmt.Errorf("the first line of the client is longer than %d bytes", maxHello)
		}
		if err != nil {
			return nil, hello{}, err
		}
	}
}

func parseHello(line []byte) hello {
	var m struct {
		Method string
		Params bridge.InitializeParams
	}
	if json.Unmarshal(line, &m) != nil || m.Method != bridge.MethodInitialize || m.Params.Remote == nil {
		return hello{}
	}
	p := m.Params
	if !safeName().MatchString(p.Run) || !safeName().MatchString(p.Bridge) || p.Remote.LeaseMS <= 0 {
		return hello{}
	}
	return hello{run: p.Run, bridge: p.Bridge, lease: time.Duration(p.Remote.LeaseMS) * time.Millisecond}
}

const (
	fenceTimeout = 15 * time.Second
	fencePause   = 20 * time.Millisecond
	maxNote      = 4 << 10
)

// lockNote is the content of a lock file: it identifies the holder.
type lockNote struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// lockBridge takes the lock of a bridge. If another process holds it, that process and all that bear the mark are
// ended first. It returns how many processes were ended. The caller closes the file.
func lockBridge(ctx context.Context, dir string, m proctree.Mark) (f *os.File, ended int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, err
	}
	path := filepath.Join(dir, m.Run+"-"+m.Bridge+".lock")
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	for {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, ended, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && sameFile(f, path) {
			break
		}
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, ended, fmt.Errorf("lock %s: %w", path, err)
		}
		if err != nil {
			ended += fence(ctx, f, m)
		} // else the last holder has removed it meanwhile
		f.Close()
		select {
		case <-ctx.Done():
			return nil, ended, fmt.Errorf("an earlier bridge of this run on this host does not end (its lock is %s): end its "+
				"processes, which have %s=%s in their environment", path, proctree.EnvRun, m.Run)
		case <-time.After(fencePause):
		}
	}
	ended += proctree.SweepMarked(m) // including those that outlived a killed holder
	if err := writeNote(f); err != nil {
		f.Close()
		return nil, ended, fmt.Errorf("write %s: %w", path, err)
	}
	return f, ended, nil
}

// sameFile reports whether an open file still has its name.
func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	named, gone := os.Lstat(path)
	return err == nil && gone == nil && os.SameFile(open, named)
}

// fence ends the holder of a lock, and all processes that bear the mark.
func fence(ctx context.Context, f *os.File, m proctree.Mark) (ended int) {
	raw := make([]byte, maxNote)
	n, _ := f.ReadAt(raw, 0) // an incomplete note is read again the next time
	var holder lockNote
	if json.Unmarshal(raw[:n], &holder) == nil && holder.PID > 1 && holder.PID != os.Getpid() {
		if proctree.End(ctx, holder.PID, holder.Start) == nil {
			ended++
		}
	}
	return ended + proctree.SweepMarked(m)
}

// writeNote writes the identity of this process to its lock file.
func writeNote(f *os.File) error {
	start, err := proctree.StartOf(os.Getpid())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(lockNote{PID: os.Getpid(), Start: start})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(raw, 0)
	}
	return err
}
