#compdef arbiter
# Completion of arbiter for zsh. The program answers each time, so this file knows no
# command and no flag. To load it in every shell, into a directory of $fpath:
#
#   arbiter completion zsh > "${fpath[1]}/_arbiter"
#
# or, after compinit, in ~/.zshrc: source <(arbiter completion zsh)

_arbiter() {
  local program=${(Q)words[1]} line kind=
  local -a offered
  program=${program/#\~\//$HOME/}
  while IFS= read -r line; do
    case $line in
      :*) kind=${line#:} ;;
      *) offered+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <("$program" __complete zsh "${words[1,CURRENT-1]} $PREFIX" 2>/dev/null </dev/null)
  (( $#offered )) && _describe -V arbiter offered
  [[ -n $kind && $PREFIX == --*=* ]] && compset -P '*='
  case $kind in
    files) _files ;;
    dirs) _files -/ ;;
  esac
}

if [[ $funcstack[1] == _arbiter ]]; then
  _arbiter "$@"
else
  compdef _arbiter arbiter
fi
