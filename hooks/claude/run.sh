#!/bin/sh
# Runs a hook (`run.sh stop`) on the first runtime there is: Bun, else Node 22.18 or later. Without one it says so at the
# first session start and does nothing. Nothing of the project folder decides: its node_modules/.bin may be on PATH, its
# .env and bunfig.toml lie in the working directory.
hook=$1
root=${0%/hooks/claude/run.sh}
project=${CLAUDE_PROJECT_DIR:-$PWD}
case $project in /*) ;; *) project= ;; esac
set -f

# The repository around the project, else the project; nothing for one that holds the user's home.
top=$project
while [ -n "$top" ] && [ ! -e "$top/.git" ]; do top=${top%/*}; done
for candidate in "$top" "$project"; do
  top=$candidate
  case $HOME/ in "$candidate"/*) top= ;; esac
  [ -n "$top" ] && break
done

# Whether a folder of PATH is the project's: it lies in it, or in a node_modules of a folder above.
is_of_project() {
  case $1/ in
    "${top:-/dev/null}"/*) return 0 ;;
    */node_modules/*) case $project/ in "${1%%/node_modules*}"/*) return 0 ;; esac ;;
  esac
  return 1
}

# Sets `found` to a program of PATH that is not the project's.
find_program() {
  found=
  IFS=:
  for folder in $PATH; do
    case $folder in /*) ;; *) continue ;; esac
    is_of_project "$folder" && continue
    if [ -x "$folder/$1" ] && [ ! -d "$folder/$1" ]; then found=$folder/$1; break; fi
  done
  unset IFS
  [ -n "$found" ]
}

find_program bun || { [ -x "$HOME/.bun/bin/bun" ] && found=$HOME/.bun/bin/bun; }
if [ -n "$found" ]; then
  exec "$found" --no-env-file --no-install "--config=$root/bunfig.toml" "$root/hooks/claude/$hook.ts"
fi

if find_program node; then
  version=$("$found" --version 2>/dev/null)
  version=${version#v}
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%.*}
  if [ "${major:-0}" -gt 22 ] || { [ "${major:-0}" -eq 22 ] && [ "${minor:-0}" -ge 18 ]; }; then
    # Node strips no types below a node_modules: there the build in dist/ runs.
    built=$root/dist/hooks/claude/$hook.js
    [ -f "$built" ] && exec "$found" "$built"
    exec "$found" "$root/hooks/claude/$hook.ts"
  fi
fi

state=${SESSION_MEMORY_HOME:-$HOME/.session-memory}
if [ "$hook" = session-start ] && [ ! -e "$state/no-runtime" ]; then
  (umask 077 && mkdir -p "$state" && : >"$state/no-runtime") 2>/dev/null
  echo '{"systemMessage": "session-memory does nothing yet: it needs Bun, or Node 22.18 or later (npm install -g bun)"}'
fi
exit 0
