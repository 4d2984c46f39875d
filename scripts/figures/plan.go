package main

// run is one group of benchmarks: go test -bench '^Benchmark(bench)$' ./pkg.
type run struct {
	pkg, bench    string
	rounds, brief string // -benchtime, and that of a quick run; "": not in it
	rows          []row
}

// plan is what to run, in this order, and which figure goes into which cell: what a user would notice, in at
// most twenty rows.
var plan = []run{
	{"cmd/arbiter", "Hop", "2000x", "300x", []row{
		{what: "one routed hop, p50", ours: "Hop hop-p50-ns",
			base: "Hop echo-p50-ns", than: "a line echoed over pipes", most: 1e6},
		{what: "… p99", ours: "Hop hop-p99-ns",
			base: "Hop echo-p99-ns", than: "a line echoed over pipes", most: 5e6},
	}},
	{"cmd/arbiter", "HopWithClients", "4000x", "400x", []row{
		{what: "… with ten clients, some of them stopped, p99", ours: "HopWithClients clients-p99-ns",
			base: "HopWithClients alone-p99-ns", than: "no client", times: 1.2},
	}},
	{"cmd/arbiter", "Scale", "1x", "", []row{
		{what: "… with 100 agents at work, p50", ours: "Scale/agents=100 hop-p50-ns",
			base: "Scale/agents=2 hop-p50-ns", than: "2 agents", times: 1.5},
		{what: "memory of arbiter and bridge with 100 agents (PSS)", ours: "Scale/agents=100 together-MB",
			base: "Scale/agents=2 together-MB", than: "2 agents", most: 80},
	}},
	{"cmd/arbiter", "ToolCall", "800x", "100x", []row{
		{what: "a tool call, from one result to the next", ours: "ToolCall through-ms",
			base: "ToolCall bare-ms", than: "the bare CLI", times: 1.15},
		{what: "… processor time of arbiter and bridge", ours: "ToolCall ms-ours",
			base: "ToolCall ms-cli", than: "the CLI", most: 5},
	}},
	{"cmd/arbiter", "ManyRuns", "20x", "3x", []row{
		{what: "`arbiter status` with 1,000 runs, processor time", ours: "ManyRuns status-cpu-1000-ms",
			base: "ManyRuns status-cpu-1-ms", than: "with one run", most: 50},
	}},
	{"cmd/arbiter", "Start", "15x", "3x", []row{
		{what: "`arbiter --json`, until a model has answered the task", ours: "Start task-taken-ms",
			base: "Start bare-cli-ms", than: "the bare CLI", times: 1.5},
	}},
	{"cmd/arbiter", "FirstPaint", "20x", "3x", []row{
		{what: "the screen: exec to the first frame, p50", ours: "FirstPaint p50-ms",
			base: "FirstPaint plain-tview-ms", than: "a plain tview program", most: 50},
	}},
	{"cmd/arbiter", "OpenLive", "20x", "3x", []row{
		{what: "… of a live run of 60,000 events, until its end is shown", ours: "OpenLive p50-ms",
			base: "OpenLive plain-tview-ms", than: "a plain tview program", most: 200},
	}},
	{"tui", "KeyToFrame", "500x", "100x", []row{
		{what: "a key until its frame, p99", ours: "KeyToFrame/events=0 p99-ms",
			base: "KeyToFrame/events=0 plain-tview-p99-ms", than: "plain tview", most: 16},
		{what: "… with 10,000 events a second", ours: "KeyToFrame/events=10000 p99-ms",
			base: "KeyToFrame/events=10000 plain-tview-p99-ms", than: "plain tview", most: 16},
	}},
	{"cmd/arbiter", "KeyInFlood", "3x", "1x", []row{
		{what: "… in the whole program, three agents that never pause, worst of 49", ours: "KeyInFlood flood-worst-ms",
			base: "KeyInFlood rest-worst-ms", than: "at rest", most: 100},
	}},
	{"cmd/arbiter", "Idle", "1x", "", []row{
		{what: "the screen while it waits for a human, share of a processor", ours: "Idle/human %-of-a-cpu",
			base: "Idle/plain-tview %-of-a-cpu", than: "a plain tview program", most: 0.5},
	}},
	{"tui", "Resumed", "1x", "", []row{
		{what: "a run of 1,000,000 events resumed, until its end is on the screen", ours: "Resumed first-frame-ms",
			base: "Resumed told-again-ms", than: "emitting all events again", most: 100},
	}},
	{"supervisor", "ResumeMillion", "1x", "", []row{
		{what: "… until the run continues", ours: "ResumeMillion resume-ms",
			base: "ResumeMillion replay-ms", than: "a replay of its inputs", most: 100},
	}},
	{"bridge/proctree", "ArbiterKilled", "20x", "3x", []row{
		{what: "arbiter killed, until nothing is alive, p99", ours: "ArbiterKilled/never p99-ms",
			base: "ArbiterKilled/never plain-p99-ms", than: "one plain process", most: 2000},
	}},
	{"internal/workspace", "Snapshot", "5x", "", []row{
		{what: "a snapshot of 100,000 files, ten of them changed", ours: "Snapshot snapshot-ms",
			base: "Snapshot status-ms", than: "git status", times: 1.5},
	}},
	{"cmd/arbiter", "Hook", "30x", "10x", []row{
		{what: "`arbiter hook`, start to end", ours: "Hook told-ms",
			base: "Hook true-ms", than: "/bin/true", times: 8},
	}},
}
