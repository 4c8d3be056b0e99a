/**
 * Recognises by its opening a sentence in which a user lays something down beyond the task at hand: "from now on", "always",
 * "never", "next time", "remember", followed by an instruction. Better none than a wrong one: questions, quotations, pastes and
 * remarks about somebody or about the program are left out.
 *
 * English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese, as far as an order can be told from a remark.
 */

import { isQuestion, matchPhrases, QUOTED, sentences, spokenText } from "./speech.ts";
import { phrases } from "./words.ts";

/** A longer message is a plan or a paste, and a longer sentence is more than an instruction. */
const READ_CHARS = { message: 1200, sentence: 300 };
/** The least list items that are a pasted guideline or the parts of a task. */
const LIST_ITEMS = 3;

/** Verbs of an agent's own work, in the base form. */
const WORK = phrases`amend|annotate|answer|apologi[sz]e|approve|ask|assume|branch|bump|comment|commit|confirm|deploy|document|double-check|explain|follow|force[- ]push
  (?:re)?format|guess|hard-?code|install|introduce|invent|leave comments|lint|merge|mix|mock|prefer|propose|rebase|refactor|rename|reply|respond
  (?:re-?)?run(?! (?:into|out)|$)|sign|skip|speak|squash|stage|stick|suggest|summari[sz]e|talk|test|touch|typecheck|(?:re)?use(?! cases?\b|$)|verify|wait|work|wrap up`;
/** Verbs of programs too: "always show the banner" is a task, "always show me the diff" is not. */
const SHARED = phrases`add|avoid|begin|break|build|change|check|clean|copy|create|delete|disable|do|edit|end|finish|(?:re)?generate|catch|drop|give(?! up)|group|ignore|include
  keep|leave|let|link|list|log|make|mark|mention|modify|move|name|open|override|paste|pin|plan|prefix|print|publish|pull|push|put|quote|read|rebuild|release
  remove|replace|reset|restart|review|rewrite|save|say|send|show|sort|split|start|stop|store|tag|tell|translate|trust|undo|update|upgrade|validate|wrap|write`;
const VERB = `(?:${WORK}|${SHARED})(?![\\w'’])`;
/** A verb in the base form, at a place where an order is expected, by the words that it is not. */
const BASE = `(?!(?:an?|the|this|that|these|those|there|here|it|its|he|she|they|i|we|you|my|our|your|his|their|wh\\w+|how|every\\w*|some\\w*|any\\w*|no\\w*|each|all|both|at|in|on|for|from|with|by|of|to|around|after|before|if|then|so|too|just|once|one|more|most|again|maybe|mind|new|perhaps)(?![\\w'’]))[a-z]{3,}(?<!(?<!s)s|ed|ing|ly|n['’]?t)(?![\\w'’])(?! (?:\\S+ ){0,2}(?:is|are|was|were|has|have|had|will|would|can|gets?|goes|runs|works|fails|returns|comes|needs|uses|takes|happens|lives|stays|starts|stops|\\w+s (?:at|by|from|in|into|on|over|through|to|via))(?![\\w'’]))(?= \\S)`;

/** Objects of an agent's work: "always" and "never" are said of programs too. */
const OF_THE_WORK =
  matchPhrases(`commit\\w*|rebase|squash|amend|force[- ]push\\w*|push(?: (?:to|without|before|directly)|(?=\\W*$))|branch(?:es)?|pull requests?|PRs?
  changelog|readme|tests|(?:an?|each|every) (?:\\w+ )?test|test suite|table[- ]driven|main|master|merg(?:e|es|ed|ing)
  deploy\\w*|production|repo(?:sitory)?|linter|lint|prettier|eslint|biome|type ?check\\w*|with me|unless i|CI
  in (?:english|french|german|spanish)|code comments?|comments|docstrings?|coding|functions?|methods?|imports?
  variables?|lock ?files?|migrations?|assumptions|regressions?|new files|diffs?|by hand|em[- ]dash(?:es)?|emojis?|npm
  pnpm|yarn|bun|pip|dependenc\\w+|(?:ask|tell|show|let|asking|telling|showing) me|ask(?:ing)? first
  my (?:approval|permission|ok)|generated|co-author\\w*|subagents?|worktrees?|guess|invent|mocks?|code|tester
  committer\\w*|committen|kommentare?|pruebas|testes|commentaires|comentarios?|ramas?|тест[а-я]*|коммит[а-я]*|код[а-я]*
  комментар[а-я]*|ветк[а-я]*|提交|测试|代码|注释|分支|コミット|テスト|コード|コメント|ブランチ`);

