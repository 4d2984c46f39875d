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
    "required": ["choice", "rejected", "why"],
    "additionalProperties": false
   }
  },
  "constraints": {"type": "array", "items": {"type": "string"}, "description": "Limits and requirements that still hold, word for word, with their numbers."},
  "files": {"type": "array", "items": {"type": "string"}, "description": "Paths created or changed."},
  "checks": {
   "type": "array",
   "description": "Commands that prove the work. The supervisor runs them itself, with the permission rules and a time limit; keep them quick and free of side effects.",
   "items": {
    "type": "object",
    "properties": {
     "command": {"type": "string", "description": "The command, runnable from the working directory."},
     "expect": {"type": "string", "description": "What must come of it: exit N where the exit code is not 0, and in quotation marks or backquotes each text that the end of its output must hold."}
    },
    "required": ["command", "expect"],
    "additionalProperties": false
   }
  },
  "open_questions": {"type": "array", "items": {"type": "string"}, "description": "What nobody has answered yet."},
  "claims": {
   "type": "array",
   "description": "Statements about the result, each on its own.",
   "items": {
    "type": "object",
    "properties": {
     "claim": {"type": "string", "description": "The statement."},
     "verified": {"type": "boolean", "description": "True only if you saw the proof yourself in this session."},
     "check": {"type": "integer", "description": "Number of the check above that proves it, counted from 1. The supervisor runs it: a claim without one stays unverified."}
    },
    "required": ["claim", "verified"],
    "additionalProperties": false
   }
  },
  "steps": {
   "type": "array",
   "description": "Only if you were asked for a plan: its steps, in order.",
   "items": {
    "type": "object",
    "properties": {
     "text": {"type": "string", "description": "What is done in the step, and how its end is proven."},
     "mode": {"type": "string", "description": "The name of the agent that does it, one of those you were told of."}
    },
    "required": ["text"],
    "additionalProperties": false
   }
  }
 },
 "required": ["accomplished", "remaining", "key_context"],
 "additionalProperties": false
}`

const arbiterSchema = `{
 "type": "object",
 "properties": {
  "decision": {
   "type": "string",
   "enum": ["ADDRESS_HUMAN", "ADDRESS_ORCHESTRATOR", "SELECT_MODE", "CONTINUE", "RETRY", "COMPLETE", "HANDOFF"],
   "description": "ADDRESS_HUMAN: message goes to the human. ADDRESS_ORCHESTRATOR: message goes to the Orchestrator named in to. SELECT_MODE: an Orchestrator is summoned under mode, message is its brief. CONTINUE: with to, message goes there and its work goes on; without to, you wait while somebody works. RETRY: the Orchestrator named in to tries again, message says what to change. COMPLETE: the task is done and you have checked it. HANDOFF: only when you are asked to hand off yourself."
  },
  "message": {"type": "string", "description": "What is said to the one addressed. Never empty."},
  "reason": {"type": "string", "description": "Why this decision, in one or two sentences; it is recorded, not sent."},
  "to": {"type": "string", "description": "The agent's id, such as orch-2. Needed for ADDRESS_ORCHESTRATOR and RETRY, optional for CONTINUE."},
  "mode": {"type": "string", "description": "The mode to summon under. Needed for SELECT_MODE."},
  "summary": {"type": "string", "description": "What was achieved and how you verified it. Needed for COMPLETE."},
  "lessons": {
   "type": "array",
   "description": "With COMPLETE: what runs in this directory should know from now on, such as how its tests are run. Few, each true beyond this task; none is fine.",
   "items": {
    "type": "object",
    "properties": {
     "text": {"type": "string", "description": "The lesson, in a sentence."},
     "evidence": {"type": "string", "description": "What showed it."}
    },
    "required": ["text", "evidence"],
    "additionalProperties": false
   }
  },
  "report": {"type": "boolean", "description": "With ADDRESS_HUMAN: true if message needs no answer, false if it is a question, which stays open until the human answers. Without it, only what answers a word that the human threw in, and asks nothing, is a report."},
  "handoff": ` + documentSchema + `
 },
 "required": ["decision", "message", "reason"],
 "additionalProperties": false
}`

const orchestratorSchema = `{
 "type": "object",
 "properties": {
  "expects_response": {"type": "boolean", "description": "True if you need the Arbiter's word before you go on. False sends message to the work log and you are told to continue."},
  "message": {"type": "string", "description": "What you say to the Arbiter. Never empty."},
  "kind": {
   "type": "string",
   "enum": ["introduction", "question", "progress", "handoff", "done"],
   "description": "introduction: who you are and how you understood the brief. question: you need an answer. progress: a report. handoff: work is left and a successor has to take it up. done: the brief is fulfilled. question, handoff and done need expects_response true; handoff and done need the handoff document."
  },
  "handoff": ` + documentSchema + `
 },
 "required": ["expects_response", "message", "kind"],
 "additionalProperties": false
}`

// ArbiterSchema is the JSON Schema of [Arbiter].
func ArbiterSchema() json.RawMessage { return json.RawMessage(arbiterSchema) }

// OrchestratorSchema is the JSON Schema of [Orchestrator].
func OrchestratorSchema() json.RawMessage { return json.RawMessage(orchestratorSchema) }
