/** What of a message its user typed, as opposed to pasted, or had put in by the client. */

/** A user's message without what was not said: pasted code, logs and tables, tags that clients put in, addresses. */
export function spokenText(text: string): string {
  return text
    .replace(/<([a-z][\w-]*)(?:\s[^>]*)?>[\s\S]*?<\/\1>/g, "\n")
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/^(?:diff --git|@@ |index [0-9a-f]+\.\.|--- |\+\+\+ )[\s\S]*/m, "\n")
    .replace(/\[(?:redacted:[a-z0-9-]+|Image[^\]]*|REDACTED[^\]]*)\]/gi, "\n")
    .replace(/\bhttps?:\/\/\S+|\b[\w.-]+@[\w-]+\.[\w.]+/g, " ")
    .split("\n")
    .filter((line) => !isPasted(line))
    .join("\n");
}

/** A line that a program wrote: a log, a prompt, a stack frame, a table, code. */
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
