package verdict

import "encoding/json"

// documentSchema is the hand-off document, nested in both verdicts.
const documentSchema = `{
 "type": "object",
 "description": "The hand-off document. Write for a successor who sees the files but not this conversation.",
 "properties": {
  "accomplished": {"type": "array", "items": {"type": "string"}, "description": "What was finished, one item each."},
  "remaining": {"type": "array", "items": {"type": "string"}, "description": "What is left to do, in order; empty when nothing is."},
  "key_context": {"type": "string", "description": "What a successor must know and cannot see in the files."},
  "decisions": {
   "type": "array",
   "description": "Choices made, with the alternative that lost.",
   "items": {
    "type": "object",
    "properties": {
     "choice": {"type": "string", "description": "What was chosen."},
     "rejected": {"type": "string", "description": "What was not."},
     "why": {"type": "string", "description": "The reason."}
    },
    "required": ["choice", "rejected", "why"]
   }
  },
  "constraints": {"type": "array", "items": {"type": "string"}, "description": "Limits and requirements that still hold, word for word, with their numbers."},
  "files": {"type": "array", "items": {"type": "string"}, "description": "Paths created or changed."},
  "proofs": {
   "type": "array",
   "description": "Statements about the result, each with the command that proves it. The supervisor runs the commands itself, with the permission rules and a time limit; keep them quick and free of side effects. Each command must fail if its claim is false.",
   "items": {
    "type": "object",
    "properties": {
     "claim": {"type": "string", "description": "The statement. Leave out what you did not see proven in this session."},
     "command": {"type": "string", "description": "The command, runnable from the working directory. A claim without one stays unverified."},
     "expect": {"type": "string", "description": "What must come of it: exit N where the exit code is not 0, and in quotation marks or backquotes each text that the end of its output must contain."}
    },
    "required": ["claim"]
   }
  },
  "open_questions": {"type": "array", "items": {"type": "string"}, "description": "What nobody has answered yet."},
  "steps": {
   "type": "array",
   "description": "Only if you were asked for a plan: its steps, in order.",
   "items": {
    "type": "object",
    "properties": {
     "text": {"type": "string", "description": "What is done in the step, and how its end is proven."},
     "mode": {"type": "string", "description": "The name of the agent that does it, one of those you were told of."}
    },
    "required": ["text"]
   }
  }
 },
 "required": ["accomplished", "remaining", "key_context"]
}`

const arbiterSchema = `{
 "type": "object",
 "properties": {
  "decision": {
   "type": "string",
   "description": "One of: ADDRESS_HUMAN: message goes to the human. ADDRESS_ORCHESTRATOR: message goes to the Orchestrator named in to. SELECT_MODE: an Orchestrator is summoned under mode, message is its brief. CONTINUE: you wait while somebody works. RETRY: the Orchestrator named in to tries again, message says what to change. COMPLETE: the task is done and proven. HANDOFF: your document, only after a message of kind renewal."
  },
  "message": {"type": "string", "description": "What is said to the one addressed. Never empty."},
  "reason": {"type": "string", "description": "Why this decision, in one sentence; it is recorded, not sent."},
  "to": {"type": "string", "description": "The Orchestrator's id, such as orch-2. Needed for ADDRESS_ORCHESTRATOR and RETRY. With CONTINUE, message goes there."},
  "mode": {"type": "string", "description": "The mode to summon under. Needed for SELECT_MODE."},
  "summary": {"type": "string", "description": "With COMPLETE: what was reached, what proves it, what is open or was assumed."},
  "lessons": {
   "type": "array",
   "description": "With COMPLETE: what runs in this directory should know from now on, such as how its tests are run. Few, each true beyond this task; none is fine.",
   "items": {
    "type": "object",
    "properties": {
     "text": {"type": "string", "description": "The lesson, in a sentence."},
     "evidence": {"type": "string", "description": "What showed it."}
    },
    "required": ["text", "evidence"]
   }
  },
  "assumed": {"type": "array", "items": {"type": "string"}, "description": "What you assumed that would change the result and that the human has not settled. If a human is present, it is asked before anybody works on it."},
  "report": {"type": "boolean", "description": "With ADDRESS_HUMAN: true if message needs no answer, false if it is a question, which stays open until the human answers. If it is left out, only an answer to an interjection that asks nothing is a report."},
  "handoff": ` + documentSchema + `
 },
 "required": ["decision", "message"]
}`

const orchestratorSchema = `{
 "type": "object",
 "properties": {
  "expects_response": {"type": "boolean", "description": "Follows from kind: true for question, handoff and done, else false. With introduction, true lets you wait for the Arbiter's answer."},
  "message": {"type": "string", "description": "What you say to the Arbiter. Never empty."},
  "kind": {
   "type": "string",
   "description": "One of: introduction: how you understood the brief. question: you cannot go on without an answer. progress: a report. handoff: work is left for a successor. done: the brief is fulfilled. handoff and done need the document in handoff."
  },
  "handoff": ` + documentSchema + `
 },
 "required": ["message", "kind"]
}`

// ArbiterSchema is the JSON Schema of [Arbiter].
func ArbiterSchema() json.RawMessage { return json.RawMessage(arbiterSchema) }

// OrchestratorSchema is the JSON Schema of [Orchestrator].
func OrchestratorSchema() json.RawMessage { return json.RawMessage(orchestratorSchema) }
