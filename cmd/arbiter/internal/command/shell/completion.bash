# Completion of arbiter for bash. The program answers each time, so this file knows no
# command and no flag. To load it in every shell:
#
#   arbiter completion bash > ~/.local/share/bash-completion/completions/arbiter
#
# or, without the package bash-completion, in ~/.bashrc: source <(arbiter completion bash)

_arbiter() {
  local line kind=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) kind=${line#:} ;;
      *) COMPREPLY[${#COMPREPLY[@]}]=$line ;;
    esac
  done < <("${COMP_WORDS[0]/#\~\//$HOME/}" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  # Names of files are readline's own where no word fits; bash before 4 offers them always.
  case $kind in
    files) ;;
    dirs) compopt +o default -o dirnames ;;
    *) compopt +o default ;;
  esac 2>/dev/null
  return 0
}

complete -o default -F _arbiter arbiter
