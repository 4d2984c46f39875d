package clients

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const (
	maxRuns = 20
	// maxReport bounds the part of a report that a model gets, in bytes: about 6,000 tokens.
	maxReport = 24 << 10
)

type startIn struct {
	Task string `json:"task" jsonschema:"what is to be done, in full: the run does not see this conversation"`
	Dir  string `json:"dir,omitempty" jsonschema:"the directory to work in; absent: where the server was started"`
}

// startRun is the tool start_run. The run continues if the call is cancelled.
func (s *MCPServer) startRun(
	ctx context.Context,
	_ *mcp.CallToolRequest,
	in startIn,
) (*mcp.CallToolResult, MCPView, error) {
	dir, err := s.place(in.Dir)
	if err != nil {
		return nil, MCPView{}, err
	}
	run, err := s.o.Runs.Start(context.WithoutCancel(ctx), Start{Dir: dir, Task: in.Task, Args: s.o.Args})
	if err != nil {
		return nil, MCPView{}, err
	}
	return nil, MCPView{Run: run, Status: working, Next: "Call wait with this run."}, nil
}

type runIn struct {
	Run string `json:"run" jsonschema:"the run's id, or the beginning of it"`
}

// resumeRun is the tool resume_run. The run keeps its settings.
func (s *MCPServer) resumeRun(
	ctx context.Context,
	_ *mcp.CallToolRequest,
	in runIn,
) (*mcp.CallToolResult, MCPView, error) {
	info, err := s.find(in.Run)
	if err == nil && !info.Live && !info.Unfinished {
		err = fmt.Errorf("run %s has ended, and there is nothing to resume: report shows what it did",
			shortID(info.Run))
	}
	if err == nil {
		err = s.o.Runs.Resume(context.WithoutCancel(ctx), info.Run, nil)
	}
	if err != nil {
		return nil, MCPView{}, err
	}
	return nil, MCPView{Run: info.Run, Status: working, Next: "Call wait with this run."}, nil
}

func (s *MCPServer) status(
	ctx context.Context,
	_ *mcp.CallToolRequest,
	in runIn,
) (*mcp.CallToolResult, MCPView, error) {
	info, err := s.find(in.Run)
	if err != nil {
		return nil, MCPView{}, err
	}
	v, err := s.view(ctx, info.Run)
	return nil, v, err
}

// view returns the view of a run, with its last news.
func (s *MCPServer) view(ctx context.Context, run string) (MCPView, error) {
	n, err := s.openNews(ctx, run, 0)
	if err != nil {
		return MCPView{}, err
	}
	defer n.log.Close()
	n.last = lastNews
	for {
		if err := n.read(ctx); err != nil {
			return MCPView{}, err
		}
		c, st, err := s.o.Runs.Dial(ctx, run)
		if err == nil {
			c.Close()
			v := s.liveView(st)
			n.fill(&v)
			return v, nil
		}
		v, ended, err := s.ended(ctx, run, n, err)
		if ended || err != nil {
			return v, err
		}
	}
}

// lastView returns the view of a run that no process plays.
func (s *MCPServer) lastView(ctx context.Context, info journal.Info, n *news) (MCPView, error) {
	if err := n.read(ctx); err != nil {
		return MCPView{}, err
	}
	result, err := n.result(ctx)
	if err != nil {
		return MCPView{}, err
	}
	v := endedView(info, result)
	n.fill(&v)
	return v, nil
}

// RunLine is a run in a list.
type RunLine struct {
	Run        string    `json:"run"`
	Live       bool      `json:"live"`
	Resumable  bool      `json:"resumable"`
	Status     string    `json:"status,omitempty" jsonschema:"how it ended, if it has"`
	Task       string    `json:"task"`
	Dir        string    `json:"dir"`
	Began      time.Time `json:"began"`
	LastActive time.Time `json:"last_active"`
}

// RunList is a list of runs.
type RunList struct {
	Runs []RunLine `json:"runs"`
	More int       `json:"more,omitempty" jsonschema:"how many older runs are left out"`
}

func (s *MCPServer) listRuns(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, RunList, error) {
	list, err := s.o.Runs.List()
	if err != nil {
		return nil, RunList{}, err
	}
	out := RunList{Runs: []RunLine{}}
	for _, i := range list {
		if i.Empty || !s.shows(i) {
			continue
		}
		if len(out.Runs) == maxRuns {
			out.More++
			continue
		}
		out.Runs = append(out.Runs, RunLine{Run: i.Run, Live: i.Live, Resumable: !i.Live && i.Unfinished && !i.Damaged,
			Status: i.Status, Task: sanitize.Line(i.Title, mcpMaxLine), Dir: i.CWD, Began: i.Began,
			LastActive: i.LastActive})
	}
	return nil, out, nil
}

type reportIn struct {
	Run    string `json:"run" jsonschema:"the run's id, or the beginning of it"`
	Format string `json:"format,omitempty" jsonschema:"markdown (the default) or json"`
}

// ReportText is a report of a run.
type ReportText struct {
	Run    string `json:"run"`
	Format string `json:"format"`
	Text   string `json:"text"`
	Cut    string `json:"cut,omitempty" jsonschema:"the text is cut; this command prints all of it"`
}

func (s *MCPServer) report(ctx context.Context, _ *mcp.CallToolRequest, in reportIn) (*mcp.CallToolResult, ReportText,
	error) {
	info, err := s.find(in.Run)
	if err != nil {
		return nil, ReportText{}, err
	}
	out := ReportText{Run: info.Run, Format: "markdown"}
	switch in.Format {
	case "", "markdown":
	case "json":
		out.Format = "json"
	default:
		return nil, out, fmt.Errorf("format %.20q: use markdown or json", in.Format)
	}
	var b bytes.Buffer
	if err := s.o.Runs.Report(ctx, info.Run, out.Format, &b); err != nil {
		return nil, out, err
	}
	out.Text = clip(b.String(), maxReport)
	if len(out.Text) < b.Len() {
		out.Cut = s.o.Typed("report", info.Run, "--format", out.Format)
	}
	return nil, out, nil
}

// cancel is the tool cancel. It waits for the end of the run.
func (s *MCPServer) cancel(
	ctx context.Context,
	_ *mcp.CallToolRequest,
	in runIn,
) (*mcp.CallToolResult, MCPView, error) {
	info, err := s.find(in.Run)
	if err == nil && info.Live {
		err = s.cancelLive(ctx, info.Run, processTimeout)
	}
	if err != nil {
		return nil, MCPView{}, err
	}
	v, err := s.view(ctx, info.Run)
	return nil, v, err
}

// cancelLive cancels a live run, and waits at most within for the end of its process.
func (s *MCPServer) cancelLive(ctx context.Context, run string, within time.Duration) error {
	l, err := s.dial(ctx, run)
	if err != nil {
		return err
	}
	defer l.Close()
	answer, taken, err := l.send(ctx, contract.Cancel{})
	if err == nil && !taken {
		err = fmt.Errorf("run %s refused to end: %s", shortID(run), answer)
	}
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, within)
	defer done()
	for l.pause(ctx) {
	}
	return nil
}
