/** Forms of a word that a stemmer does not bring together: irregular verbs and plurals, British and American spelling. */

const FAMILIES = `
be was were been|become became|begin began begun|bend bent|bind bound|bite bit bitten|bleed bled|blow blew blown
break broke broken|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|creep crept
deal dealt|dig dug|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt
fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|lay laid|lead led|learn learnt
leave left|lend lent|lie lay lain|light lit|lose lost|mean meant|meet met|mislead misled|mistake mistook mistaken|overcome overcame
override overrode overridden|overwrite overwrote overwritten|pay paid|prove proven|rebuild rebuilt|redo redid redone
rerun reran|rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise rose risen|run ran|seek sought|sell sold|send sent
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept
speak spoke spoken|speed sped|spell spelt|spend spent|spin spun|split splitted|spring sprang sprung|stand stood|steal stole stolen
stick stuck|strike struck|string strung|swear swore sworn|sweep swept|swim swam swum|swing swung|teach taught|tear tore torn
throw threw thrown|understand understood|undo undid undone|wake woke woken|wear wore worn|win won|wind wound|withdraw withdrew withdrawn
write wrote written|analysis analyses|child children|criterion criteria|datum data|foot feet|index indices indexes|life lives
man men|matrix matrices|mouse mice|person people|vertex vertices|woman women`;

const families = new Map<string, string[]>();
for (const family of FAMILIES.trim().split(/[|\n]/)) {
  const forms = family.trim().split(" ");
  for (const form of forms) families.set(form, [...(families.get(form) ?? []), ...forms]);
}

/** A folded word with its other forms, itself first. */
export function formsOf(word: string): string[] {
  return [...new Set([word, ...(families.get(word) ?? []), ...spellings(word)])];
}

/** tokeniser ↔ tokenizer, colour ↔ color. */
function spellings(word: string): string[] {
  const turned = word
    .replace(
      /^(\w{3,}?)([sz])(e[drs]?|ers?|ing|ations?)$/,
      (whole, base: string, letter: string, ending: string) =>
        base.endsWith("i") ? `${base}${letter === "s" ? "z" : "s"}${ending}` : whole,
    )
    .replace(/^(\w{2,}?)our(s|ed|ing|ful|ite)?$/, "$1or$2");
  if (turned !== word) return [turned];
  const british = word.replace(
    /^(col|behavi|fav|flav|hon|lab|harb|neighb|rum|vap)or(s|ed|ing|ful|ite)?$/,
    "$1our$2",
  );
  return british === word ? [] : [british];
}
