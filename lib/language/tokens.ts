/**
 * How many cl100k tokens a text has: an estimate that may be up to 30 % high, never low, without the vocabulary's megabyte.
 *
 * One pass over the characters. A word costs one token plus what its letter pairs add; digits go by
 * threes; other scripts by what their characters cost in cl100k's byte pairs.
 */

/** Ideographs and Hangul syllables that are one token; any other is two or three. */
const ONE_TOKEN =
  "一万三上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会" +
  "传但位体何余作你使例供価保信修倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前力功加务" +
  "动動包化北区十午华单南即历原去县参及友反发取变口只可台右号司合同名后向否含听启告员周命和品哈商問" +
  "器四回因国图土在地场址型城基報場填增声处备复外多大天失头女好如始子字存学安宋完定实审客家容密对导" +
  "将小少尔就局展山岁州工左已市布常平年并广序库应店度建开异式引张当录形影径待後得微心必志态思性总息" +
  "您情意感成我或户所手打找技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時" +
  "景更最月有服期木未本机权束条来板构析果查标样核格案检模次款止正此步歳段每比民気水求江汽没治法注活" +
  "流海消清游源火点無然片版物特率环现球理生用由电男画界番登的监目直相省看県真知码确示社票私种科秒称" +
  "移程稍税稿空立站章端笑符第等签简算管箱米类系素索约级线组经结给络统编网置美老考者而联能自至色节英" +
  "藏行表装西要見见规视角解言計記話読计认议记论设证评试话询该详语误说请读调象责败账货购费资起超路身" +
  "车转软载辑输达过运近还这进连述退送选通速造連道邮部都配释里重量金钟钮链销错键长開間関门闭问间队阳" +
  "陆限院除雅集雷需非面音页项预频题额首验高黑가간값개거게결경고공과구그글기나내는능니다당대도동되된" +
  "드든들디라래러력로록료류른를름리만메면명목문미버번보복부분비사산상색생서성세션소수스습시식신아야" +
  "어에여열오와요용우운원위으은을음의이인일임입자작장재적전정제져조주지진째체출치크태터턴트튼하한할" +
  "함해호화환회";

/**
 * What a letter after another adds to a word, in tenths of a token: a row for each first letter a to z, fitted to
 * cl100k's counts of words of English, code and other languages in Latin script.
 */
const PAIRS =
  "93119507595020929010445616 38792997168179099427279847 38690991380289087362299956 " +
  "67872759177899499538478868 37204559998441876003945179 59992596198489098567399739 " +
  "69996942699797599479599969 37982969399659199882599759 43122219996030039320929791 " +
  "88973999869889487998799999 99852678397885989929979979 39860599298299179946269808 " +
  "15990998397869338949399779 39201708255776388910558748 76649529796230349054042849 " +
  "38760880477079127131478967 99989999999999996887097599 19610748194647099724377919 " +
  "59692692297888567922087939 39671881099679389236497938 52363939599023949031989988 " +
  "49990979199998399999899879 48972865388784299859989869 79696899799979959986999769 " +
  "99998999899979779968999999 79986997795899999989899775";

/** Costs are counted in hundredths of a token, so that sums stay whole; the sum is taken 2 % high. */
const WORD = 102;
/** A mark right before a word is often part of its token: `.ts`, `_id`, `(the`. */
const MARKED_WORD = 78;
const PAIR_SCALE = 10;
/** Cost that a word's letter pairs may add before they count: ordinary words are one token. */
const FREE = 100;
const UPPER_PAIR = 60;
const NEW_PART = 112;
const DIGIT = 100;
const MORE_DIGIT = 34;
const MARK = 100;
const MORE_MARK = 66;
const SAME_MARK = 12;
const NEW_LINE = 100;
const MORE_SPACE = 22;

/** In the table of steps: the rest is what a letter pair adds to the word it is in. */
const IN_WORD = 0x8000;

