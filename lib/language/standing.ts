/**
 * Recognises, by words alone, what a user lays down beyond the task at hand: an instruction to the agent with "from now on",
 * "always", "never" or "next time" and the like. Better none than a wrong one: what is quoted, pasted, asked, told of somebody
 * or of the program is none.
 *
 * English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese, as far as an order can be told from a remark.
 */

import { isQuestion, sentences, spokenText } from "./speech.ts";

/** A longer message is a plan or a paste, and a longer sentence is no rule that was laid down in so many words. */
const READ_CHARS = { message: 1200, sentence: 300 };
/** The least list items that are a guideline that was pasted, or the parts of a task. */
const LIST_ITEMS = 3;

/** What an agent does, in the base form: "always return null" and "never retry" are of the program. */
const DEEDS = `add|amend|answer|apologi[sz]e|approve|ask|assume|avoid|change|check|comment|commit|confirm|create|delete|deploy|do
  document|edit|explain|follow|force[- ]push|format|guess|include|install|introduce|invent|keep|leave|let|lint|make|mention|merge|modify
  name|open|prefer|propose|publish|push|put|read|rebase|refactor|release|remove|rename|reply|reset|respond|review|rewrite|run|say|show me|sign|skip
  speak|squash|stage|start|stop|suggest|summari[sz]e|tell|test|touch|update|use|verify|wait|work|wrap|write`;

interface Language {
  /** What makes an instruction hold from then on. */
  frame: string;
  /** How an instruction begins that stands beside a frame. */
  order: string;
  /** A whole instruction that holds without a frame. */
  always: string;
}

const POLITE = `(?:(?:please|pls|ok(?:ay)?|and|also|so|but|yes|no|bitte|und|ok|s['’]il (?:te|vous) plaît|por favor|y|e|et|пожалуйста|и|请|あと)[,、]?\\s*)*`;

const LANGUAGES: readonly Language[] = [
  {
    frame:
      "from now on|from here on(?: out)?|going forward|in (?:the )?future|for the future|next time(?: [^,.;:]{1,80},)?",
    order: `(?:always|never|do not|don['’]?t|do|only|no|let me|i want you to|i['’]d like you to|we (?:use|do not|don['’]t|always|never|only)|you (?:should|must|have to|need to|may|can|do not|don['’]t|never|always|shouldn['’]t|mustn['’]t)|${DEEDS})(?![\\w'’])`,
    always: `(?:you (?:must|should) )?(?:(?:always|never)(?: ever)?|(?:do not|don['’]t) ever) (?:${DEEDS})(?![\\w'’])`,
  },
  {
    frame: "ab (?:jetzt|sofort)|von jetzt an|künftig|zukünftig|in zukunft|(?:beim |das )?nächste[ns]? mal",
    order:
      "(?:bitte|immer|nie|niemals|keine?[nr]?|nur|nicht|erst|zuerst|frag|frage|lass|mach|mache|nutze|verwende|benutze|schreib|schreibe|committe|du (?:sollst|musst|darfst))(?!\\p{L})",
    always:
      "(?:immer (?!noch|wieder|mehr)|nie(?:mals)? (?!wieder|mehr))[^.]* \\p{L}+en|\\p{L}+e (?:bitte )?(?:immer (?!noch|wieder|mehr)|niemals )[^.]+",
  },
  {
    frame: "désormais|dorénavant|à partir de maintenant|à l['’]avenir|la prochaine fois",
    order:
      "(?:ne |n['’]|toujours |jamais |merci de |\\p{L}+ez(?!\\p{L})|(?:utilise|demande|laisse|écris|évite|lance|garde|fais)(?!\\p{L}))",
    always: "toujours \\p{L}+(?:er|ir|re)(?!\\p{L})[^.]*|ne jamais \\p{L}+(?:er|ir|re)(?!\\p{L})[^.]*",
  },
  {
    frame: "de ahora en adelante|a partir de ahora|en adelante|en el futuro|la próxima vez",
    order: "(?:no |siempre |nunca |(?:usa|use|pregunta|escribe|haz|deja|evita|pide|ejecuta)(?!\\p{L}))",
    always:
      "(?:siempre|nunca) \\p{L}+(?:ar|er|ir)(?!\\p{L})[^.]*|nunca (?:uses|hagas|toques|borres|escribas|cambies|subas)(?!\\p{L})[^.]*",
  },
  {
    frame: "de agora em diante|a partir de agora|daqui em diante|no futuro|da próxima vez",
    order: "(?:não |sempre |nunca |(?:use|usa|pergunte|pergunta|escreva|faça|deixe|evite|execute)(?!\\p{L}))",
    always:
      "(?:sempre|nunca) \\p{L}+(?:ar|er|ir)(?!\\p{L})[^.]*|nunca (?:faça|mexa|apague|escreva|mude)(?!\\p{L})[^.]*",
  },
  {
    frame: "отныне|впредь|с этого момента|в следующий раз|в будущем",
    order: "(?:не |всегда |никогда |\\p{L}+(?:йте|й|ите)(?!\\p{L})|пиши|проси|спроси|делай)",
    always: "(?:всегда|никогда не) \\p{L}+(?:й|йте|ите|ть)(?!\\p{L})[^.]*",
  },
  {
    frame: "从现在(?:起|开始)|今后|以后|下次",
    order: "(?:请|都|不要|别|要|先|必须|记得|只)",
    always: "(?:永远|绝对|千万)不要.+|(?:总是|始终)(?:使用|先|用|写|问).+",
  },
  {
    frame: "今後は?|これから(?:は|も)|次回(?:から|は)+|次から(?:は)?",
    order: ".*(?:ください|下さい|しないで|すること|ように|して)(?:ね|よ)?[。.!！]?$",
    always:
      "(?:常に|必ず|決して|絶対に).*(?:ください|下さい|しないで|すること|しないこと|ように)(?:ね|よ)?[。.!！]?$",
  },
];

