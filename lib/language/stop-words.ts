/** Words that say nothing about what a question is after: English first, then the other languages questions come in. */

import { foldText } from "./words.ts";

const ENGLISH = `
a about above after again all already also always am an and any anybody anyone anything are around as ask asked at away
back be because been before being below between both but by came can come could d did do does doing done down during each
either else etc even ever every few for from further gave get give given go goes going gone got had has have having he her
here hers herself him himself his how however i if in instead into is it its itself just kind knew know known last least
less let like little ll lot m made make many may maybe me might mine more most much must my myself near need needed neither
never next no nobody none nor not nothing now of off often ok okay on once one ones only onto or other our ours ourselves
out over own per perhaps please put quite rather re really s said same saw say see seen shall she should since so some
somebody someone something still such t take taken tell than that the their theirs them themselves then there these they
thing things think this those though through thus till to together told too took toward towards under until up upon us use
used using ve very via want wanted wants was way ways we went were what whatever when where whether which whichever while
who whoever whom whose why will with within without would yes yet you your yours yourself`;

const OTHERS = `
aber als am an auch auf aus bei bis da das dass dem den der des die doch durch ein eine einem einen einer eines er es fur
gab habe haben hat hatte hatten hinter ich ihm ihn ihr ihre im in ist ja jetzt kann kein keine konnte man mehr mein mich
mir mit nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so uber um und uns unser unter vom von vor
wann war waren warum was weil welche welcher welches welchen wem wen wenn wer werden wie wir wird wo woran worden wurde
wurden zu zum zur
ai as au aux avec avoir avons c ce ces cet cette comment d dans de des du elle elles en est et etait ete eu il ils j je l
la le les leur leurs lors lui ma mais me meme mes mon n ne nos notre nous on ont ou par pas plus pour pourquoi qu quand que
quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur ta te tes toi ton tu un une vos votre vous y
al algo como con cual cuales cuando cuanto de del donde dos el ella ellas ellos en era eran eres es esa ese eso esta estaba
este esto fue fueron ha habia han hasta hay he la las le les lo los mas me mi mis muy no nos nosotros nuestra nuestro o
para pero por porque que quien se ser si sin sobre son su sus te tiene tu un una unas uno unos y ya yo
ao aos as ate com como da das de dela dele do dos e ela elas ele eles em era essa esse esta este eu foi foram ha isso isto
ja lhe mais mas me meu minha muito na nao nas nem no nos nossa nosso num o onde os ou para pela pelas pelo pelos por porque
qual quais quando que quem sao se sem ser seu sua tem um uma umas uns voce
а без бы был была были было быть в во вот все всё вы где да для до его ее её если есть же за и из или им их к как какая
какие какой какое когда которые который кто ли мне мой мы на над наш не него нее нет ни но о об он она они от очень по под
почему при с со так там то тоже только ты у уже чем что чтобы эта эти это этот я`;

/** Lower case, without accents. */
export const STOP_WORDS: ReadonlySet<string> = new Set(`${ENGLISH} ${OTHERS}`.trim().split(/\s+/));

/** Words that say nothing in a name, though a question may be after them. */
const EMPTY_IN_NAMES = new Set(
  `although two three four five six ten another thank thanks hi hey hello lets gonna wanna needs well actually basically
makes making everything stuff bit sort able don doesn didn isn aren wasn won dont doesnt cant look looks looking try trying
help mean new konnen soll sollen muss mussen dich dir euch dein dass immer wieder bitte danke mal hier dort dann etre ou
estar favor`.split(/\s+/),
);

/** Returns whether a word only holds others together, in a name. */
export function isFunctionWord(word: string): boolean {
  const folded = foldText(word);
  return STOP_WORDS.has(folded) || EMPTY_IN_NAMES.has(folded);
}

/** Shorter words are marked in too many others. */
const MARKED_MIN = 3;

/** The words of a command line that are worth marking in what it finds. */
export function wordsToMark(args: readonly string[]): string[] {
  const words = args.filter((arg) => !arg.startsWith("-")).flatMap((arg) => arg.split(/[^\p{L}\p{N}_]+/u));
  return words.filter((word) => word.length >= MARKED_MIN && !isFunctionWord(word));
}