const PAIR_COST = new Uint8Array(26 * 26);
for (const [first, row] of PAIRS.split(" ").entries()) {
  for (let second = 0; second < 26; second++)
    PAIR_COST[first * 26 + second] = Number(row[second]) * PAIR_SCALE;
}

/** Stands for anything beyond ASCII before a character: no letter, digit, mark or space. */
const BEYOND = 1;

/** Cost of a character of ASCII after another one. */
const STEPS = asciiSteps();

/** Estimates how many cl100k tokens `text` (or its part from `start` to `end`) has. */
export function estimateTokens(text: string, start = 0, end = text.length): number {
  let cost = 0;
  let word = 0;
  let previous = 10;
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c > 127) {
      cost += word > FREE ? word - FREE : 0;
      word = 0;
      // a drawn line is a few long tokens
      cost += c >= 0x2500 && c < 0x2580 && text.charCodeAt(i - 1) === c ? 50 : (BEYOND_COST[c] as number);
      previous = BEYOND;
      continue;
    }
    const step = STEPS[(previous << 7) | c] as number;
    previous = c;
    if (step >= IN_WORD) word += step - IN_WORD;
    else {
      cost += word > FREE ? step + word - FREE : step;
      word = 0;
    }
  }
  return Math.ceil((cost + (word > FREE ? word - FREE : 0)) / 98);
}

/** Returns how far `text` goes from `start` within so many tokens, at most to `end`: one pass, up to there. */
export function positionWithin(
  text: string,
  { start, end, tokens }: { start: number; end: number; tokens: number },
): number {
  const most = tokens * 98;
  let cost = 0;
  let word = 0;
  let previous = 10;
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i);
    const before = word > FREE ? word - FREE : 0;
    if (c > 127) {
      cost += before;
      word = 0;
      cost += c >= 0x2500 && c < 0x2580 && text.charCodeAt(i - 1) === c ? 50 : (BEYOND_COST[c] as number);
      previous = BEYOND;
    } else {
      const step = STEPS[(previous << 7) | c] as number;
      previous = c;
      if (step >= IN_WORD) word += step - IN_WORD;
      else {
        cost += step + before;
        word = 0;
      }
    }
    if (cost + (word > FREE ? word - FREE : 0) > most) return i;
  }
  return end;
}

function asciiSteps(): Uint16Array {
  const steps = new Uint16Array(128 * 128);
  for (let before = 0; before < 128; before++) {
    for (let c = 0; c < 128; c++) steps[(before << 7) | c] = stepCost(before, c);
  }
  return steps;
}

function stepCost(before: number, c: number): number {
  const [is, was] = [kindOf(c), kindOf(before)];
  if (is === "lower") {
    if (was === "lower" || was === "upper")
      return IN_WORD + (PAIR_COST[((before | 32) - 97) * 26 + c - 97] as number);
    return wordStart(was, before);
  }
  if (is === "upper")
    return was === "upper" ? UPPER_PAIR : was === "lower" ? NEW_PART : wordStart(was, before);
  if (is === "digit") return was === "digit" ? MORE_DIGIT : DIGIT;
  if (is === "mark") return was !== "mark" ? MARK : c === before ? SAME_MARK : MORE_MARK;
  if (is === "line") return was === "line" ? MORE_SPACE : NEW_LINE;
  return was === "space" ? MORE_SPACE : c === 32 ? 0 : NEW_LINE;
}

function wordStart(was: string, before: number): number {
  if (was === "mark") return MARKED_WORD;
  return was === "digit" || before === BEYOND ? NEW_PART : WORD;
}

function kindOf(c: number): "lower" | "upper" | "digit" | "line" | "space" | "mark" {
  if (c >= 97 && c <= 122) return "lower";
  if (c >= 65 && c <= 90) return "upper";
  if (c >= 48 && c <= 57) return "digit";
  if (c === 10 || c === 13) return "line";
  return c <= 32 && c !== BEYOND ? "space" : "mark";
}

