# shellcheck shell=bash
# Shared by the scripts here; sourced, not run. Sets root, tools, claude_version
# and claude.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
tools="${ARBITER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/arbiter}"
claude_version="$(tr -d '[:space:]' <"$root/scripts/claude.version")"
claude="$tools/claude/$claude_version/node_modules/.bin/claude"

export npm_config_update_notifier=false # no news of npm itself

# compile_as_released sets how go compiles for what this shell starts, so that nothing is compiled twice: as
# .goreleaser.yaml does, without cgo, which a program needs time to start with, and without the manual pages of
# urfave/cli, of which arbiter writes its own. Nothing names this directory: what another clone of the same source has
# compiled is taken from Go's cache. Nothing holds what a debugger reads, which takes a seventh of the compiler's time
# and a third of the linker's; stack traces do without it.
compile_as_released() {
  export CGO_ENABLED="${CGO_ENABLED:-0}"
  export GOFLAGS="-trimpath -tags=urfave_cli_no_docs -ldflags=-w -gcflags=all=-dwarf=false ${GOFLAGS:-}"
  # The compiler, the linker and the tests are short programs with small heaps: fewer collections take a tenth off them.
  export GOGC="${GOGC:-400}"
}

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# version_of_claude runs the CLI without the variables of this environment.
version_of_claude() {
  local home out status=0
  home="$(mktemp -d)"
  out="$(env -i HOME="$home" PATH="$PATH" DISABLE_AUTOUPDATER=1 "$1" --version </dev/null 2>&1)" || status=$?
  rm -rf "$home"
  printf '%s\n' "$out"
  return "$status"
}

# claude_works checks that there is a CLI and that it is what it should be: the pinned one, or
# that of another version.
claude_works() {
  local version="${1:-$claude_version}" out
  local program="$tools/claude/$version/node_modules/.bin/claude"
  [ -x "$program" ] && out="$(version_of_claude "$program")" && [ "${out%% *}" = "$version" ]
}

# install_claude installs a version of the CLI unless it is there. It builds the directory
# beside its place and moves it there, so that neither a broken download nor a second
# set-up leaves half of it.
install_claude() {
  local version="$1" place="$tools/claude/$1" fresh
  claude_works "$version" && return
  command -v npm >/dev/null 2>&1 || die "npm is not on PATH: it fetches the Claude Code CLI; install Node.js"
  mkdir -p "$tools/claude"
  fresh="$(mktemp -d "$tools/claude/.new.XXXXXX")"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$fresh'" EXIT
  say "installing @anthropic-ai/claude-code $version into $place"
  # npm may warn about install scripts and old engines; what counts is whether the
  # program runs, which is tried below.
  npm install --prefix "$fresh" --no-audit --no-fund --loglevel=error \
    "@anthropic-ai/claude-code@$version" </dev/null >&2 ||
    die "npm could not install the CLI; with a network (or a mirror in your npm configuration) try again"
  if ! version_of_claude "$fresh/node_modules/.bin/claude" >/dev/null; then
    # An npm that does not run install scripts leaves the program a stub.
    (cd "$fresh/node_modules/@anthropic-ai/claude-code" && node install.cjs </dev/null >&2) ||
      die "the CLI was installed and cannot be set up: npm may have been told to skip install scripts or optional packages"
  fi
  if ! claude_works "$version"; then # else another set-up was faster
    rm -rf "$place"
    mv "$fresh" "$place"
    chmod 755 "$place"
  fi
  rm -rf "$fresh"
  claude_works "$version" || die "the CLI in $place does not run: $(version_of_claude "$place/node_modules/.bin/claude" || true)"
}

# install_acp_clients installs the clients of the Agent Client Protocol that tests use, and the Node.js that runs them, in
# the versions that scripts/acp/package-lock.json pins: unless they are there, in the same way as install_claude.
install_acp_clients() {
  local place fresh
  place="$tools/acp/$(git hash-object --no-filters "$root/scripts/acp/package-lock.json")"
  [ -e "$place/node_modules/.bin/acpx" ] && return
  mkdir -p "$tools/acp"
  fresh="$(mktemp -d "$tools/acp/.new.XXXXXX")"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$fresh'" EXIT
  say "installing clients of the Agent Client Protocol into $place"
  cp "$root/scripts/acp/package.json" "$root/scripts/acp/package-lock.json" "$fresh"
  # Not npm ci: it refuses a lock file that was written where other systems' packages were missing.
  npm install --prefix "$fresh" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null >&2 ||
    die "npm could not install the clients; with a network (or a mirror in your npm configuration) try again"
  if [ ! -e "$place/node_modules/.bin/acpx" ]; then # else another set-up was faster
    rm -rf "$place"
    mv "$fresh" "$place"
  fi
  rm -rf "$fresh"
}

# makes_place prints where the agents of other makes are that long tests play with, in the versions that
# scripts/makes.versions pins: a directory for each, and one for the Node.js that runs them.
makes_place() { printf '%s\n' "$tools/makes/$(git hash-object --no-filters "$root/scripts/makes.versions")"; }

# install_makes installs them unless they are there, in the same way as install_claude.
install_makes() {
  local name package fresh makes
  makes="$(makes_place)"
  [ -e "$makes" ] && return
  mkdir -p "$tools/makes"
  fresh="$(mktemp -d "$tools/makes/.new.XXXXXX")"
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$fresh'" EXIT
  while read -r name package; do
    say "installing $package into $makes"
    mkdir "$fresh/$name"
    npm install --prefix "$fresh/$name" --no-audit --no-fund --loglevel=error "$package" </dev/null >&2 ||
      die "npm could not install $package; with a network (or a mirror in your npm configuration) try again"
  done <"$root/scripts/makes.versions"
  [ -e "$makes" ] || mv "$fresh" "$makes" # else another set-up was faster
  rm -rf "$fresh"
}
