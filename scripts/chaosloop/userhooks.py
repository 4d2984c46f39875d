"""A hook of the user's settings that, at random, refuses messages, and refuses or rewrites calls of Bash."""
import json, os, pathlib, random, sys

kept = pathlib.Path(sys.argv[1])
what = json.load(sys.stdin)


def note(kind, name):
    (kept / f"{kind}-{name}").touch()


if what["hook_event_name"] == "UserPromptSubmit":
    if len(list(kept.glob("message-*"))) < 3 and random.random() < 0.3:
        note("message", os.getpid())
        print("the hook of the chaos refuses this message", file=sys.stderr)
        sys.exit(2)
    sys.exit(0)
call, chance = what["tool_input"], random.random()
if call.get("description") in ("Begin", "Look", "Go on") and chance < 0.3:
    note("call", what["tool_use_id"])
    print("the hook of the chaos refuses this call", file=sys.stderr)
    sys.exit(2)
if chance < 0.7:
    note("rewritten", what["tool_use_id"])
    call["command"] = f": rewritten {what['tool_use_id']}; " + call["command"]
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": call}}))
