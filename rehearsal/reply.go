package rehearsal

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
)

// reply is a rendered answer, ready to be written.
type reply struct {
	blocks     []outBlock
	stop       string // "" = by the blocks
	usage      transcript.Usage
	delay      time.Duration
	pause      time.Duration
	chunkDelay time.Duration
	headers    map[string]string
	fault      *fault
	faultText  string
}

// outBlock is one content block of an answer: text, thinking or tool_use.
type outBlock struct {
	kind  string
	text  string
	id    string
	name  string
	input json.RawMessage
}

func (r reply) stopReason() string {
	otherwise := "end_turn"
	if slices.ContainsFunc(r.blocks, func(b outBlock) bool { return b.kind == "tool_use" }) {
		otherwise = "tool_use"
	}
	return cmp.Or(r.stop, otherwise)
}

// reply renders the step. Parts that fail to render are reported and omitted or shortened: the play
// continues.
func (st *step) reply(s scope, p *part, c *call) (reply, []error) {
	var errs []error
	render := func(t *text) string {
		out, err := t.render(s)
		if err != nil {
			errs = append(errs, err)
		}
		return out
	}
	r := reply{stop: st.stopReason, delay: st.delay, pause: st.pause, chunkDelay: st.chunkDelay, headers: st.headers,
		fault: st.fault}
	if t := render(st.think); t != "" {
		r.blocks = append(r.blocks, outBlock{kind: "thinking", text: t})
	}
	if t := render(st.say); t != "" {
		r.blocks = append(r.blocks, outBlock{kind: "text", text: t})
	}
	for _, u := range st.use {
		input, err := renderInput(u.input, s)
		if err != nil {
			errs = append(errs, err)
		}
		r.blocks = append(r.blocks, outBlock{kind: "tool_use", id: newID("toolu_"), name: u.tool, input: input})
	}
	if st.fault != nil {
		r.faultText = cmp.Or(render(st.fault.message), "Rehearsed failure.")
	}
	r.usage = p.account(c)
	errs = append(errs, st.usage.override(&r.usage, s)...)
	if r.usage.Output == 0 {
		r.usage.Output = r.size()/bytesPerToken + 1
	}
	if st.fault.answers() {
		p.context, p.bytes = r.usage.Context(), c.size
	}
	return r, errs
}

func renderInput(in map[string]tree, s scope) (json.RawMessage, error) {
	v, err := renderTree(in, s)
	if err != nil {
		v = map[string]any{}
	}
	b, merr := json.Marshal(v)
	if merr != nil {
		return json.RawMessage("{}"), fmt.Errorf("write tool input: %w", merr)
	}
	return b, err
}

func (r reply) size() int {
	n := 0
	for _, b := range r.blocks {
		n += len(b.text) + len(b.name) + len(b.input)
	}
	return n
}

const bytesPerToken = 4

// account makes up the figures of a request: the context grows with the bytes of the conversation; earlier
// content is read from the cache, and new content is written to it. A conversation that became shorter was
// compacted.
func (p *part) account(c *call) transcript.Usage {
	grown := c.size
	base := 0
	if p.context > 0 && c.size >= p.bytes {
		grown, base = c.size-p.bytes, p.context
	}
	return transcript.Usage{Input: 3, CacheRead: base, CacheCreation: grown / bytesPerToken}
}

// override replaces made-up figures by those of the scenario. A context is claimed mostly as cache reads,
// which cost least.
func (u usage) override(f *transcript.Usage, s scope) []error {
	var errs []error
	set := func(dst *int, a *text) {
		if a == nil {
			return
		}
		n, err := a.renderAmount(s)
		if err != nil {
			errs = append(errs, err)
			return
		}
		*dst = n
	}
	set(&f.Input, u.input)
	set(&f.CacheRead, u.cacheRead)
	set(&f.CacheCreation, u.cacheCreation)
	set(&f.Output, u.output)
	if u.context != nil {
		total := f.Context()
		set(&total, u.context)
		f.Input = min(f.Input, total)
		f.CacheCreation = min(f.CacheCreation, total-f.Input)
		f.CacheRead = total - f.Input - f.CacheCreation
	}
	return errs
}

// newID makes an id that never repeats: the CLI merges messages of one id,
// and a resumed conversation holds ids of an earlier server.
func newID(prefix string) string { return prefix + "01" + rand.Text()[:22] }