/** The time of an order and its addressee. */
const LEAD =
  "(?:(?:when(?:ever)?|if|before|after|once) (?:you|we|i) [^,;:?]{2,80}, |(?:before|after|for|on|with) (?:each|every|any) [^,;:?]{2,60}, )?";
const NEVER = `(?:(?:you|we) (?:must|should) |(?:i|we)(?: want| need|['’]d like| would like) you to |make sure (?:you |to )|remember (?:to )?|let['’]?s )?(?:(?:always|never)(?: ever| again)?|(?:do not|don['’]t) ever)`;

/** An order on things in general, with no article that points at one: a task names parts of the program. */
const IN_GENERAL = `(?:(?!(?:open|print|save|say|send|show|sort|start|stop|list|move)(?!\\w))${VERB} (?:an? )?|be )(?!(?:the|th[aeio]\\w+|it|its|an?|all|any|each|every|few|many|more|most|several|some|such|my|our|your|his|her|their|me|us|you|one|two|null|undefined|true|false|zero|nothing)(?!\\w))[\\p{L}-]+`;

interface Language {
  /** Makes an instruction hold from then on. */
  frame: string;
  /** Begins an instruction that stands beside a frame. */
  order: string;
  /** Holds without a frame. */
  always: string;
}

/** May name who is greeted. */
const GREETING =
  "(?:hey|hi|hello|good (?:morning|afternoon|evening)|thanks|thank you|hallo|guten (?:morgen|tag|abend)|danke|bonjour|bonsoir|merci|hola|buen[oa]s (?:días|tardes)|gracias|olá|bom dia|obrigad[oa]|привет|спасибо)(?:(?: \\p{L}+){1,2}(?=[,!]))?";
const POLITE = `(?:(?:(?:${GREETING}|please|pls|ok(?:ay)?|and|also|so|but|yes|no|well|actually|btw|by the way|great|good|perfect|nice|cool|important|note|reminder|one more thing|bitte|und|s['’]il (?:te|vous) plaît|por favor|y|e|et|пожалуйста|и)(?!\\p{L})|请|あと)[,、.!:–—-]*\\s*)*`;

