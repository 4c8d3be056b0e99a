/** Separates what a user typed from what was pasted or inserted by the client. */

/** Removes what the user did not write: pasted code, logs and tables, tags inserted by clients, addresses. */
export function spokenText(text: string): string {
  return withoutElements(text)
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/^(?:diff --git|@@ |index [0-9a-f]+\.\.|--- |\+\+\+ )[\s\S]*/m, "\n")
    .replace(/\[(?:redacted:[a-z0-9-]+|Image[^\][]{0,200}|REDACTED[^\][]{0,200})\]/gi, "\n")
    .replace(/\bhttps?:\/\/\S+|(?<![\w.-])[\w.-]{1,64}@[\w-]{1,63}\.[\w.]+/g, " ")
    .split("\n")
    .filter((line) => !isPasted(line))
    .join("\n");
}

const OPENING = /<([a-z][\w-]{0,60})(?:\s[^<>]{0,400})?>/g;
/** After so many elements that never end, text is taken for no markup. */
const UNENDED_MAX = 50;

/** Returns the text without elements that end, in one pass. */
function withoutElements(text: string): string {
  const unended = new Set<string>();
  let result = "";
  let done = 0;
  OPENING.lastIndex = 0;
  for (let match = OPENING.exec(text); match && unended.size < UNENDED_MAX; match = OPENING.exec(text)) {
    const closing = `</${match[1]}>`;
    const end = unended.has(closing) ? -1 : text.indexOf(closing, OPENING.lastIndex);
    if (end === -1) {
      unended.add(closing);
      continue;
    }
    result += `${text.slice(done, match.index)}\n`;
    done = end + closing.length;
    OPENING.lastIndex = done;
  }
  return result + text.slice(done);
}

/** Returns whether a program wrote a line: a log, a prompt, a stack frame, a table, code. */
function isPasted(line: string): boolean {
  const text = line.trim();
  if (text === "" || text.length > 1500 || text.startsWith("| ")) return text !== "";
  if (
    /^(?:[>|│┃┌└├╭╰*#]{1,3}\s*)?(?:\(\w+\) )?(?:\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|at \S+ ?\(|File "|Traceback|Caused by|\S+@\S+[:~].*[$#] |[$%❯➜] |npm ERR|error(?:\[\w+\])?: |warning: |\w*(?:Error|Exception)\b)/.test(
      text,
    )
  )
    return true;
  if (/^\s{4,}\S|^\t/.test(line) && !/^\s*(?:[-*•]|\d+[.)])\s/.test(line)) return true;
  const letters = text.match(/[\p{L}\s]/gu)?.length ?? 0;
  return (
    letters / text.length < 0.6 ||
    /[;{}]$|=>|^\s*(?:import|const|let|var|def|function|class|return|SELECT|INSERT) /.test(text)
  );
}
