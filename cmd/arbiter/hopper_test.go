package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hopper is a minimal agent: it answers every message at once with a verdict, and measures how long the next
// message takes to come. It runs in place of the CLI, so the result is the cost of arbiter and its bridge.
//
// It reads the number of hops to make from the file `hops` in its working directory, and writes the measured
// times to `hop-times` there, in nanoseconds. While there is a file `wait`, hops do not count. If there is a
// file `stay`, the Arbiter asks the human after the hops, and the run stays live.
func hopper() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.329 (Claude Code)")
		return
	}
	text, err := os.ReadFile("hops")
	if err != nil {
		panic(err)
	}
	hops, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	_, err = os.Stat("stay")
	h := &hopping{left: hops, stays: err == nil, out: os.Stdout, orchestrator: !slices.Contains(os.Args, "--tools")}
	_, err = os.Stat("wait")
	h.waits = err == nil
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		h.line(line)
	}
}

type hopping struct {
	left         int
	orchestrator bool
	stays        bool
	waits        bool // hops do not count yet
	out          io.Writer
	wrote        time.Time
	asked        bool // the last verdict was a question, which goes through the Arbiter
	times        []time.Duration
	session      string
}

func (h *hopping) line(line []byte) {
	received := time.Now()
	var m struct {
		Type    string `json:"type"`
		UUID    string `json:"uuid"`
		ID      string `json:"request_id"`
		Request struct {
			Subtype string `json:"subtype"`
		} `json:"request"`
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Type {
	case "control_request":
		payload := "{}"
		if m.Request.Subtype == "get_context_usage" {
			payload = `{"totalTokens":10,"maxTokens":200000,"rawMaxTokens":200000,"isAutoCompactEnabled":false}`
		}
		fmt.Fprintf(h.out, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`+
			"\n", m.ID, payload)
	case "user":
		if !h.wrote.IsZero() && !h.asked && !h.waits {
			h.times = append(h.times, received.Sub(h.wrote))
		}
		h.answer(m.UUID, m.Message.Content)
	}
}

// lastQuestion is the Arbiter's question after the hops of a run that stays live.
const lastQuestion = "Proceed?"

const hopDocument = `{"accomplished":["hops"],"remaining":[],"key_context":"none","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}`

// answer ends the turn: the Arbiter spawns once, answers questions, and completes
// when it reads anything else; the Orchestrator reports until its hops are made.
func (h *hopping) answer(uuid, text string) {
	verdict := `{"decision":"COMPLETE","message":"done","reason":"r","summary":"s"}`
	h.asked = false
	switch {
	case h.orchestrator && h.left > 0 && h.left%50 == 0:
		// Every 50th verdict is a question, as an Orchestrator asks: the work log is sent along with it.
		h.left--
		h.asked = true
		verdict = `{"expects_response":true,"kind":"question","message":"on?"}`
	case h.orchestrator && h.left > 0:
		if h.waits {
			_, err := os.Stat("wait")
			h.waits = err == nil
		} else {
			h.left--
		}
		verdict = `{"expects_response":false,"kind":"progress","message":"on"}`
	case h.orchestrator:
		h.save()
		verdict = `{"expects_response":true,"kind":"done","message":"done","handoff":` + hopDocument + `}`
	case !h.orchestrator && strings.Contains(text, "kind: question"):
		verdict = `{"decision":"ADDRESS_ORCHESTRATOR","to":"orch-1","message":"on","reason":"r"}`
	case h.stays && !h.wrote.IsZero():
		verdict = `{"decision":"ADDRESS_HUMAN","message":"` + lastQuestion + `","reason":"r"}`
	case h.wrote.IsZero():
		verdict = `{"decision":"SELECT_MODE","mode":"developer","message":"hop","reason":"r"}`
	}
	fmt.Fprintf(h.out, `{"type":"command_lifecycle","command_uuid":%q,"state":"started"}`+"\n", uuid)
	// A turn with a tool is work: after three reports without any the supervisor lets an Orchestrator wait.
	fmt.Fprintf(h.out, `{"type":"assistant","message":{"id":"msg-%[1]s","role":"assistant","model":"m","content":[`+
		`{"type":"tool_use","id":"use-%[1]s","name":"Read","input":{"file_path":"hops"}}],"usage":{"input_tokens":1,`+
		`"output_tokens":1}},"parent_tool_use_id":null,"session_id":%[2]q}`+"\n"+`{"type":"user","message":{"role":"user",`+
		`"content":[{"type":"tool_result","tool_use_id":"use-%[1]s","content":"1"}]},"parent_tool_use_id":null,`+
		`"session_id":%[2]q}`+"\n", uuid, h.session)
	line := fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"","structured_output":%s,"user_message_uuid":%q,"user_message_uuids":[%q],"total_cost_usd":0,"usage":{"input_tokens":1,"output_tokens":1},"session_id":%q,"terminal_reason":"completed"}`+"\n",
		verdict, uuid, uuid, h.session)
	h.wrote = time.Now()
	_, _ = io.WriteString(h.out, line)
}

func (h *hopping) save() {
	var b strings.Builder
	for _, d := range h.times {
		fmt.Fprintln(&b, d.Nanoseconds())
	}
	if err := os.WriteFile("hop-times", []byte(b.String()), 0o600); err != nil {
		panic(err)
	}
}

// echo sends every line straight back: the minimal cost of a pipe.
func echo() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
}
