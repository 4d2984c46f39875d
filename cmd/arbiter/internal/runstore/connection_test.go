package runstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestLiveRun: a live run is found by a prefix of its id that is unique among live runs, or by the current
// directory. An ambiguous name is refused with the ids to choose from.
func TestLiveRun(t *testing.T) {
	root, here, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	t.Cleanup(func() { store.Close() })
	all := &Runs{store, root}
	begin := func(id, dir string) *journal.Run {
		t.Helper()
		r := testkit.Must(store.Create(journal.Meta{Run: id, CWD: dir, Began: time.Now()}, journal.Options{}))(t)
		t.Cleanup(func() { _ = r.Close() }) // may be closed already
		return r
	}
	testkit.OK(t, begin("aaaa1111-dead", here).Close())
	begin("aaaa2222-one", here)
	begin("aabb3333-two", elsewhere)
	t.Chdir(here)
	expect := func(named, run, says string) {
		t.Helper()
		info, err := FindLive(all, named)
		switch exit, ok := errors.AsType[*command.Error](err); {
		case says == "" && (err != nil || info.Run != run):
			t.Errorf("%q: %s, %v, want %s", named, info.Run, err, run)
		case says != "" && (!ok || exit.Code != contract.ExitUsage ||
			!strings.Contains(exit.Text, says)):
			t.Errorf("%q: %v, want %q", named, err, says)
		}
	}
	expect("", "aaaa2222-one", "")
	expect("aaaa", "aaaa2222-one", "") // the other one is not live
	expect("aabb3333-two", "aabb3333-two", "")
	expect("aa", "", `"aa" fits several live runs: `)
	expect("aaaa1", "", "run aaaa1111 is not live")
	expect("bb", "", `there is no run "bb"`)
	begin("cccc4444-three", here)
	testkit.OK(t, os.WriteFile(filepath.Join(all.Dir("cccc4444-three"), "lock"), []byte(`{"v":99}`), 0o600))
	start := time.Now()
	info := testkit.Must(Find(store, "cccc4444-three"))(t)
	testkit.Check(t, info.Live && info.PID == 0 && time.Since(start) < bridgeEnds,
		"a run whose process is not known was waited for: %+v", info)
	expect("", "", "several runs are live in "+here+": ")
	t.Chdir(root)
	expect("", "", "no run is live in "+root)
}

// TestRunEndsDuringConnecting: a connection that fails because the run ends is explained by that end.
func TestRunEndsDuringConnecting(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	t.Cleanup(func() { store.Close() })
	all := &Runs{store, root}
	run, err := store.Create(journal.Meta{Run: "aaaa1111-ends", CWD: t.TempDir(), Began: time.Now()}, journal.Options{})
	testkit.OK(t, err)
	info := testkit.Must(FindLive(all, "aaaa1111"))(t)
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	closed := make(chan error)
	go func() { closed <- run.Close() }()
	for why, want := range map[error]contract.Exit{
		fmt.Errorf("%w: %w", control.ErrSilent, refused): contract.ExitUsage,
		io.EOF:                          contract.ExitUsage,
		context.DeadlineExceeded:        contract.ExitEnvironment, // it accepts connections, so it has not ended
		&control.Refusal{Message: "no"}: contract.ExitUsage,
	} {
		var exit *command.Error
		err := all.notConnected(t.Context(), info, why)
		testkit.Check(t, errors.As(err, &exit) && exit.Code == want &&
			strings.Contains(exit.Text, "is not live") == (want == contract.ExitUsage && exit.Text != "no"),
			"%v: %v, want exit %d", why, err, want)
		if want == contract.ExitEnvironment {
			testkit.Includes(t, "what can be done", exit.Text, "arbiter halt aaaa1111 --state-dir "+root)
		}
	}
	testkit.Works(t, "closed", <-closed)
	for _, status := range []string{"", contract.StatusFailed} {
		info.Live, info.Empty, info.Status = false, false, status
		testkit.Includes(t, "what can be done", all.notLive(info).Error(),
			"arbiter --resume --session aaaa1111 --state-dir "+root+" continues it")
	}
}

// answering is a run of which only the status can be asked.
type answering struct {
	control.Service
	ending bool
	asked  chan bool
}

func (a answering) Status() any {
	a.asked <- true
	return LiveStatus{Ending: a.ending}
}

// TestWhoPlaysARun: a run that is ending is waited for, unless it counts, and so is a process that does not listen yet.
func TestWhoPlaysARun(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	all, id := &Runs{store, root}, "aaaa1111-plays"
	run := testkit.Must(store.Create(journal.Meta{Run: id, CWD: root}, journal.Options{}))(t)
	info := testkit.Must(FindLive(all, id))(t)
	asked := make(chan bool, 4)
	serve := func(ending bool) *control.Server {
		address := &net.UnixAddr{Name: all.SocketOf(id, control.SocketName), Net: "unix"}
		l := testkit.Must(net.ListenUnix("unix", address))(t)
		return control.Serve(l, answering{ending: ending, asked: asked}, slog.New(slog.DiscardHandler))
	}
	listens := make(chan *control.Server, 1)
	go func() { listens <- serve(false) }()
	testkit.Check(t, all.Plays(t.Context(), info, false), "a process that begins does not count")
	(<-listens).Close()
	defer serve(true).Close()
	testkit.Check(t, all.Plays(t.Context(), info, true), "one that ends does not count")
	for len(asked) > 0 {
		<-asked
	}
	goesOn := make(chan bool)
	go func() { goesOn <- all.Plays(t.Context(), info, false) }()
	<-asked // otherwise it might have ended before
	testkit.OK(t, run.Close())
	testkit.Check(t, !<-goesOn, "one that ends goes on")
	testkit.Check(t, !all.Plays(t.Context(), info, true), "one that has ended counts")
}

// TestFollow shows that a log is followed from its beginning to the end of its run, across a rotation.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	add := func(text string) { testkit.Append(t, path, text) }
	var out strings.Builder
	var want string
	round := 0
	alive := func() bool { // each check is followed by a copy
		testkit.Same(t, fmt.Sprintf("round %d", round), want, out.String())
		round++
		switch round {
		case 1: // there is no log yet
			return true
		case 3: // two lines, and a rotation between them
			add("a\n")
			testkit.OK(t, os.Rename(path, path+".1"))
			want += "a\n"
		}
		text := fmt.Sprintf("round %d\n", round)
		add(text)
		want += text
		return round < 5
	}
	testkit.OK(t, FollowCrashes(t.Context(), dir, &out, alive))
	testkit.Check(t, out.String() == want && round == 5, "%d rounds: %q instead of %q", round, out.String(), want)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := FollowCrashes(ctx, dir, &out, func() bool { return true })
	testkit.Check(t, errors.Is(err, context.Canceled), "%v", err)
}
