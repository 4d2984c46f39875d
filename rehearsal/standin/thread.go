package standin

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// synthetic is the model of assistant frames that no model made.
const synthetic = "<synthetic>"

// thread is a conversation with a model: the session's own, or a subagent's.
type thread struct {
	s    *session
	hist *history
	tr   *transcript
	sub  *subagent // nil on the main thread
	turn *turn     // the turn that runs
	// refills is the business of the goroutine that runs the turns.
	refills refills
	dropped int // tokens that compactions have taken away
}

// emit shows a message frame, marked with whose it is.
func (t *thread) emit(o obj) {
	switch {
	case o["type"] == "system":
	case t.sub != nil:
		t.sub.mark(o)
	default:
		o["parent_tool_use_id"] = nil
	}
	t.s.emit(o)
}

func (t *thread) model() string {
	if t.sub != nil && t.sub.model != "" && t.sub.model != "inherit" {
		return resolveModel(t.sub.model)
	}
	return t.s.currentModel()
}

// environment tells a new conversation where it is, as a message of role system.
func (t *thread) environment() {
	t.systemText("environment", fmt.Sprintf("# Environment\nYou have been invoked in the following environment: \n"+
		" - Primary working directory: %s\n - Platform: %s\n - Shell: bash\n\nToday's date is %s.",
		t.s.cwd, runtime.GOOS, time.Now().Format(time.DateOnly)), obj{})
}

// request is the next request to the model.
func (t *thread) request() modelRequest {
	r := modelRequest{
		model: strings.TrimSuffix(t.model(), "[1m]"), effort: t.s.effort(), system: t.s.system(t.sub),
		tools: specs(t.toolset()), messages: t.hist.messages(), session: t.s.id,
	}
	if t.sub != nil {
		r.agent = t.sub.id
	}
	return r
}

// converse calls the model and runs its tools until the turn is over.
func (t *thread) converse(ctx context.Context) ending {
	for {
		if end := t.before(ctx); end != nil {
			return *end
		}
		run := newToolRun(ctx, t)
		l := &listener{t: t, run: run, begun: time.Now()}
		r := t.request()
		if t.s.partialMessages && t.sub == nil {
			t.emit(obj{"type": "system", "subtype": "status", "status": "requesting"})
		}
		a, err := t.s.api.call(ctx, r, l)
		l.record(a)
		if err == nil { // booked when the call ends, while its tools still run
			t.account(r.model, a, time.Since(l.begun))
		}
		t.hookContext(run.finish())
		var end *ending
		switch {
		case ctx.Err() != nil:
			end = t.cutOff(context.Cause(ctx), l, run.count() > 0)
			if run.count() == 0 {
				l.closeStream()
			}
		case err != nil:
			end = t.apiFailure(ctx, err, r.model)
		default:
			end = t.after(ctx, a, run.count())
		}
		if end != nil {
			return *end
		}
	}
}

// before checks what can keep the model from being called at all.
func (t *thread) before(ctx context.Context) *ending {
	s := t.s
	if t.sub != nil {
		return nil
	}
	if end := s.overBudget(); end != nil {
		return end
	}
	last := s.ledger.last()
	if last == nil {
		return nil
	}
	filled := last.context() + last.Output + t.hist.unread()
	switch w := s.window(); {
	case w.auto && filled >= w.threshold():
		if t.refills.tooMany() {
			return t.thrashing()
		}
		if t.compact(ctx, "auto", filled) {
			t.refills.compacted()
		}
	case !w.auto && filled >= w.size:
		t.showAPIError(&apiError{local: true}, "Prompt is too long")
		return &ending{reason: "blocking_limit", isError: true, text: "Prompt is too long", stop: "stop_sequence"}
	}
	return nil
}

// thrashing ends a turn whose context is full again right after each compaction.
func (t *thread) thrashing() *ending {
	const text = "Autocompact is thrashing: the context refilled to the limit within 3 turns of the previous compact, 3 times in a row. " +
		"What is read at a time is too large for the context window. Read in smaller chunks."
	e := &apiError{local: true}
	t.showAPIError(e, text)
	return &ending{reason: "rapid_refill_breaker", isError: true, apiClass: "autocompact_thrashing", text: text, stop: "stop_sequence"}
}

