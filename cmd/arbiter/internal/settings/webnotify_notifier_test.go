package settings

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const run = "4be1c2d0-0000-4000-8000-000000000000"

// post is a request that a server received.
type post struct {
	path, title, kind, body string
}

// server accepts notifications, and answers with a status.
func server(t *testing.T, status int) (url string, posts chan post) {
	t.Helper()
	posts = make(chan post, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		testkit.Check(t, err == nil, "%v", err)
		title, err := new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
		testkit.Check(t, err == nil, "%v", err)
		posts <- post{r.URL.Path, title, r.Header.Get("Content-Type"), string(raw)}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, posts
}

func item(id string, kind supervisor.InboxKind, agent string) supervisor.InboxItem {
	return supervisor.InboxItem{ID: id, Kind: kind, Agent: agent, Text: "func secret() {}",
		Request: &contract.PermissionRequest{Input: []byte(`{"command":"cat secret"}`)}}
}

// TestOncePerTransition: each new item is posted once, and so is the end. No text of an agent is posted.
func TestOncePerTransition(t *testing.T) {
	url, posts := server(t, 200)
	n := NewNotifier(
		NotifierOptions{Targets: []Target{"webhook:" + Target(url) + "/hook", "ntfy:" + Target(url) + "/topic"}, Run: run,
			Failed: func(err error) { t.Error(err) }},
	)
	question, first := item("question-1", supervisor.InboxQuestion, "arbiter"), item("p1", supervisor.InboxPermission,
		"orch-1")
	optional := item("recovery-orch-1", supervisor.InboxRecovery, "orch-1")
	optional.Optional = true
	title := "Größe\x1b[2J\n" + strings.Repeat("x", 200)
	for _, items := range [][]supervisor.InboxItem{
		nil, {question}, {question}, {question, first, optional},
		{question, first, item("p2", supervisor.InboxPermission, "orch-1")},
		{}, {item("p3", supervisor.InboxPermission, "orch-1")},
	} {
		n.Look(title, items)
	}
	n.End(title, contract.StatusNeedsInput)
	n.Close(time.Minute)
	n.Look(title, []supervisor.InboxItem{question}) // this has no effect any more
	close(posts)
	var hooks, topics []string
	for p := range posts {
		testkit.Check(t, !strings.Contains(p.body+p.title, "secret"), "it tells what an agent wrote: %+v", p)
		if p.path == "/topic" {
			testkit.Check(t, strings.HasPrefix(p.title, "Größe x") && len(p.title) <= 2*titleMost,
				"the title is %q", p.title)
			topics = append(topics, p.body)
			continue
		}
		var m message
		err := json.Unmarshal([]byte(p.body), &m)
		testkit.Check(t, err == nil && m.Run == run && m.Version == 1 && !m.Time.IsZero() &&
			p.kind == "application/json", "%s: %v", p.body, err)
		hooks = append(hooks, strings.TrimSpace(m.Event+" "+m.Kind+" "+m.Agent+" "+m.Status))
	}
	want := "waits question arbiter|waits permission orch-1|waits permission orch-1|ended   needs_input"
	testkit.Same(t, "the webhook got", want, strings.Join(hooks, "|"))
	want = "arbiter has a question (run 4be1c2d0)|orch-1 asks for a permission (run 4be1c2d0)|" +
		"orch-1 asks for a permission (run 4be1c2d0)|The run has ended: needs input (run 4be1c2d0)"
	testkit.Same(t, "the topic got", want, strings.Join(topics, "|"))
}

// TestFailuresAreReportedOnce: a failure is reported once, without the secret parts of the URL. Other targets still
// get their notifications.
func TestFailuresAreReportedOnce(t *testing.T) {
	bad, refused := server(t, 500)
	moved, redirected := server(t, 302)
	gone := httptest.NewServer(nil)
	gone.Close()
	good, posts := server(t, 204)
	var received []string
	n := NewNotifier(
		NotifierOptions{Run: run, Failed: func(err error) { received = append(received, err.Error()) }, Targets: []Target{
			"webhook:" + Target(bad) + "/SECRET", "webhook:" + Target(moved),
			"ntfy:" + Target(gone.URL) + "/SECRET?k=SECRET", "webhook:" + Target(good),
		}},
	)
	for _, id := range []string{"question-1", "question-2"} {
		n.Look("x", []supervisor.InboxItem{item(id, supervisor.InboxQuestion, "arbiter")})
	}
	n.Close(time.Minute)
	testkit.Check(t, len(received) == 3 && !strings.Contains(strings.Join(received, " "), "SECRET"),
		"told: %q", received)
	testkit.Check(t, len(refused) == 2 && len(redirected) == 2 && len(posts) == 2,
		"%d, %d and %d posts", len(refused), len(redirected), len(posts))
}

// TestSlowServer: a server that does not answer delays no caller, and closing takes bounded time.
func TestSlowServer(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	failed := make(chan error, 1)
	targets := []Target{Target("webhook:" + s.URL)}
	n := NewNotifier(NotifierOptions{Targets: targets, Run: run, Failed: func(err error) { failed <- err }})
	n.End("x", "complete")
	<-asked
	for range 2 * queued {
		n.End("x", "complete")
	}
	n.Close(time.Millisecond)
	if err := <-failed; !errors.Is(err, http.ErrHandlerTimeout) && !strings.Contains(err.Error(), "cancel") {
		t.Errorf("it failed with %v", err)
	}
}

// TestParse: a target without a valid URL is refused.
func TestParse(t *testing.T) {
	for word, fine := range map[string]bool{
		"ntfy:https://ntfy.sh/topic": true, "webhook:http://127.0.0.1:8080/x?y=z": true, "ntfy:topic": false,
		"webhook:": false, "webhook:ftp://a/b": false, "webhook:file:///etc/passwd": false, "ntfy:http://": false,
	} {
		_, err := ParseTarget(word)
		testkit.Check(t, IsTarget(word) && (err == nil) == fine, "%s: %v", word, err)
	}
	testkit.Check(t, !IsTarget("bell"), "bell is a target")
}

// TestNamesWithHosts: the name of an agent on another host includes the host.
func TestNamesWithHosts(t *testing.T) {
	m := message{Event: waits, Run: run, Kind: string(supervisor.InboxQuestion), Agent: "orch-2", Host: "box"}
	got := m.text()
	testkit.Check(t, strings.HasPrefix(got, "orch-2 @box has a question"), "it says %q", got)
}
