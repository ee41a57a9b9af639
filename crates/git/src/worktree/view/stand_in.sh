#!/bin/sh
# Names the agent's own git directory where git would follow the worktree's .git file; see stand_in.rs.
own=${0%/*}
rest=":$PATH:"
rest=${rest%%:"$own":*}:${rest#*:"$own":}
rest=${rest#:}
PATH=${rest%:}
export PATH

[ -z "$GIT_DIR" ] || exec git "$@"
folder=$PWD value=
for word; do
    if [ -n "$value" ]; then
        case $value$word in
        folder/*) folder=$word ;;
        folder*) folder=$folder/$word ;;
        esac
        value=
        continue
    fi
    case $word in
    -C) value=folder ;;
    -c) value=other ;;
    --git-dir* | --work-tree* | --bare | init | clone) exec git "$@" ;;
    -*) ;;
    *) break ;;
    esac
done
top=$(cd "$folder" 2>/dev/null && pwd -P) || exec git "$@"
while [ -n "$top" ] && [ ! -e "$top/.git" ]; do
    top=${top%/*}
done
[ "$top" = '@WORKTREE@' ] || exec git "$@"
GIT_DIR='@GIT_DIR@' GIT_WORK_TREE=$top
export GIT_DIR GIT_WORK_TREE
exec git "$@"