const LANGUAGES: readonly Language[] = [
  {
    frame:
      "from now on|from here on(?: out)?|henceforth|going forward|in (?:the )?future|for the future|for the rest of (?:this|the|our) (?:project|repo|code ?base)|next time(?: around)?(?:,? (?!(?:an?|it|some|that|the|this) )[^,;:]{1,80},|(?! (?:i|we|you) (?!can|do|expect|have|may|must|need|prefer|should|want)))|remember(?: to(?= )|(?= (?:always|i|never|not to|we|you) )|[:,])",
    order: `(?:(?:always|never|not to|do not|don['’]?t|only|no|let me|i (?:want|need|expect|prefer)(?! to)|i['’]d like(?! to)|(?:we|you)(?:['’]ll| will| are going to)?(?: always| never| only)? ${VERB}|we (?:only|do not|don['’]t)|you (?:should|must|have to|need to|may|can|do not|don['’]t|shouldn['’]t|mustn['’]t))(?![\\w'’])|(?:every|each|all) new (?:class(?:es)?|components?|endpoints?|features?|files?|functions?|modules?|packages?|scripts?) (?:needs?|must|should|gets?|goes|go)(?![\\w'’])|${VERB}(?! (?:\\S+ ){0,2}(?:is|are|was|were|has|have|will|gets?)(?![\\w'’]))|${BASE})`,
    always: `(?:${LEAD}${NEVER} (?:${WORK})(?![\\w'’]| (?:with )?(?:the|an?|\\d+) )|(?:you (?:must|should|may|can) |let['’]?s |i(?: want| need|['’]d like| would like) you to )${NEVER} ${VERB}|we (?:always|never) (?:${WORK})(?![\\w'’]| the )|i(?: want| need|['’]d like| would like) you to (?:stop \\p{L}+ing(?!\\p{L})|(?:${WORK})(?![\\w'’])(?=.* (?:(?:before|after|when|whenever|unless) (?:you|each|every|any)|(?:each|every) time)(?![\\w'’])))|stop (?:using (?!the |th[aio]|so |up )|(?:apologi[sz]|assum|comment|committ|edit|explain|force-push|guess|hard-?cod|install|invent|mock|push|rebas|refactor|reformatt|renam|repeat|rewrit|skipp|squash|summari[sz]|touch)ing(?!\\p{L})))`,
  },
  {
    frame:
      "(?:ab|von) (?:jetzt|nun|sofort)(?: an)?|künftig|zukünftig|in zukunft|(?:beim |das )?nächste[ns]? mal",
    order:
      "(?:(?:bitte|immer|nie|niemals|keine?[nr]?|nur|nicht|erst|zuerst|frag|frage|lass|mach|mache|nutze|verwende|benutze|schreib|schreibe|committe|du (?:sollst|musst|darfst))(?!\\p{L})|(?:alle[ns]?|auf|in|jede[ns]?|mit|nach|ohne|vor) [^,;:?]* \\p{L}+en$|(?!bekomm|bist|hast|kann|kenn|sieh|weißt|wirst)\\p{L}+st du(?!\\p{L}))",
    always:
      "(?:immer (?!noch|wieder|mehr)|nie(?:mals)? )(?!(?:.* )?(?:de[mnr]|d[ai][es]|am|beim|im|mit|ohne|vo[mn]|zum) \\p{L}+$)[^.]* (?!ge[^bhn])\\p{L}+en(?=[,!]|$)|(?!habe|hatte|kenne|sehe|verstehe|werde)(?:\\p{L}+e (?:bitte )?|(?:benutze?|frage?|halte?|mache?|nutze?|prüfe?|schreibe?|teste?|verwende?) [^,;:.]{1,40} )(?:immer (?!noch|wieder|mehr)|nie(?:mals)? (?!wieder|mehr))[^.]+|merke? dir(?: bitte)?[:,] (?!dass|wann|wie|wo)[^.]+|denke? (?:bitte )?(?:immer )?da?ran, (?!(?:.* )?(?:de[mnrs]|d[ai][es]|gleich|jetzt|noch) )[^.]* zu \\p{L}+n$",
  },
  {
    frame:
      "désormais|dorénavant|à partir de maintenant|à l['’]avenir|la prochaine fois|n['’]oublie[sz]? pas(?= de)|souviens-toi(?= de)",
    order:
      "(?:ne |n['’]|de |toujours |jamais |merci de |\\p{L}+ez(?!\\p{L})|(?:utilise|demande|laisse|écris|évite|lance|garde|fais|mets)(?!\\p{L})|(?!ce|elle|je|tous|une?)\\p{L}+(?:e|s)[- ](?:en|l[ea]s?|l['’]|moi|une?|d[eu]s?|d['’]|toujours|tous|seulement|avant|\\p{L}+ment)(?!\\p{L}))",
    always:
      "toujours \\p{L}+(?:er|ir|re)(?!\\p{L})[^.]*|ne jamais \\p{L}+(?:er|ir|re)(?!\\p{L})[^.]*|(?:ne |n['’])(?!arrive|compile|démarre|fonctionne|marche|passe)\\p{L}+(?:e|ez|s) jamais [^.]+|(?:utilise|demande|écris|évite|lance|garde|fais|mets)z? toujours [^.]+",
  },
  {
    frame:
      "de ahora en adelante|a partir de ahora|en adelante|en el futuro|la próxima vez|(?:recuerda|acuérdate de)(?= \\p{L}+(?:ar|er|ir)(?!\\p{L}))",
    order:
      "(?:no |siempre |nunca |(?:usa|use|pregunta|escribe|responde|haz|deja|evita|pide|ejecuta)(?!\\p{L})|\\p{L}{2,}(?:me|lo|los|las?)(?!\\p{L})|\\p{L}+(?:ar|er|ir)(?!\\p{L}))",
    always:
      "(?:siempre|nunca) (?:\\p{L}+(?:ar|er|ir)|usa|pregunta|escribe|haz|pide|ejecuta)(?!\\p{L})[^.]*|(?:usa|pregunta|escribe|haz|pide|ejecuta) siempre [^.]+|nunca (?:uses|hagas|toques|borres|escribas|cambies|subas)(?!\\p{L})[^.]*",
  },
  {
    frame:
      "de agora em diante|a partir de agora|daqui em diante|no futuro|da próxima vez|(?:lembre-se|lembra-te)(?= de)",
    order:
      "(?:não |de |sempre |nunca |(?:use|usa|pergunte|pergunta|escreva|faça|deixe|evite|execute)(?!\\p{L}))",
    always:
      "(?:sempre|nunca) (?:\\p{L}+(?:ar|er|ir)|use|pergunte|escreva|execute|rode)(?!\\p{L})[^.]*|(?:use|pergunte|escreva|execute) sempre [^.]+|nunca (?:faça|mexa|apague|escreva|mude)(?!\\p{L})[^.]*",
  },
  {
    frame: "отныне|впредь|с этого момента|в следующий раз|в будущем",
    order: "(?:не |всегда |никогда |\\p{L}+(?:йте|й|ите)(?!\\p{L})|пиши|проси|спроси|делай)",
    always: "(?:всегда|никогда не) \\p{L}+(?:й|йте|ите|ть)(?!\\p{L})[^.]*",
  },
  {
    frame: "从现在(?:起|开始)|今后|以后|下次",
    order: "(?:请|都|不要|别|要|先|必须|记得|只|使?用(?![到于户来]))",
    always:
      "(?:永远|绝对|千万)不要.+|(?:总是|始终)(?:使用|先|用|写|问).+|(?:不要|别)再(?!.*[这那])(?:使?用(?![到于户来])|写|问|提交|推送).+",
  },
  {
    frame: "今後は?|これから(?:は|も)|次回(?:から|は)+|次から(?:は)?",
    order: ".*(?:ください|下さい|しないで|すること|ように|(?<!なっ|れ)て|んで)(?:ね|よ)?[。.!！]?$",
    always:
      "(?:常に|必ず|いつも|決して|絶対に)(?:.*を.*(?<!なっ|れ)(?:て|んで)|.*(?:ください|下さい|しないで|すること|しないこと|ように))(?:ね|よ)?[。.!！]?$",
  },
];