/** Chinese and Japanese write no blank after a word. */
const FRAMED = matchBeginning(({ frame, order }) => {
  const end = /[a-zа-я]/.test(frame) ? "(?!\\p{L})" : "";
  return `(?:${frame})${end}[,、，:]?\\s*${POLITE}(?:${order})|(?:${order})[^,;:]{3,200}[,\\s]+(?:${frame})(?=[.!,;。！]|$)`;
});
const ALWAYS = matchBeginning(({ always }) => always);
/** What only the work of an agent is about: "always" and "never" are said of programs too. */
const OF_THE_WORK =
  /\b(?:commit\w*|rebase|squash|amend|force[- ]push\w*|push (?:to|without|before|directly)|branch(?:es)?|pull requests?|PRs?|changelog|readme|tests|test suite|table[- ]driven|linter|lint|prettier|eslint|biome|typecheck|type checks?|code comments?|comments|docstrings?|coding|em[- ]dash(?:es)?|emojis?|npm|pnpm|yarn|bun|pip|dependenc\w+|(?:ask|tell|show|let) me|ask first|my (?:approval|permission|ok)|generated|co-author\w*|subagents?|worktrees?|guess|invent|mocks?|code|tester|committer\w*|committen|kommentare?|pruebas|testes|commentaires|comentarios?|ramas?)\b|тест|коммит|код|комментар|ветк|提交|测试|代码|注释|分支|コミット|テスト|コード|コメント|ブランチ/iu;

/** Matches a sentence that begins with the form of any language. */
function matchBeginning(form: (language: Language) => string): RegExp {
  return new RegExp(`^${POLITE}(?:${LANGUAGES.map(form).join("|")})`.replace(/\n\s*/g, "|"), "iu");
}

function isLaidDown(sentence: string): boolean {
  return FRAMED.test(sentence) || (ALWAYS.test(sentence) && OF_THE_WORK.test(sentence));
}

const FRAME_AT_END = new RegExp(`(?:${LANGUAGES.map(({ frame }) => frame).join("|")})[.!。！]*$`, "iu");

