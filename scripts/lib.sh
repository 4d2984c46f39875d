# shellcheck shell=bash
# Shared by the scripts here; sourced, not run. Sets root, tools, claude_version
# and claude.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
tools="${ARBITER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/arbiter}"
claude_version="$(tr -d '[:space:]' <"$root/scripts/claude.version")"
claude="$tools/claude/$claude_version/node_modules/.bin/claude"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# version_of_claude runs the CLI with nothing of ours in its environment.
version_of_claude() {
  local home out status=0
  home="$(mktemp -d)"
  out="$(env -i HOME="$home" PATH="$PATH" DISABLE_AUTOUPDATER=1 "$1" --version </dev/null 2>&1)" || status=$?
  rm -rf "$home"
  printf '%s\n' "$out"
  return "$status"
}

# claude_works says whether the pinned CLI is there and is what it should be.
claude_works() {
  local out
  [ -x "$claude" ] && out="$(version_of_claude "$claude")" && [ "${out%% *}" = "$claude_version" ]
}
