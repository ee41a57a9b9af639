#!/bin/sh
# Builds everything.
set -eu

LIMIT=3

# Says it.
say() {
    if [ "$1" = x ] && [ -n "$2" ]; then
        echo x
    elif [ "$1" = y ]; then
        echo y
    else
        echo z
    fi
}

function build {
    for f in "$@"; do
        case "$f" in
        *.c | *.h) cc "$f" || return 1 ;;
        *) : ;;
        esac
        while read -r line; do
            say "$line"
        done < "$f"
    done
}

build a.c
