/** Names of days, months, feasts and times of day in the languages questions come in; folded, lower case. */

export const LAST_DAY = 31;

const MONTHS = `
january jan januar janner janvier enero janeiro января январь январе|february feb februar fevrier febrero fevereiro февраля февраль феврале
march mar marz mars marzo marco марта март марте|april apr avril abril апреля апрель апреле|may mai mayo maio мая май мае
june jun juni juin junio junho июня июнь июне|july jul juli juillet julio julho июля июль июле|august aug aout agosto августа август августе
september sep sept septembre septiembre setembro сентября сентябрь сентябре|october oct oktober okt octobre octubre outubro октября октябрь октябре
november nov novembre noviembre novembro ноября ноябрь ноябре|december dec dezember dez decembre diciembre dezembro декабря декабрь декабре`;

/** Words of their own too: months only with something beside them that says so. */
export const AMBIGUOUS_MONTHS = new Set(
  "may march mai mar mars jan dec dez sep jun jul mae мае mayo marco marzo".split(" "),
);

export const FEASTS: [pattern: RegExp, month: number, first: number, last: number][] = [
  [
    /\b(?:christmas|xmas|x-mas) eve\b|\bheiligabend\b|\bnochebuena\b|\bveille de noel\b|\bvespera de natal\b/,
    12,
    24,
    24,
  ],
  [/\bboxing day\b/, 12, 26, 26],
  [/\b(?:christmas|xmas|x-mas|weihnachten|noel|navidad|natal)\b|рождеств/, 12, 23, 27],
  [/\bnew year'?s eve\b|\bsilvester\b|\bnochevieja\b/, 12, 31, 31],
  [
    /\bnew year'?s?(?: day)?\b|\bneujahr\b|\bnouvel an\b|\bano nuevo\b|\bano novo\b|нов(?:ый|ого) год/,
    1,
    1,
    3,
  ],
  [/\bvalentine'?s?(?: day)?\b|\bvalentinstag\b/, 2, 14, 14],
  [/\bhalloween\b/, 10, 31, 31],
  [/\b(?:fourth|4th) of july\b|\bindependence day\b/, 7, 4, 4],
  [/\bthanksgiving\b/, 11, 22, 28],
];

export const DAY_PARTS: [pattern: RegExp, from: number, to: number][] = [
  [/\bearly (?:in the )?morning\b|\bfruhmorgens\b/, 4, 9],
  [/\bearly (?:in the )?evening\b|\bfruhen abend\b|\bdebut de soiree\b/, 17, 20],
  [/\blate (?:in the )?morning\b/, 9, 12],
  [/\b(?:midday|noon|lunch ?time|midi|mittags?|mediodia|meio-dia)\b|полд(?:ень|ня)/, 11, 14],
  [/\bmorning\b|\b(?:vormittags?|morgens|matin|por la manana|de manha)\b|утр(?:ом|а)/, 6, 12],
  [/\bafternoon\b|\b(?:nachmittags?|apres-midi|por la tarde|a tarde)\b/, 12, 18],
  [/\bevening\b|\b(?:abends?|soir|soiree)\b|вечер/, 17, 24],
  [/\b(?:night|midnight|nachts|nuit|por la noche|noite)\b|ноч(?:ью|и)/, 21, 29],
];

export const MONTH_NUMBERS = new Map(
  MONTHS.trim()
    .split(/[|\n]/)
    .flatMap((names, i) => names.split(" ").map((name) => [name, i + 1] as const)),
);
export const PARTS_OF_MONTH: [pattern: RegExp, first: number, last: number][] = [
  [/^(?:early|anfang|debut|principios)/, 1, 10],
  [/^(?:mid|mitte|mi|mediados)/, 11, 20],
  [/^(?:late|ende|fin|finales)/, 21, LAST_DAY],
];
export const FOREIGN_RELATIVE: [pattern: RegExp, word: string][] = [
  [/\bheute\b|\baujourd'?hui\b|\bhoy\b|\bhoje\b|сегодня/, "today"],
  [
    /\bgestern\b|\bhier (?:soir|matin|nous|on)\b|\b(?:avons|fait|ai|nous|on)\b.*\bhier\b|\bayer\b|\bontem\b|вчера/,
    "yesterday",
  ],
  [
    /\b(?:letzte|vergangene) woche\b|\bsemaine derniere\b|\bsemana pasada\b|\bsemana passada\b|прошл\S+ недел/,
    "last week",
  ],
];
