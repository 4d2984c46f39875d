package main

// run is one group of benchmarks: go test -bench '^Benchmark(bench)$' ./pkg.
type run struct {
	pkg, bench    string
	rounds, brief string // -benchtime, and that of a quick look; "": left out of it
	rows          []row
}

// plan is what is run, in this order, and which figure is which cell.
var plan = []run{
	{"cmd/arbiter", "Hop", "2000x", "300x", []row{
		{what: "one routed hop, p50", ours: "Hop hop-p50-ns", base: "Hop echo-p50-ns", than: "a line echoed over pipes", most: 1e6},
		{what: "one routed hop, p99", ours: "Hop hop-p99-ns", base: "Hop echo-p99-ns", than: "a line echoed over pipes"},
	}},
	{"cmd/arbiter", "Scale", "1x", "", []row{
		{what: "100 agents at work: a hop, p50", ours: "Scale/agents=100 hop-p50-ns", base: "Scale/agents=2 hop-p50-ns", than: "2 agents"},
		{what: "… p99", ours: "Scale/agents=100 hop-p99-ns", base: "Scale/agents=2 hop-p99-ns", than: "2 agents"},
		{what: "… memory of arbiter and bridge (PSS)", ours: "Scale/agents=100 together-MB", base: "Scale/agents=2 together-MB", than: "2 agents"},
		{what: "… for each agent more", ours: "Scale/agents=100 kB/agent"},
		{what: "… goroutines for each", ours: "Scale/agents=100 goroutines/agent"},
		{what: "… descriptors for each", ours: "Scale/agents=100 files/agent"},
		{what: "… a key until it is on the screen, p50", ours: "Scale/agents=100 key-p50-ms", base: "Scale/agents=2 key-p50-ms", than: "2 agents"},
		{what: "… worst of 49", ours: "Scale/agents=100 key-worst-ms", base: "Scale/agents=2 key-worst-ms", than: "2 agents"},
	}},
	{"cmd/arbiter", "Start", "15x", "3x", []row{
		{what: "`arbiter --json` to the first event", ours: "Start first-event-ms"},
		{what: "… until the task is taken up", ours: "Start task-taken-ms", base: "Start bare-cli-ms", than: "the bare CLI"},
	}},
	{"cmd/arbiter", "Memory", "1x", "1x", []row{
		{what: "memory of arbiter and bridge with 1 agent (PSS)", ours: "Memory/agents-1 together-MB"},
		{what: "… with 20", ours: "Memory/agents-20 together-MB", base: "Memory/agents-1 together-MB", than: "1 agent", most: 40},
	}},
	{"cmd/arbiter", "Accepted", "3000x", "500x", []row{
		{what: "commands accepted, one after the other", ours: "Accepted/window-1 accepted/s", base: "Accepted/window-1 plain/s", than: "append and fsync"},
		{what: "… 64 at a time", ours: "Accepted/window-64 accepted/s", base: "Accepted/window-64 plain/s", than: "append and fsync"},
		{what: "… p99 of one after the other", ours: "Accepted/window-1 p99-ms", base: "Accepted/window-1 plain-p99-ms", than: "append and fsync"},
	}},
	{"supervisor/journal", "Durable", "2x", "1x", []row{
		{what: "journal records that are durable, 1 writer", ours: "Durable/producers=1 msgs/s", base: "Durable/producers=1 plain-msgs/s", than: "append and fsync"},
		{what: "… 8 writers", ours: "Durable/producers=8 msgs/s", base: "Durable/producers=8 plain-msgs/s", than: "append and fsync"},
		{what: "… 64 writers", ours: "Durable/producers=64 msgs/s", base: "Durable/producers=64 plain-msgs/s", than: "append and fsync"},
	}},
	{"supervisor/journal", "Append", "1s", "500x", []row{
		{what: "a batch of one record in the journal, in memory", ours: "Append ns/op"},
	}},
	{"supervisor/journal", "Read100MB", "5x", "1x", []row{
		{what: "the records of a journal of 100 MB", ours: "Read100MB ms", base: "Read100MB plain-ms", than: "reading the file"},
	}},
	{"cmd/arbiter", "Resume100MB", "5x", "1x", []row{
		{what: "a run that recorded 100 MB taken up", ours: "Resume100MB resume-ms", base: "Resume100MB read-ms", than: "reading its journal"},
	}},
	{"cmd/arbiter", "Stop20", "5x", "1x", []row{
		{what: "the orderly end of a run with 20 agents", ours: "Stop20 stop-20-ms", base: "Stop20 stop-1-ms", than: "1 agent"},
	}},
	{"bridge/proctree", "ArbiterKilled", "20x", "3x", []row{
		{what: "arbiter killed, until nothing is alive, p99", ours: "ArbiterKilled/never p99-ms", most: 2000},
	}},
	{"transcript", "Newest", "20x", "5x", []row{
		{what: "the newest reading of a transcript of 1 MB", ours: "Newest/1MB ns/op", base: "Newest/1MB read-all-ms", than: "read all, walk back"},
		{what: "… of 100 MB", ours: "Newest/100MB ns/op", base: "Newest/100MB read-all-ms", than: "read all, walk back", times: 0.001},
	}},
	{"transcript", "Lines", "1s", "1x", []row{
		{what: "a transcript in lines", ours: "Lines/mixed/splitter MB/s", base: "Lines/mixed/splitter wc-MB/s", than: "wc -l", least: 0.33},
	}},
	{"transcript", "Decode", "1s", "20x", []row{
		{what: "a transcript's line as a record", ours: "Decode/typical ns/line", base: "Decode/typical json-ns/line", than: "encoding/json", times: 0.2},
	}},
	{"transcript", "FollowLatency|FollowThroughput", "300x", "", []row{
		{what: "from an append until it is read, p99", ours: "FollowLatency/notified p99_µs", base: "FollowLatency/polling1s p99_µs", than: "polling each second", most: 10_000},
		{what: "a transcript followed as it is written", ours: "FollowThroughput/written MB/s", base: "FollowThroughput/there MB/s", than: "one that is there"},
	}},
	{"bridge/claude", "AppendToContext", "500x", "100x", []row{
		{what: "from an append to the `context` event, p99", ours: "AppendToContext p99-µs", most: 10_000},
	}},
	{"bridge/claude", "JudgedToolCall", "10x", "2x", []row{
		{what: "a tool call of the stand-in that is judged", ours: "JudgedToolCall ns/call", base: "JudgedToolCall unjudged-ns/call", than: "one that is not"},
	}},
	{"bridge/claude", "Decode|Result", "1s", "1000x", []row{
		{what: "a result frame decoded", ours: "Decode/result.json ns/op"},
		{what: "an assistant frame decoded", ours: "Decode/assistant.json ns/op"},
		{what: "a piece of a stream decoded", ours: "Decode/stream_event.json ns/op"},
		{what: "a turn's end, all that follows from its frame", ours: "Result ns/op", base: "Decode/result.json ns/op", than: "decoding it"},
	}},
	{"bridge", "Judge|Bridge|EventCodec", "1s", "2000x", []row{
		{what: "a call judged through the bridge", ours: "Judge ns/op", base: "Judge permission-ns/op", than: "a permission asked for"},
		{what: "a request through the bridge", ours: "Bridge/request ns/op", base: "Bridge/request raw-ns/op", than: "a raw echo"},
		{what: "an event through the bridge", ours: "Bridge/event ns/op", base: "Bridge/event raw-ns/op", than: "a raw echo"},
		{what: "… of a thousand at a time", ours: "Bridge/event_stream ns/op", base: "Bridge/event ns/op", than: "one at a time"},
		{what: "an event decoded", ours: "EventCodec/decode ns/op", base: "EventCodec/plain_unmarshal ns/op", than: "encoding/json"},
		{what: "an event encoded", ours: "EventCodec/encode ns/op", base: "EventCodec/plain_unmarshal ns/op", than: "encoding/json decodes it"},
	}},
	{"supervisor/runloop", "Judge|Masked", "1s", "500x", []row{
		{what: "a call judged by the rules", ours: "Judge ns/op"},
		{what: "a tool's output of 2 KB masked", ours: "Masked/2000 ns/op", base: "Masked/2000/recorded ns/op", than: "recording it"},
		{what: "… of 20 KB", ours: "Masked/20000 ns/op", base: "Masked/20000/recorded ns/op", than: "recording it"},
	}},
	{"supervisor", "Apply|Fold|EncodeInput", "1s", "500x", []row{
		{what: "a tool call applied", ours: "Apply/tool_use ns/op"},
		{what: "… after fifty hand-offs", ours: "Apply/tool_use,_late ns/op", base: "Apply/tool_use ns/op", than: "none"},
		{what: "an assistant's words applied", ours: "Apply/assistant ns/op"},
		{what: "a journal folded to a state", ours: "Fold/state MB/s", base: "Fold/baseline=json.Valid MB/s", than: "json.Valid"},
		{what: "… to its events", ours: "Fold/events MB/s", base: "Fold/baseline=json.Valid MB/s", than: "json.Valid"},
		{what: "an assistant's words encoded for the journal", ours: "EncodeInput/assistant ns/op"},
	}},
	{"supervisor", "ApplyEvents", "20x", "2x", []row{
		{what: "events of work applied", ours: "ApplyEvents/narration events/s", base: "ApplyEvents/narration decode-events/s", than: "decoding them"},
		{what: "turns with decisions applied", ours: "ApplyEvents/turns events/s", base: "ApplyEvents/turns decode-events/s", than: "decoding them"},
	}},
	{"supervisor", "Snapshot", "50x", "2x", []row{
		{what: "the state of a run encoded for a snapshot", ours: "Snapshot/encode ns/op", base: "Snapshot/baseline ns/op", than: "a look at its bytes"},
		{what: "… decoded", ours: "Snapshot/decode ns/op", base: "Snapshot/baseline ns/op", than: "a look at its bytes"},
	}},
	{"supervisor", "ResumeMillion", "1x", "", []row{
		{what: "a run of 1,000,000 events taken up", ours: "ResumeMillion resume-ms", base: "ResumeMillion replay-ms", than: "a replay of its inputs"},
	}},
	{"supervisor/policy", "Decide", "0.2s", "200x", []row{
		{what: "a permission decided by 1,000 rules: an edit", ours: "Decide/mixed/rules=1000/Edit ns/op", base: "Decide/mixed/rules=1000/Edit plain-ns/op", than: "comparing texts", most: 200_000},
		{what: "… a command line", ours: "Decide/mixed/rules=1000/Bash ns/op", base: "Decide/mixed/rules=1000/Bash plain-ns/op", than: "comparing texts", most: 200_000},
		{what: "… the same by 1 rule", ours: "Decide/mixed/rules=1/Bash ns/op"},
	}},
	{"supervisor/policy", "DecideBash|DecidePath", "1s", "500x", []row{
		{what: "a command line that is hostile, by 1,000 rules", ours: "DecideBash/hostile ns/op", base: "DecideBash/plain ns/op", than: "a plain one"},
		{what: "a path, by 1,000 rules", ours: "DecidePath ns/op"},
	}},
	{"supervisor/agents", "Allows", "1s", "500x", []row{{what: "a call held against an agent file's tools", ours: "Allows ns/op"}}},
	{"supervisor/trust", "Inventory", "20x", "3x", []row{
		{what: "what of a workspace is trusted, read and hashed", ours: "Inventory ns/op", base: "Inventory plain-ns/op", than: "reading the files"},
	}},
	{"internal/workspace", "Snapshot", "5x", "", []row{
		{what: "a snapshot of 100,000 files, ten of them changed", ours: "Snapshot snapshot-ms", base: "Snapshot status-ms", than: "git status", times: 1.5},
	}},
	{"supervisor/machine", "Table|Next", "1s", "50x", []row{
		{what: "a move of the task machine", ours: "Table ns/move", base: "Table map-ns/move", than: "a map without guards"},
	}},
	{"supervisor/decision", "Select|Evaluate|Add|Key|Cut", "1s", "500x", []row{
		{what: "a selection's input over 10,000 executions", ours: "Select/of10000 ns/op", base: "Select/of20 ns/op", than: "over 20"},
		{what: "… by the specification's algorithm", ours: "Select/of10000/specification ns/op", base: "Select/of10000 ns/op", than: "ours"},
		{what: "an evaluation's input", ours: "Evaluate ns/op"},
		{what: "an execution added to 10,000", ours: "Add/to10000 ns/op", base: "Add/to20 ns/op", than: "to 20"},
		{what: "an input's hash", ours: "Key ns/op"},
		{what: "an output cut to 2,000", ours: "Cut/2000 ns/op", base: "Cut/300 ns/op", than: "to 300"},
	}},
	{"supervisor/decider", "Decide|Rules|ParseDecision", "0.5s", "100x", []row{
		{what: "a decision by rules", ours: "Rules ns/decision", base: "Rules unmarshal-ns/decision", than: "reading its input"},
		{what: "… by the cache", ours: "Decide/hit_in_memory ns/op", base: "Decide/asking ns/op", than: "a model that answers at once"},
		{what: "an answer parsed", ours: "ParseDecision ns/op"},
	}},
	{"supervisor/envelope", "Render", "1s", "500x", []row{{what: "an envelope of 10 KB", ours: "Render ns/op"}}},
	{"supervisor/prompts", "Select", "1s", "100x", []row{{what: "a prompt for a selection", ours: "Select ns/op"}}},
	{"supervisor/contract", "EncodeLine", "1s", "500x", []row{{what: "an event as a line of NDJSON", ours: "EncodeLine ns/op"}}},
	{"sanitize", "RedactInsistent", "5x", "1x", []row{
		{what: "secrets sought where they seem to begin everywhere, a byte of 400 KB", ours: "RedactInsistent long-ns/byte", base: "RedactInsistent short-ns/byte", than: "of 20 KB", times: 10},
	}},
	{"sanitize", "Text|Line|Redact", "1s", "200x", []row{
		{what: "plain text made fit for a terminal", ours: "Text/ascii MB/s", base: "Text/ascii/copy MB/s", than: "a copy"},
		{what: "text with escape sequences", ours: "Text/ansi MB/s", base: "Text/ansi/copy MB/s", than: "a copy"},
		{what: "secrets masked in a log", ours: "Redact MB/s", base: "Text/ascii/copy MB/s", than: "a copy"},
		{what: "one line made fit", ours: "Line ns/op"},
	}},
	{"bridge/sandbox", "Plain|Sandboxed|Trial", "20x", "3x", []row{
		{what: "a process in the sandbox", ours: "Sandboxed ns/op", base: "Plain ns/op", than: "a plain one"},
		{what: "the sandbox's trial", ours: "Trial ns/op", base: "Sandboxed ns/op", than: "one process in it"},
	}},
	{"bridge/proctree", "Look|StraysNone|Probe", "50x", "5x", []row{
		{what: "all processes looked at", ours: "Look ns/op"},
		{what: "a search for strays that finds none", ours: "StraysNone ns/op", base: "Look ns/op", than: "the look"},
		{what: "a PID namespace tried", ours: "Probe ns/op"},
	}},
	{"cmd/arbiter", "Hook", "30x", "10x", []row{
		{what: "`arbiter hook`, start to end, with an answer", ours: "Hook told-ms", base: "Hook true-ms", than: "/bin/true"},
		{what: "… with nobody to ask", ours: "Hook silent-ms", base: "Hook true-ms", than: "/bin/true"},
	}},
	{"cmd/arbiter", "FirstPaint", "20x", "3x", []row{
		{what: "the screen: exec to the first frame, p50", ours: "FirstPaint p50-ms", base: "FirstPaint plain-tview-ms", than: "a plain tview program", most: 50},
	}},
	{"cmd/arbiter", "Idle", "1x", "", []row{
		{what: "the screen at rest, of a processor: idle", ours: "Idle/oracle %-of-a-cpu", most: 0.5},
		{what: "… a human is awaited", ours: "Idle/human %-of-a-cpu", most: 0.5},
		{what: "… an agent works", ours: "Idle/working %-of-a-cpu"},
		{what: "… a plain tview program", ours: "Idle/plain-tview %-of-a-cpu"},
	}},
	{"cmd/arbiter", "ResumeScreen", "3x", "1x", []row{
		{what: "a run of 100 MB taken up on the screen: it goes on", ours: "ResumeScreen goes-on-ms", base: "ResumeScreen fold-ms", than: "the fold alone"},
		{what: "… the conversation is shown", ours: "ResumeScreen conversation-ms", base: "ResumeScreen fold-ms", than: "the fold alone"},
	}},
	{"cmd/arbiter", "KeyInFlood", "3x", "1x", []row{
		{what: "a key until it is on the screen, three agents pouring, p50", ours: "KeyInFlood flood-p50-ms", base: "KeyInFlood rest-p50-ms", than: "at rest"},
		{what: "… worst of 49", ours: "KeyInFlood flood-worst-ms", base: "KeyInFlood rest-worst-ms", than: "at rest", most: 100},
	}},
	{"tui", "KeyToFrame", "500x", "100x", []row{
		{what: "a key until its frame, p99", ours: "KeyToFrame/events=0 p99-ms", base: "KeyToFrame/events=0 plain-tview-p99-ms", than: "plain tview", most: 16},
		{what: "… with 10,000 events a second", ours: "KeyToFrame/events=10000 p99-ms", base: "KeyToFrame/events=10000 plain-tview-p99-ms", than: "plain tview", most: 16},
	}},
	{"tui", "Resize", "1x", "", []row{
		{what: "a resize until its frame, amid 100,000 messages", ours: "Resize p50-ms", base: "Resize plain-tview-p50-ms", than: "plain tview"},
	}},
	{"tui", "Scrollback", "1x", "", []row{
		{what: "the heap with 1,000,000 messages", ours: "Scrollback MB-at-1,000,000", base: "Scrollback MB-at-100,000", than: "100,000 messages", times: 1.2},
	}},
	{"tui", "Resumed", "1x", "", []row{
		{what: "a run of 1,000,000 events taken up, until the frame that shows its end", ours: "Resumed first-frame-ms", base: "Resumed told-again-ms", than: "telling all of it again", most: 100},
		{what: "… the heap when all of it can be read", ours: "Resumed MB", base: "Resumed told-again-MB", than: "telling all of it again"},
	}},
	{"tui/history", "Add|Read|Recall", "0.2s", "", []row{
		{what: "an event kept for the screen", ours: "Add/work ns/event"},
		{what: "an event of the log read into the index", ours: "Recall ns/op", base: "Add/work ns/event", than: "one kept for the screen"},
		{what: "a result of 100 MB kept", ours: "Add/result_100MB ns/op", base: "Add/result_10KB ns/op", than: "one of 10 KB"},
		{what: "an entry in the midst of a million", ours: "Read/entry/in_the_middle/all ns/op", base: "Read/entry/near_the_end/all ns/op", than: "near the end"},
		{what: "a search through a million", ours: "Read/find/1M/ascii/all ns/op"},
	}},
	{"tui/markdown", "Hostile", "3x", "1x", []row{
		{what: "hostile Markdown, a byte of 32 KB", ours: "Hostile long-ns/byte", base: "Hostile short-ns/byte", than: "of 4 KB", times: 4},
	}},
	{"tui/markdown", "Markdown10KB|Highlight10KB|Diff1000Lines|Stream100KB|StreamDelta", "0.5s", "2x", []row{
		{what: "Markdown of 100 KB that streams, a delta", ours: "Stream100KB µs/delta", base: "Stream100KB anew-µs/delta", than: "laid out anew"},
		{what: "Markdown of 10 KB", ours: "Markdown10KB ns/op"},
		{what: "10 KB of Go highlighted", ours: "Highlight10KB ns/op"},
		{what: "a diff of 1,000 lines", ours: "Diff1000Lines ns/op"},
		{what: "a delta to a table of 13 KB", ours: "StreamDelta/table_of_13_KB ns/op"},
	}},
	{"tui/eventview", "Folded256KiB|Unfolded256KiB|FoldedWriteOf1MiB|FoldedMessageOf1MiB", "0.5s", "10x", []row{
		{what: "256 KB of output, folded", ours: "Folded256KiB ns/op", base: "Unfolded256KiB ns/op", than: "unfolded"},
		{what: "a Write of 1 MB, folded", ours: "FoldedWriteOf1MiB ns/op"},
		{what: "a message of 1 MB, folded", ours: "FoldedMessageOf1MiB ns/op"},
	}},
	{"tui/render", "Wrap", "1s", "100x", []row{{what: "a line of 10 KB wrapped", ours: "Wrap ns/op"}}},
	{"tui/listview", "Draw|PageUp|Flood|DrawHugeBlock", "0.5s", "20x", []row{
		{what: "a window of 1,000,000 blocks drawn", ours: "Draw/1000000 ns/op", base: "Draw/1000 ns/op", than: "of 1,000"},
		{what: "a page up in it", ours: "PageUp/1000000 ns/op", base: "PageUp/1000 ns/op", than: "of 1,000"},
		{what: "500 blocks between two frames", ours: "Flood/reading=false ns/op", base: "Draw/1000 ns/op", than: "none"},
		{what: "a block of 10,000 rows", ours: "DrawHugeBlock ns/op", base: "Draw/1000 ns/op", than: "blocks of 3"},
	}},
	{"tui/editor", "Key|Paste10MB|PickerFilter", "0.5s", "5x", []row{
		{what: "a key in 100 KB of lines, drawn", ours: "Key/100KB_of_lines ns/op", base: "Key/empty ns/op", than: "in nothing"},
		{what: "a paste of 10 MB", ours: "Paste10MB/clean ns/op"},
		{what: "5,000 paths filtered", ours: "PickerFilter ns/op"},
	}},
}
