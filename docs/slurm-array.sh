#!/usr/bin/env bash
# One run of Arbiter for each task of an array job. Change the lines between the two rules, then:
#
#   sbatch --array=1-100%20 docs/slurm-array.sh tasks.txt
#
# tasks.txt has one requirements file per line. Line N is the task of array index N. Each task has a clone and a state
# directory of its own below $ARBITER_FLEET, which all nodes must see.
#SBATCH --job-name=arbiter
#SBATCH --requeue
#SBATCH --signal=B:TERM@90
#SBATCH --open-mode=append
#SBATCH --output=arbiter-%A_%a.log
# ---------------------------------------------------------------------------------------------------------------------
#SBATCH --time=08:00:00
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
repository="${ARBITER_REPOSITORY:?the Git repository to clone}"
fleet="${ARBITER_FLEET:-$HOME/arbiter-fleet}"
flags=(--permissions rules --allow 'Edit(**)' --max-cost 5 --timeout 6h)
restarts=6 # of one task
# ---------------------------------------------------------------------------------------------------------------------
set -u
list="${1:?the file with one requirements file per line}"
index="${SLURM_ARRAY_TASK_ID:?start this with sbatch --array}"
task="$(sed -n "${index}p" "$list")"
if [ -z "$task" ]; then
  echo "line $index of $list is empty" >&2
  exit 2
fi
task="$(realpath -- "$task")" || exit 2

work="$fleet/$index/work" state="$fleet/$index/state" events="$fleet/$index/events.jsonl"
mkdir -p "$state" || exit 5
if [ ! -e "$work" ]; then # a clone that was interrupted is not a directory yet
  rm -rf "$work.new"
  git clone --quiet -- "$repository" "$work.new" && mv "$work.new" "$work" || exit 5
fi
cd "$work" || exit 5

# The same command begins the run, and resumes it when the job is started again.
"${ARBITER:-arbiter}" --json --no-input --resume-or-begin --state-dir "$state" "${flags[@]}" "$task" >>"$events" </dev/null &
arbiter=$!
trap 'kill -TERM "$arbiter" 2>/dev/null' TERM # before the time limit, or for another job: the run can go on later
while :; do
  wait "$arbiter"
  code=$?
  kill -0 "$arbiter" 2>/dev/null || break # else the wait was interrupted by the signal
done

# What a retry changes, and what it does not: docs/ci.md has the exit codes.
case "$code" in
  0) echo "task $index is complete" ;;
  1 | 2 | 3 | 4 | 5) echo "task $index: exit code $code: a retry changes nothing" >&2 ;;
  *) # ended by a signal, or a bug: go on where it was
    if [ "${SLURM_RESTART_COUNT:-0}" -lt "$restarts" ]; then
      echo "task $index: exit code $code: queued again" >&2
      scontrol requeue "${SLURM_ARRAY_JOB_ID}_$index" && sleep 60 # the job ends here
    fi
    ;;
esac
exit "$code"
