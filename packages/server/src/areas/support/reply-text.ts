/** What somebody wrote, without what their mail program added below. */

/** Stands at the top of every mail of ours, so that whatever comes after it is ours too. */
export const REPLY_LINE = "--- Write your answer above this line ---"

/** Lines that begin a quotation, with its date, or a signature; no text of the sender's own comes after them. */
const ENDS: readonly RegExp[] = [
  /^On (?=.*\d).{1,300}wrote:$/,
  /^Am (?=.*\d).{1,300}schrieb.{0,200}:$/,
  /^Le (?=.*\d).{1,300}a écrit ?:$/,
  /^El (?=.*\d).{1,300}escribió:$/,
  /^-{2,} ?(Original Message|Original-Nachricht|Ursprüngliche Nachricht|Message d'origine|Forwarded message) ?-{2,}$/i,
  /^_{20,}$/,
  // RFC 3676, 4.3
  /^-- ?$/,
]
const LINE_LENGTH_MAX = 1_000
/** Programs break the line that introduces a quotation. */
const INTRODUCTION_LINES_MAX = 3

const endsAt = (lines: readonly string[], at: number): boolean => {
  const line = lines[at] ?? ""
  if (line.includes(REPLY_LINE)) return true
  const whole = Array.from({ length: INTRODUCTION_LINES_MAX }, (_, more) =>
    lines
      .slice(at, at + more + 1)
      .join(" ")
      .slice(0, LINE_LENGTH_MAX)
      .trimEnd(),
  )
  return ENDS.some(pattern => whole.some(text => pattern.test(text)))
}

const isQuoted = (line: string): boolean => /^\s{0,3}>/.test(line)

/** Empty where nothing was written. Characters that no text has are left out. */
export const answerOf = (text: string): string => {
  const plain = text.replaceAll(/\r\n?/g, "\n").replaceAll(/(?![\n\t])\p{Cc}/gu, "")
  const lines = plain.toWellFormed().split("\n")
  const end = lines.findIndex((_, at) => endsAt(lines, at))
  const own = end === -1 ? lines : lines.slice(0, end)
  // What is quoted between the lines of an answer belongs to it; what hangs on at the end does not.
  const last = own.findLastIndex(line => line.trim() !== "" && !isQuoted(line))
  return own
    .slice(0, last + 1)
    .join("\n")
    .trim()
}