/** Bound to what is at hand, or to a time that ends: no rule for another session. */
const BOUND =
  /\b(?:this time|for now|right now|just now|until|today|tonight|here|above|below|(?:in|for|on|to) (?:this|that|these|those|it|them)|(?<!\b(?:you|i|we) )(?:do|run|use|write|read|make|add|change|put|keep|leave|try|say|ask|test|check|remove|delete|push|commit|show) (?:it|that|this|them|those|these|so))\b|(?:^|\s)(?:vorerst|heute|hier|diesmal|cette fois|ici|esta vez|aquí|desta vez|aqui|сейчас|сегодня)(?!\p{L})|这次|今回/iu;
/** A reason may point back: it lays nothing down. */
const REASON =
  /(?:,?\s(?:because|since|as (?:it|that|this)|so that|weil|da|parce que|porque|потому что)\s|[,;–—(]|因为|から、).*$/iu;
/** Told of somebody, or of a text. */
const REPORTED =
  /\b(?:(?<!\b(?:you|i|we) )say|says|said|states?|stated|wrote|writes|told me|according to|reads|guideline|guidelines|style ?guide|for example|e\.g\.|sagt|steht|laut|selon|según|segundo)\b|说|と(?:言|書)/iu;
const TOLD_BY_ME = /\b(?:i|we) (?:said|told)\b/iu;
const QUOTED =
  /"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`|「[^」]*」|『[^』]*』|(?<![\p{L}\p{N}])['‘][^'’]*['’](?![\p{L}\p{N}])/gu;

/** Returns the sentences of a user's message that lay something down beyond its task, as they were written. */
export function standingSentences(message: string): string[] {
  return saidInOwnWords(message).filter((sentence) => laysDown(sentence));
}

/** Returns the sentences of a message that its user typed as such; none of one that is a paste, a list or a command. */
function saidInOwnWords(message: string): string[] {
  const text = message.trim();
  if (text.length > READ_CHARS.message || text.startsWith("/") || isPastedText(text)) return [];
  const typed = spokenText(text)
    .split("\n")
    .filter((line) => !/^\s*(?:>|\|)/.test(line));
  // What follows a colon at a line's end is what that line announces: a text of somebody's.
  const announced = typed.findIndex((line) => /[:：]\s*$/.test(line));
  return sentences((announced === -1 ? typed : typed.slice(0, announced)).join("\n"));
}

function isPastedText(text: string): boolean {
  const lines = text.split("\n");
  const items = lines.filter((line) => /^\s*(?:[-*+•]|\d+[.)])\s/.test(line)).length;
  return (
    items >= LIST_ITEMS ||
    lines.some((line) => /^\s*#{1,6}\s/.test(line) || /^\s*<[a-z][\w-]*[\s>]/i.test(line))
  );
}

function laysDown(sentence: string): boolean {
  if (sentence.length > READ_CHARS.sentence || isQuestion(sentence) || /[:：]$/.test(sentence)) return false;
  const own = sentence.replace(QUOTED, " … ").trim();
  if (!isLaidDown(own) || (REPORTED.test(own) && !TOLD_BY_ME.test(own))) return false;
  const clause = FRAME_AT_END.test(own) ? own : own.replace(REASON, "");
  // A reason begins after a comma, and so does what a frame says: of two clauses the second may be the instruction.
  return !BOUND.test(isLaidDown(clause) ? clause : own);
}

/** Takes back what holds. */
const TAKES_BACK =
  /\b(?:no need to|no longer|not (?:\S+ ){0,8}any ?(?:more|longer)|(?:don['’]t|do not|needn['’]t) (?:have|need) to|forget (?:about )?(?:the|my|what)|ignore (?:the|my) (?:rule|earlier))\b|nicht mehr|nicht länger|ne \S+ plus|ya no|não .*mais|больше не|不再|不用再|もう.*(?:なくて|ない)/iu;
/** Returns the sentences of a user's message that take a rule back, as they were written. */
export function takingBack(message: string): string[] {
  return saidInOwnWords(message).filter(
    (sentence) =>
      sentence.length <= READ_CHARS.sentence && !isQuestion(sentence) && TAKES_BACK.test(sentence),
  );
}