/**
 * The most tokens that `text` has, words or not: what is no word of its language costs as much as its characters alone,
 * and capitals strewn among small letters one for nearly each.
 */
export function mostTokens(text: string, estimate = estimateTokens(text)): number {
  let more = 0;
  let previous = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 127)
      more += Math.max(0, (ALONE_COST[c] as number) - (BEYOND_COST[c] as number)) + (c < 0x370 ? 0 : APART);
    else if (c >= 65 && c <= 90) more += previous >= 97 && previous <= 122 ? HUMP : CAPITAL;
    previous = c;
  }
  return estimate + Math.ceil(more / 100);
}

/** Cost of a capital beyond the estimate: after a small letter, and elsewhere. */
const HUMP = 50;
const CAPITAL = 8;
/** Cost that a character of another script may add to the one beside it: they share no token. */
const APART = 10;

/** Marks and drawn lines that are one token. */
const ONE_TOKEN_MARKS = "‐‑–—―‘’‚“”„†•…‰′″›※€™←↑→↓−─━│═║╗╝█░■►●★☆";

type Costs = readonly [from: number, to: number, cost: number][];

/** Returns the cost of each character on its own, by how much of its UTF-8 cl100k knows. */
function aloneCosts(): Uint16Array {
  const costs = new Uint16Array(65536).fill(220, 0, 0x800).fill(310, 0x800);
  fill(costs, [
    [0x900, 0xaff, 205],
    [0xb80, 0xebf, 205],
    [0xf00, 0xf7f, 205],
    [0x1000, 0x103f, 205],
    [0x10c0, 0x10ff, 205],
    [0x1780, 0x17ff, 205],
    [0x1e80, 0x1eff, 205],
    [0x2000, 0x20bf, 205],
    [0x2100, 0x27bf, 260],
    [0x3000, 0x30ff, 160],
    [0x4e00, 0x9fff, 245],
    [0xac00, 0xd7a3, 250],
    [0xd800, 0xdfff, 200],
    [0xfe00, 0xfe1f, 220],
    [0xff00, 0xffef, 220],
  ]);
  for (const [from, to, cost] of COMMON_ALONE) costs.fill(cost, from, to + 1);
  for (const character of ONE_TOKEN + ONE_TOKEN_MARKS) costs[character.charCodeAt(0)] = 100;
  return costs;
}

/** The letters of scripts whose common words cl100k knows. */
const COMMON_ALONE: Costs = [
  [0x80, 0x17f, 122],
  [0x3ac, 0x3ce, 125],
  [0x410, 0x42f, 130],
  [0x430, 0x45f, 107],
  [0x5d0, 0x5ea, 140],
  [0x621, 0x652, 115],
  [0x900, 0x97f, 190],
  [0xe00, 0xe4f, 125],
];

/** Returns the cost of each UTF-16 unit beyond ASCII in ordinary text: as alone, or less where it is a part of known words. */
function beyondCosts(): Uint16Array {
  const costs = aloneCosts();
  fill(costs, [
    [0x3ac, 0x3ce, 105],
    [0x410, 0x42f, 100],
    [0x430, 0x44f, 64],
    [0x451, 0x45f, 64],
    [0x5d0, 0x5ea, 110],
    [0x621, 0x652, 100],
    [0x900, 0x97f, 120],
    [0xe00, 0xe4f, 103],
    [0x3000, 0x303f, 110],
    [0x3040, 0x30ff, 106],
    [0x1ea0, 0x1eff, 170],
    [0x2000, 0x206f, 140],
    [0x2500, 0x259f, 180],
    [0xff00, 0xffef, 180],
    [0xd800, 0xdfff, 160],
  ]);
  return costs;
}

function fill(costs: Uint16Array, ranges: Costs): void {
  for (const [from, to, cost] of ranges) costs.fill(cost, from, to + 1);
}

/** Cost of a UTF-16 unit beyond ASCII in ordinary text, and alone. */
const BEYOND_COST = beyondCosts();
const ALONE_COST = aloneCosts();