func (s *session) overBudget() *ending {
	if s.maxBudget <= 0 || s.ledger.spent() < s.maxBudget {
		return nil
	}
	return &ending{subtype: "error_max_budget_usd", reason: "budget_exhausted", isError: true,
		errors: []string{fmt.Sprintf("Reached maximum budget ($%v)", s.maxBudget)}}
}

// account books a finished call.
func (t *thread) account(model string, a *answer, took time.Duration) {
	t.s.ledger.add(model, a.usage, t.sub == nil, took)
	t.refills.called()
	if t.sub != nil {
		t.sub.used(a.usage)
	} else {
		t.turn.addUsage(a.usage)
	}
}

// after decides what an answer means for the turn; nil: the model is called again.
func (t *thread) after(ctx context.Context, a *answer, tools int) *ending {
	if tools == 0 {
		return t.answered(ctx, a)
	}
	if t.sub != nil {
		return nil
	}
	s := t.s
	v := t.turn.verdictState()
	switch {
	case len(v.accepted) > 0:
		if t.stopHooks(ctx, a) {
			return nil
		}
		return &ending{reason: "completed", stop: a.stopReason, text: string(v.accepted)}
	case v.refusals >= maxVerdictAttempts:
		return &ending{subtype: "error_max_structured_output_retries", reason: "structured_output_retry_exhausted", isError: true, stop: a.stopReason,
			errors: []string{fmt.Sprintf("Failed to provide valid structured output after %d attempts — last StructuredOutput error: %s", v.refusals, v.lastRefusal)}}
	}
	if end := s.overBudget(); end != nil {
		end.stop = a.stopReason
		return end
	}
	t.fold(ctx)
	return nil
}

// maxVerdictAttempts is how many invalid verdicts a turn survives.
const maxVerdictAttempts = 5

const enforceText = "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."

// answered handles an answer without tool calls: the model thinks it is done.
func (t *thread) answered(ctx context.Context, a *answer) *ending {
	text := a.text()
	if a.stopReason == "max_tokens" || a.stopReason == "model_context_window_exceeded" {
		t.inject("Output token limit hit. Resume directly — no apology, no recap of what you were doing.")
		return nil
	}
	// The enforcement comes before the hooks' word, and stands beside it.
	enforced := t.sub == nil && t.s.verdictSchema() != nil && t.turn.enforceOnce()
	if enforced {
		t.inject(enforceText)
	}
	on := t.stopHooks(ctx, a)
	if enforced {
		t.turn.setStopActive()
	}
	if on || enforced {
		return nil
	}
	return &ending{reason: "completed", stop: a.stopReason, text: text}
}

// stopHooks asks the Stop (or SubagentStop) hooks; on means the model goes on.
func (t *thread) stopHooks(ctx context.Context, a *answer) (on bool) {
	event := "Stop"
	extra := obj{"stop_hook_active": t.turn.stopActive(), "background_tasks": []obj{}, "session_crons": []obj{}}
	if text := a.text(); text != "" {
		extra["last_assistant_message"] = text
	}
	if t.sub != nil {
		event = "SubagentStop"
		extra["agent_transcript_path"], extra["stop_hook_active"] = t.tr.path, false
	}
	as := t.hook(ctx, event, "", extra)
	if reason, ok := as.block(); ok {
		t.turn.setStopActive()
		t.inject(event + " hook feedback:\n" + reason)
		return true
	}
	if cs := as.contexts(); len(cs) > 0 {
		t.turn.setStopActive()
		t.inject(event + " hook feedback:\n" + strings.Join(cs, "\n"))
		return true
	}
	return false
}

// inject puts a synthetic user message into the conversation.
func (t *thread) inject(text string) {
	frame := obj{"type": "user", "uuid": newUUID(), "timestamp": now(), "isSynthetic": true,
		"message": obj{"role": "user", "content": []obj{{"type": "text", "text": text}}}}
	t.emit(frame)
	if t.sub == nil {
		t.turn.countUser()
	}
	t.hist.addText("user", text)
	t.tr.link(obj{"type": "user", "uuid": frame["uuid"], "isMeta": true, "promptId": t.s.promptID(),
		"message": obj{"role": "user", "content": text}})
}

// text joins the answer's text blocks.
func (a *answer) text() string { return message{blocks: a.blocks}.text() }
