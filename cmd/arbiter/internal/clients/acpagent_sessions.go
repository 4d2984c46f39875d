package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// listed is the page size of a list of sessions.
const listed = 50

// newSession opens a session. Its run begins with the first prompt, so nothing is started here.
func (s *server) newSession(p sessionParams) (any, error) {
	if !filepath.IsAbs(p.CWD) {
		return nil, invalid("cwd %q is not absolute", p.CWD)
	}
	mode, err := s.Mode(p.CWD)
	if err != nil {
		return nil, invalid("%v", err)
	}
	open := s.open(uuid.NewString(), p.CWD)
	open.mode = mode
	s.logIgnoredServers(p)
	return sessionResult{SessionID: open.id, Modes: s.modeState(mode), ConfigOptions: s.options(mode)}, nil
}

// logIgnoredServers logs that the client's own MCP servers are ignored: the CLI uses those of its configuration.
func (s *server) logIgnoredServers(p sessionParams) {
	if len(p.MCPServers) > 0 {
		s.Log.Warn("acp: the client's MCP servers are not used: configure them in Claude Code",
			"count", len(p.MCPServers))
	}
}

// open registers a session. It closes a session that was open under the same id.
func (s *server) open(id, dir string) *session {
	s.mu.Lock()
	open := newSession(s, id, dir, s.can)
	before := s.sessions[id]
	s.sessions[id] = open
	s.mu.Unlock()
	if before != nil {
		before.leave()
	}
	return open
}

// openSession opens a run as a session, and shows its history if show is set. Later events follow.
func (s *server) openSession(p sessionParams, show bool) (any, error) {
	info, err := s.run(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.CWD != "" && !info.Rehearsal && !samePath(p.CWD, info.CWD) {
		return nil, invalid("run %s works in %s, not in %s", info.Run, info.CWD, p.CWD)
	}
	s.logIgnoredServers(p)
	open := s.open(info.Run, info.CWD)
	mode, err := s.Mode(info.CWD)
	if err != nil {
		mode = allModes[0].ID
	}
	open.mode, open.begun = mode, true
	if err := open.load(s.ctx, show); err != nil {
		return nil, err
	}
	mode = open.currentMode()
	open.start()
	return sessionResult{Modes: s.modeState(mode), ConfigOptions: s.options(mode)}, nil
}

// run finds the run of a session.
func (s *server) run(id string) (journal.Info, error) {
	notFound := &jsonrpc2.Error{Code: codeNotFound, Message: "there is no session " + sanitize.Line(id, 60)}
	if uuid.Validate(id) != nil {
		return journal.Info{}, notFound
	}
	info, err := s.Runs.Find(id)
	if err != nil || info.Run != id {
		return journal.Info{}, notFound
	}
	return info, nil
}

// list lists the runs, the most recently active first. The cursor is the number of runs already listed.
func (s *server) list(p sessionParams) (any, error) {
	all, err := s.Runs.List()
	if err != nil {
		return nil, err
	}
	from := 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return nil, invalid("%.20q is not a cursor of a list", p.Cursor)
		}
	}
	r := listResult{Sessions: []sessionInfo{}}
	n := 0
	for _, i := range all {
		if i.Empty || i.Damaged || i.CWD == "" || p.CWD != "" && !samePath(p.CWD, i.CWD) {
			continue
		}
		n++
		if n <= from {
			continue
		}
		if len(r.Sessions) == listed {
			r.NextCursor = strconv.Itoa(from + listed)
			break
		}
		r.Sessions = append(r.Sessions, sessionInfo{SessionID: i.Run, CWD: i.CWD,
			Title: sanitize.Line(i.Title, maxTitle), UpdatedAt: i.LastActive.UTC().Format(time.RFC3339)})
	}
	return r, nil
}

// closeSession stops the work of a session, as the protocol requires, and removes the session. The run remains.
func (s *server) closeSession(id string) (any, error) {
	open, agent, err := s.session(id)
	if err == nil && agent != "" {
		err = invalid("the session of an Orchestrator cannot be closed")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, commandTimeout)
	defer cancel()
	open.cancelPrompts()
	open.stopWork(ctx)
	s.mu.Lock()
	if s.sessions[open.id] == open {
		delete(s.sessions, open.id)
	}
	s.mu.Unlock()
	open.leave()
	return empty{}, nil
}

// setOption sets the only configuration option: the permission mode.
func (s *server) setOption(p sessionParams) (any, error) {
	var value string
	if p.ConfigID != optionID || json.Unmarshal(bytes.TrimSpace(p.Value), &value) != nil {
		return nil, invalid("there is no option %.60q with such a value", p.ConfigID)
	}
	if err := s.setMode(p.SessionID, value, false); err != nil {
		return nil, err
	}
	return struct {
		ConfigOptions []configOption `json:"configOptions"`
	}{s.options(value)}, nil
}

// setMode changes the permission mode of a session. The client is notified in the form (mode or option) that it did
// not use.
func (s *server) setMode(id, to string, byMode bool) error {
	open, agent, err := s.session(id)
	switch {
	case err != nil:
		return err
	case agent != "":
		return invalid("the permissions are those of the whole run: set them in its session")
	case !s.canChoose(to, open.currentMode()):
		return invalid("there is no permission mode %.40q", to)
	}
	ctx, cancel := context.WithTimeout(s.ctx, commandTimeout)
	defer cancel()
	if err := open.setMode(ctx, to); err != nil {
		return err
	}
	if byMode {
		s.send([]frame{{open.id, currentOptions{optionsChanged, s.options(to)}}})
	} else {
		s.send([]frame{{open.id, currentMode{modeChanged, to}}})
	}
	return nil
}

// samePath compares two directories after resolving symbolic links.
func samePath(a, b string) bool {
	resolve := func(p string) string {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
		return filepath.Clean(p)
	}
	return a == b || resolve(a) == resolve(b)
}
