package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// seeing is a play in which the Arbiter looks at the image it received.
var seeing = playOf(arbiter(nil, complete("Seen.")))

// aPicture writes an image file into a directory, and returns its contents.
func aPicture(t *testing.T, dir, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 48))))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	return b.Bytes()
}

// TestAnImageReachesTheModel: the model receives an image even if arbiter is killed once it has accepted the
// message, and the file is gone when the run is resumed. A message with a file that cannot be read is rejected.
func TestAnImageReachesTheModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		work := t.TempDir()
		picture := aPicture(t, work, "loom.png")
		s, model := hiredIn(t, p, seeing, work)
		s.sendAs("p", contract.Pause{})
		s.sendAs("no", contract.Say{Text: "Look.", Images: []string{"loom.txt"}})
		r := await(s, "the refusal", func(_ string, r contract.Rejected) bool { return r.Ref == "no" })
		testkit.Includes(t, "rejected", r.Message, filepath.Join(work, "loom.txt")+": it cannot be read: no such file")
		s.sendAs("look", contract.Say{Text: "What is this?", Images: []string{"loom.png"}})
		await(s, "the answer", func(_ string, a contract.Accepted) bool { return a.Ref == "look" })
		message := s.said("What is this?")
		testkit.Check(t, len(message.Images) == 1 && message.Images[0].Size() == "64×48 png" &&
			message.Images[0].Bytes == len(picture), "said %+v", message.Images)
		testkit.OK(t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGKILL))
		s.gone()
		testkit.OK(t, os.Remove(filepath.Join(work, "loom.png")))
		if !p.real { // exported runs contain their images
			archive := filepath.Join(t.TempDir(), "run.tar.gz")
			s.output(0, "sessions", "export", s.run(), "--output", archive)
			there := s.elsewhere(work)
			there.output(0, "sessions", "import", archive)
			shown := besideJSON[struct{ Log string }](there, "sessions", "show", s.run())
			got, err := os.ReadFile(filepath.Join(filepath.Dir(shown.Log), runstore.ImagesDir, message.Images[0].SHA256))
			testkit.Check(t, err == nil && bytes.Equal(got, picture), "the imported image: %v, %d bytes", err, len(got))
		}
		next := s.again(append([]string{"--resume"}, s.cmd.Args[1:]...)...)
		next.send(contract.Continue{})
		next.completes()
		requests := model.Requests()
		body := string(requests[len(requests)-1].Body)
		testkit.Check(t, strings.Count(body, base64.StdEncoding.EncodeToString(picture)) == 1 &&
			strings.Contains(body, `"media_type":"image/png"`) && strings.Contains(body, "64×48 png, "+work),
			"the request has no image:\n%.6000s", body)
	})
}

// curious is an MCP server with a tool that asks the human for a region. Its arguments are the versions of the protocol
// that it speaks: the older ones ask during the call, the newer ones with its result.
func curious() {
	server := mcp.NewServer(&mcp.Implementation{Name: "curious", Version: "1"},
		&mcp.ServerOptions{SupportedProtocolVersions: os.Args[1:]})
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys."},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, answered := r.Params.InputResponses["region"].(*mcp.ElicitResult)
			if !answered {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"region": &mcp.ElicitParams{
					Message: "Which region?", RequestedSchema: map[string]any{
						"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string"}},
						"required": []string{"region"}}}}}, nil, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
				Text: fmt.Sprintf("deployed: %s %v", res.Action, res.Content["region"])}}}, nil, nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var deploying = allowing([]string{"mcp__curious__deploy"},
	arbiter(append(summons("Deploy it."), on("It is (?P<what>.*)[.]", complete("{{.what}}")))),
	orchestrator("worker", "", []object{uses(call("mcp__curious__deploy", object{})),
		on("deployed. (?P<what>.*)", done("It is {{.what}}."))}))

