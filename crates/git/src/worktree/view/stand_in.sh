#!/bin/sh
# Finds the git directory that stands in for the one whose configuration and refs commands cannot read; see stand_in.rs.
own=${0%/*}
rest=":$PATH:"
rest=${rest%%:"$own":*}:${rest#*:"$own":}
rest=${rest#:}
PATH=${rest%:}
export PATH

folder=$PWD subcommand= value= next=
for word; do
    if [ -n "$subcommand" ]; then
        next=$word
        break
    fi
    case $value in
    folder) case $word in /*) folder=$word ;; *) folder=$folder/$word ;; esac ;;
    esac
    if [ -n "$value" ]; then
        value=
        continue
    fi
    case $word in
    -C) value=folder ;;
    -c) value=other ;;
    --git-dir* | --work-tree* | --bare | --namespace* | --exec-path* | --config-env*) exec git "$@" ;;
    -*) ;;
    *) subcommand=$word ;;
    esac
done
# What names, moves or deletes branches and tags would succeed in a directory that ends with the command.
case $subcommand in
branch | tag)
    case $next in
    '' | -[ailnrqv]* | --all | --column* | --contains* | --format* | --ignore-case | --list | --merged*) ;;
    --no-* | --points-at* | --remotes | --show-current | --sort* | --verbose) ;;
    *) exec git "$@" ;;
    esac
    ;;
esac
case $subcommand in
status | diff | log | show | blame | annotate | shortlog | describe | grep | ls-files | ls-tree | cat-file) ;;
rev-parse | rev-list | name-rev | merge-base | for-each-ref | show-ref | diff-tree | diff-index | diff-files) ;;
branch | tag | check-ignore | check-attr | count-objects | cherry | whatchanged | range-diff | archive) ;;
format-patch | merge-tree | reflog) ;;
*) exec git "$@" ;;
esac
[ -z "$GIT_DIR" ] || exec git "$@"
top=$(cd "$folder" 2>/dev/null && pwd -P) || exec git "$@"
while [ -n "$top" ] && [ ! -e "$top/.git" ]; do
    top=${top%/*}
done
[ "$top" = '@WORKTREE@' ] || exec git "$@"
GIT_DIR=${own%/*}/git-dir GIT_WORK_TREE=$top GIT_OPTIONAL_LOCKS=0
export GIT_DIR GIT_WORK_TREE GIT_OPTIONAL_LOCKS
exec git "$@"