/** Chinese and Japanese write no blank after a word. */
const FRAMED = matchBeginning(({ frame, order }) => {
  const end = /[a-zа-я]/.test(frame) ? "(?!\\p{L})" : "";
  const within = `(?:${order})[^;:]{0,200}[,\\s]+(?:${frame})(?![\\p{L}:])`;
  return `(?:[^,;:?]{3,80}, )?(?:${frame})${end}[,、，:]?\\s*${POLITE}(?:${order})|${within}`;
});
const ANY_FRAME = LANGUAGES.map(({ frame }) => frame).join("|");
/** A first look: most sentences hold none of them, wherever. */
const FRAMES = new RegExp(ANY_FRAME, "iu");
const ALWAYS = matchBeginning(({ always }) => always);
const OPENS = `(?:${LEAD}${NEVER}|${ANY_FRAME})(?!\\p{L})`;
/** Lines of an opening that go on in the next one: whatever that is, or if it is a few words. */
const BROKEN = {
  anyhow: matchStart(
    `${OPENS}(?: ${OPENS})?(?:.* (?:an?|the|and|or|to|of|in|on|at|for|with|by|from|before|after|when|if|you|your|my|our))?$`,
  ),
  shortly: matchStart(`${OPENS} \\p{L}+$`),
};
const OPENED = matchStart(OPENS);
const OWN_ORDER = matchStart(`(?<=.)|${OPENS}|${BASE}`);
/** A line as long was broken by its client or editor. */
const WRAPPED_CHARS = 60;
/** The most words that belong to a verb at the end of the line before. */
const REST_WORDS = 3;

/** Said of the work, of a project, or of a program: only the other words of the sentence tell. */
const ALWAYS_OF = {
  principle: matchStart(`${LEAD}${NEVER} ${IN_GENERAL}$`),
  work: matchStart(
    `${LEAD}${NEVER} ${VERB}|(?:whenever|(?:every|each) time) you [^,;:?]{2,80}, ${VERB}|we (?:always|never) ${VERB}|stop (?:add|ask|chang|creat|delet|introduc|leav|mak|putt|remov|us|writ)ing |next time (?:an?|some|the) [^,;:?]{1,80}, ${VERB}|(?:${LANGUAGES[0]?.frame}),? (?:${LEAD}${VERB}|(?:every|each|all|any|the|our) [^,;:?]{2,60} (?:needs?|must|should|ha(?:s|ve) to)(?![\\w'’]))`,
  ),
  project: matchStart(`(?:we |you )?(?:always|never) (?:${VERB}|${BASE})`),
};

/** Matches a sentence that begins with the form of any language. */
function matchBeginning(form: (language: Language) => string): RegExp {
  return matchStart(LANGUAGES.map(form).join("|"));
}

function matchStart(forms: string): RegExp {
  return new RegExp(`^${POLITE}(?:${forms})`, "iu");
}