// TestAnMCPServerAsks: what an MCP server wants to know waits in the human's inbox, and the human's answer reaches the
// server. An answer that does not fit is refused with what is asked for; a denial declines.
func TestAnMCPServerAsks(t *testing.T) {
	t.Parallel()
	server := testkit.Must(exec.LookPath("curious"))(t)
	for _, c := range []struct {
		version, behavior, message, want string
		long                             bool
	}{
		{version: "2025-06-18", behavior: bridge.Deny, want: "decline <nil>", long: true},
		{version: "2025-06-18", behavior: bridge.Allow, message: "eu-west", want: "accept eu-west"},
		{version: "2026-07-28", behavior: bridge.Allow, message: "eu-west", want: "accept eu-west", long: true},
		{version: "2026-07-28", behavior: bridge.Deny, want: "decline <nil>", long: true},
	} {
		for _, p := range players(t) {
			t.Run(c.behavior+" "+c.version+"/"+p.name, func(t *testing.T) {
				p.inside(t) // the stand-in has no MCP servers of the user
				if c.long {
					p.long(t)
				}
				t.Parallel()
				s, _ := hired(t, p, deploying, map[string]string{
					".mcp.json":             `{"mcpServers":{"curious":{"command":"` + server + `","args":["` + c.version + `"]}}}`,
					".claude/settings.json": `{"enableAllProjectMcpServers":true}`,
				}, "--trust", "--allow", "mcp__curious__deploy", "--task", "Deploy it")
				r := await[contract.PermissionRequest](s, "the question", nil)
				testkit.Need(t, r.Tool == bridge.ElicitTool && strings.Contains(string(r.Input), "Which region?"),
					"request %+v", r)
				list := s.waiting()
				testkit.Check(t, len(list) == 1 && list[0].Text == "Elicitation: Which region?", "inbox %+v", list)
				s.rejects(contract.Permit{Request: r.Request, Behavior: bridge.Allow}, "region (string)")
				s.accepts(contract.Permit{Request: r.Request, Behavior: c.behavior, Message: c.message})
				if r := s.finish(contract.ExitComplete); !strings.Contains(r.Summary, c.want) {
					t.Errorf("result %+v, want %q", r, c.want)
				}
			})
		}
	}
}

// TestASessionThatTheAPIRefuses: the API refuses what is in the session's history, so it refuses each request. Another
// session goes on with the supervisor's record.
func TestASessionThatTheAPIRefuses(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		const tooLarge = "messages.3: image exceeds 5 MB maximum"
		s, model := hired(t, p, playOf(
			actor("fresh", object{"role": "arbiter", "contains": "history is lost"}, nil, complete("s")),
			arbiter([]object{{"repeat": "forever", "fault": object{"status": 400, "message": tooLarge}}})),
			nil, "--task", "Look at it")
		s.completes()
		sessions := testkit.Each(collect[contract.Spawn](s), func(b contract.Spawn) string { return b.SessionID })
		testkit.Check(t, len(sessions) == 2 && sessions[0] != sessions[1], "sessions %q", sessions)
		testkit.Same(t, "requests: two of the refused session, two of the next, which insists", 4,
			len(model.Requests()))
	})
}

