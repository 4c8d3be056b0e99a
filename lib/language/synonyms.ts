/** Words of talk about code that stand for one another: a question rarely has the very words of the conversation. */

const GROUPS = `
add create introduce
agree accept approve
analyze analyse analyzer analyser
auth authentication login
behavior behaviour
big large huge
break broken
bug issue error problem defect failure
build compile
call invoke
cancel abort interrupt
change modify edit update alter
check verify validate
choose pick select decide settle
color colour
combine merge join
compare diff
complain complaint grumble
config configuration settings
connect link
conversation session chat
copy duplicate clone
crash exception
credential secret password
db database
decision choice
dependency package library module
deploy release publish ship
directory folder
disable deactivate
dislike hate
docs documentation readme
download fetch load
empty blank
enable activate
endpoint route
env environment
explain describe
fast quick speed
find search locate
fix repair resolve solve
flaky intermittent
function method routine
idea suggestion
image picture screenshot
improve optimize enhance
incorrect wrong mistake
install setup
layout structure
limit maximum
missing absent
need require
normalize normalise
old legacy previous
option alternative
page screen view
parameter argument
permanent persistent
plan proposal
propose suggest
purpose goal
reason cause
refactor restructure reorganize rewrite
reject refuse decline
remove delete drop
repo repository
result outcome
run execute
script program
separate split divide
show display render print
simplify clean
skip ignore exclude omit
slow latency performance
start begin launch
stop end finish quit
store save persist
temporary throwaway
test spec suite
timeout hang stuck
total count number
try attempt
unclear confusing
unused dead
upgrade migrate
wait pause
warning notice
website site`;

let groups: Map<string, readonly string[]> | undefined;

/** Returns the synonyms of a word, found by itself or by its stem. */
export function synonymsOf(word: string, stem: string): readonly string[] {
  groups ??= new Map(
    GROUPS.trim()
      .split("\n")
      .map((line) => line.split(" "))
      .flatMap((group) => group.map((one) => [one, group.filter((other) => other !== one)] as const)),
  );
  for (const form of [word, stem, `${stem}e`, stem.replace(/i$/, "y")]) {
    const found = groups.get(form);
    if (found) return found;
  }
  return [];
}