/** A clause of place narrows a rule to the project, which it is kept for anyway. */
const HERE =
  /(?<!\p{L})(?:(?:in|for|within|across|throughout) (?:this|our|the) (?:whole |entire )?(?:project|repo(?:sitory)?|code ?base|workspace|monorepo)|(?:in|für) diesem? (?:projekt|repo(?:sitory)?)|dans ce (?:projet|dépôt)|en este (?:proyecto|repo(?:sitorio)?)|neste (?:projeto|repositório)|в этом (?:проекте|репозитории)|在(?:这个|本)(?:项目|仓库)(?:里|中)?|このプロジェクトでは?)(?!\p{L}),?/giu;
/** As much where it is a word that is said of other places too: before an order. */
const BEFORE_ORDER = /(?<=^|, )(?:here|hier|ici|aquí|aqui|здесь)(?!\p{L}),? /giu;
/** Bound to what is at hand, or to a time that ends. */
const BOUND =
  matchPhrases(`this time|for now|right now|just now|until|today|tonight|above|below|(?:use|do|run|call|touch|change|in|for|on|to) (?:this|that|these|those)
  (?<!\\b(?:you|i|we) )(?:do|run|try) it|(?:mind|of it again|fails?|happens)(?=\\W*$)|vorerst|heute|diesmal|cette fois|esta vez|desta vez
  сейчас|сегодня|这次|今回`);
/** Tells of somebody, of who uses a program, or of a text. */
const REPORTED =
  matchPhrases(`users?|customers?|visitors?|says|said|states?|stated|wrote|writes|according to|guidelines?|style ?guide|for example
  e\\.g\\.|sagt|steht|laut|selon|según|segundo|说|と言|と書`);

/** Returns the sentences of a user's message that lay something down beyond its task, as they were written. */
export function standingSentences(message: string): string[] {
  const text = message.trim();
  if (text.length > READ_CHARS.message || text.startsWith("/") || isPastedText(text)) return [];
  const lines = spokenText(text)
    .split("\n")
    .filter((line) => !/^\s*(?:>|\|)/.test(line));
  // A colon at a line's end announces somebody's text.
  const announced = lines.findIndex((line) => /[:：]\s*$/.test(line));
  const own = announced === -1 ? lines : lines.slice(0, announced);
  const said = sentences(unbroken(own).join("\n"));
  // an order on things in general may be a part of the task that stands beside it
  const ruling = said.filter((sentence) => laysDown(sentence, ALWAYS_OF.principle));
  return ruling.length === said.length ? said : ruling.filter((sentence) => laysDown(sentence));
}

/** Joins the lines of an opening that goes on behind a line's end. */
function unbroken(lines: readonly string[]): string[] {
  const whole: string[] = [];
  for (const [at, line] of lines.entries()) {
    const before = whole.at(-1)?.trim() ?? "";
    const isRest = goesOn(before, line.trim(), (lines[at - 1] ?? "").length);
    if (isRest) whole.splice(-1, 1, `${before} ${line.trim()}`);
    else whole.push(line);
  }
  return whole;
}

function goesOn(before: string, line: string, length: number): boolean {
  if (!/^\p{Ll}/u.test(line) || /[.!?:;]$/.test(before)) return false;
  if (BROKEN.anyhow.test(before)) return true;
  if (!OPENED.test(before) || OWN_ORDER.test(line)) return false;
  return length >= WRAPPED_CHARS || (BROKEN.shortly.test(before) && line.split(" ").length <= REST_WORDS);
}

function isPastedText(text: string): boolean {
  const lines = text.split("\n");
  const items = lines.filter((line) => /^\s*(?:[-*+•]|\d+[.)])\s/.test(line)).length;
  return (
    items >= LIST_ITEMS ||
    lines.some((line) => /^\s*#{1,6}\s/.test(line) || /^\s*<[a-z][\w-]*[\s>]/i.test(line))
  );
}

function laysDown(sentence: string, form = ALWAYS): boolean {
  if (sentence.length > READ_CHARS.sentence || isQuestion(sentence)) return false;
  const own = sentence
    .replace(QUOTED, " … ")
    .replace(HERE, " ")
    .replace(BEFORE_ORDER, "")
    .replace(/\s+/g, " ")
    .replace(/^[\s,:]+|\s(?=[,.!])|[.!\s]+$/g, "");
  const isOpened =
    (FRAMES.test(own) && FRAMED.test(own)) ||
    ALWAYS.test(own) ||
    form.test(own) ||
    (OF_THE_WORK.test(own) && ALWAYS_OF.work.test(own)) ||
    (sentence.search(HERE) >= 0 && ALWAYS_OF.project.test(own));
  return isOpened && !BOUND.test(own) && !REPORTED.test(own);
}