// TestNotifications: a run without a screen posts once that a question waits, that a permission request waits,
// and that it has ended. The posts contain no text that agents wrote. A server that fails is reported once,
// without its URL's secret, and the run continues.
func TestNotifications(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		posts := make(chan string, 100)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/SECRET" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			raw, err := io.ReadAll(r.Body)
			testkit.Check(t, err == nil, "%v", err)
			posts <- string(raw)
		}))
		t.Cleanup(server.Close)
		next := func() (m map[string]string) {
			t.Helper()
			select {
			case raw := <-posts:
				var all map[string]any
				testkit.OK(t, json.Unmarshal([]byte(raw), &all))
				testkit.Excludes(t, "it tells what an agent wrote", raw, "called", "echo", "dawn")
				m = map[string]string{}
				for name, value := range all {
					m[name], _ = value.(string)
				}
			case <-time.After(waitTimeout):
				t.Fatal("nothing is posted")
			}
			return m
		}

		h := newTestHome(t, who)
		ways := "off,ntfy:" + server.URL + "/SECRET,webhook:" + server.URL + "/hook"
		run := strings.TrimSpace(h.output(append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")),
			"--detach", "--notify", ways, "--task", "Make a thing")...))
		m := next()
		testkit.Check(t, m["event"] == "waits" && m["kind"] == "question" && m["agent"] == "arbiter" &&
			m["run"] == run && m["title"] == "Make a thing", "of the question it tells %v", m)
		h.output("send", "call it dawn")
		if m := next(); m["event"] != "waits" || m["kind"] != "permission" || m["agent"] != "orch-1" {
			t.Errorf("of the request it tells %v", m)
		}
		h.output("allow", "all")
		m = next()
		testkit.Check(t, m["event"] == "ended" && m["status"] == "complete", "of the end it tells %v", m)
		awaitGone(t, run)
		replayed := h.output("replay", run)
		testkit.Check(t, strings.Count(replayed, "403 Forbidden") == 1 && !strings.Contains(replayed, "SECRET") &&
			len(posts) == 0, "%d more posts; the run told\n%s", len(posts), replayed)
	})
}

// TestSound: sound is off by default. A player on PATH gets the file, and no secrets of the environment;
// without a player the bell rings instead.
func TestSound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if play, _ := openSound(settings.ScreenSettings{Sound: settings.SoundOff}); play != nil {
		t.Error("it is not off")
	}
	for bells, screen := range []settings.ScreenSettings{{Sound: settings.SoundOn,
		Notify: render.NotifyOptions{Bell: true}},
		{Sound: settings.SoundOn}} {
		play, silence := openSound(screen)
		testkit.Same(t, "bells", bells, play(tui.SoundAsked))
		testkit.Same(t, "bells at the end", 2, play(tui.SoundFailed))
		silence()
	}
	played := filepath.Join(dir, "heard")
	testkit.OK(t, syscall.Mkfifo(played, 0o600))
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	script := "#!/bin/sh\n{ printf '%s ' \"$1$ANTHROPIC_API_KEY\"; /usr/bin/head -c 4 \"$2\"; } >" + played + "\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "aplay"), []byte(script), 0o700))
	play, silence := openSound(settings.ScreenSettings{Sound: settings.SoundOn})
	defer silence()
	testkit.Same(t, "bells ring beside the player", 0, play(tui.SoundDone))
	if raw, err := os.ReadFile(played); err != nil || string(raw) != "-q RIFF" { // blocks until the player has run
		t.Errorf("the player heard %q, %v", raw, err)
	}
}

// TestTitleOncePerDay: the title is shown once a day, and the person's chosen role is kept.
func TestTitleOncePerDay(t *testing.T) {
	c := settings.Choices{StateDir: t.TempDir(), Screen: settings.ScreenSettings{Ritual: settings.RitualFull}}
	monday := time.Date(2026, 1, 5, 9, 0, 0, 0, time.Local)
	first := readRitual(c, monday)
	testkit.Need(t, first.Title && first.Scene && first.Human == view.RitualNobody, "at first: %+v", first)
	first.Remember(view.RitualSmith)
	again := readRitual(c, monday.Add(10*time.Hour))
	testkit.Check(t, !again.Title && again.Human == view.RitualSmith, "on the same day: %+v", again)
	next := readRitual(c, monday.Add(24*time.Hour))
	testkit.Check(t, next.Title && next.Human == view.RitualSmith, "on the next day: %+v", next)
	for value, scene := range map[string]bool{settings.RitualScene: true, settings.RitualOff: false} {
		c.Screen.Ritual = value
		r := readRitual(c, monday.Add(48*time.Hour))
		testkit.Check(t, !r.Title && r.Scene == scene, "%s: %+v", value, r)
	}
}
