#!/usr/bin/env bash
# A sweep over the nodes of a Slurm cluster: an array job of shards, and a job that merges them when all have ended.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/../lib.sh"

usage="usage: ci/slurm/sweep.sh [--shards N] [--harness FILE] [--out DIR] [--wait] SUITE|PROBLEM... [RUN OPTION]...
  RUN OPTION: of mla-harness run, e.g. --provider hip. Prints the number of the merging job.
  --shards N      tasks of the array (default 4): each runs alone on what Slurm gives it
  --harness FILE  built mla-harness, on a file system that the nodes share (default build/rocm/bin/mla-harness)
  --out DIR       shared folder, new or of the same sweep begun before (default out/slurm): report.json and the logs
  --wait          return when the sweep has ended, with the merging job's exit status
  MLA_SBATCH      options for every sbatch, e.g. '--partition=mi355 --gpus=1 --exclusive=user'
A task whose node failed, or whose process was killed, is queued again and goes on from its journal."

shards=4
harness=$MLA_ROOT/build/rocm/bin/mla-harness
out=$MLA_ROOT/out/slurm
wait=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) echo "$usage" && exit 0 ;;
    --shards) shards=${2:?--shards takes a number} && shift 2 ;;
    --harness) harness=$(realpath "${2:?--harness takes a file}") && shift 2 ;;
    --out) out=$(realpath -m "${2:?--out takes a folder}") && shift 2 ;;
    --wait) wait=(--wait) && shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || die "no suite or problem (see --help)"
[[ $shards =~ ^[1-9][0-9]*$ ]] || die "--shards is a number of tasks, not '$shards'"
[ -x "$harness" ] || die "--harness $harness: no such program"
command -v sbatch >/dev/null || die "no sbatch: this is no machine of a Slurm cluster"

mkdir -p "$out"
read -ra options <<<"${MLA_SBATCH:-}"
# Slurm runs a copy of a script from elsewhere, so that everything is told in arguments.
array=$(sbatch --parsable --job-name=mla-shard --requeue --open-mode=append --array="1-$shards" \
  --output="$out/shard-%a.log" "${options[@]}" "$here/shard.sh" "$harness" "$out" "$shards" "$@")
step "array job $array: $shards shards of $*"
code=0
merge=$(sbatch --parsable --job-name=mla-merge --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --output="$out/merge.log" "${options[@]}" "${wait[@]}" "$here/merge.sh" "$harness" "$out" "$shards") || code=$?
step "merging job $merge: leaves $out/report.json"
echo "$merge"
exit "$code"
