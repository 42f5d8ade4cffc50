/** Dates in words to half-open ranges of time, UTC. */

export interface DateRange {
  /** First instant inside; null: open. */
  readonly from: Date | null
  /** First instant after; null: open. */
  readonly to: Date | null
}

export interface DateReading {
  readonly range: DateRange
  /** Characters of the text that were read. */
  readonly length: number
}

type Unit = "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year"

interface Span {
  readonly from: Date
  readonly to: Date
}

const months = "january february march april may june july august september october november december".split(
  " ",
)
const MONTH =
  "(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)"
const DAY = "(\\d{1,2})(?: ?(?:st|nd|rd|th))?"
const YEAR = "((?:19|20)\\d{2})"
const UNIT = "(minute|hour|day|week|month|quarter|year)s?"
const weekdays = "sunday monday tuesday wednesday thursday friday saturday".split(" ")

const utc = (year: number, month = 0, day = 1): Date => new Date(Date.UTC(year, month, day))
const monthOf = (word: string): number => months.findIndex(month => month.startsWith(word.slice(0, 3)))

const floor = (date: Date, unit: Unit): Date => {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (unit === "year") return utc(year)
  if (unit === "quarter") return utc(year, month - (month % 3))
  if (unit === "month") return utc(year, month)
  // ISO weeks begin on Monday, as date_trunc has it.
  if (unit === "week") return utc(year, month, day - ((date.getUTCDay() + 6) % 7))
  if (unit === "day") return utc(year, month, day)
  const size = unit === "hour" ? 3_600_000 : 60_000
  return new Date(Math.floor(date.getTime() / size) * size)
}

export const shift = (date: Date, count: number, unit: Unit): Date => {
  if (unit === "minute") return new Date(date.getTime() + count * 60_000)
  if (unit === "hour") return new Date(date.getTime() + count * 3_600_000)
  if (unit === "day" || unit === "week")
    return new Date(date.getTime() + count * (unit === "day" ? 1 : 7) * 86_400_000)
  const by = unit === "month" ? count : unit === "quarter" ? count * 3 : count * 12
  const moved = new Date(date)
  moved.setUTCDate(1)
  moved.setUTCMonth(moved.getUTCMonth() + by)
  // 31 January and one month is the last of February, as PostgreSQL adds intervals.
  const last = utc(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0).getUTCDate()
  moved.setUTCDate(Math.min(date.getUTCDate(), last))
  return moved
}

const spanOf = (from: Date, unit: Unit, count = 1): Span => ({ from, to: shift(from, count, unit) })

type Rule = readonly [RegExp, (groups: readonly string[], now: Date) => Span | undefined]
const rule = (pattern: string, read: Rule[1]): Rule => [
  new RegExp(`^(?:the )?${pattern}(?![\\p{L}\\p{N}])`, "u"),
  read,
]

const relative = (word: string, unit: Unit, now: Date): Span => {
  const by = /last|previous|prior/.test(word) ? -1 : /next|coming/.test(word) ? 1 : 0
  return spanOf(shift(floor(now, unit), by, unit), unit)
}

const validDay = (year: number, month: number, day: number): Span | undefined => {
  const from = utc(year, month, day)
  return from.getUTCMonth() === month ? spanOf(from, "day") : undefined
}

/** A month without year is the latest that has begun. */
const latestYear = (month: number, now: Date): number =>
  now.getUTCFullYear() - (month > now.getUTCMonth() ? 1 : 0)

const isoSpan = (text: string): Span | undefined => {
  const [year = 0, month = 1, day] = text.split("-").map(Number)
  if (month < 1 || month > 12) return undefined
  return day === undefined ? spanOf(utc(year, month - 1), "month") : validDay(year, month - 1, day)
}

const ordinal: Readonly<Record<string, number>> = { first: 0, second: 1, third: 2, fourth: 3, last: 3 }

const points: readonly Rule[] = [
  rule("(\\d{4}-\\d{2}(?:-\\d{2})?)", ([text = ""]) => isoSpan(text)),
  rule("today", (_, now) => spanOf(floor(now, "day"), "day")),
  rule("yesterday", (_, now) => spanOf(shift(floor(now, "day"), -1, "day"), "day")),
  rule("tomorrow", (_, now) => spanOf(shift(floor(now, "day"), 1, "day"), "day")),
  rule(`(?:last|past|previous|preceding) (\\d+) ${UNIT}`, ([count, unit], now) => {
    const whole = unit === "hour" || unit === "minute" ? now : floor(now, "day")
    return { from: shift(whole, -Number(count), unit as Unit), to: shift(floor(now, "day"), 1, "day") }
  }),
  rule(`(\\d+) ${UNIT} ago`, ([count, unit], now) => {
    const at = shift(now, -Number(count), unit as Unit)
    return spanOf(floor(at, unit === "hour" || unit === "minute" ? (unit as Unit) : "day"), "day")
  }),
  rule(`(last|previous|prior|this|current|next|coming) ${UNIT}`, ([word = "", unit], now) =>
    relative(word, unit as Unit, now),
  ),
  rule(`past ${UNIT}`, ([unit], now) => ({
    from: shift(unit === "hour" || unit === "minute" ? now : floor(now, "day"), -1, unit as Unit),
    to: shift(floor(now, "day"), 1, "day"),
  })),
  rule(`last (${weekdays.join("|")})`, ([day = ""], now) => {
    const back = ((now.getUTCDay() - weekdays.indexOf(day) + 6) % 7) + 1
    return spanOf(shift(floor(now, "day"), -back, "day"), "day")
  }),
  rule(`(?:q([1-4])|(first|second|third|fourth|last) quarter)(?: of)? ${YEAR}`, ([number, word = "", year]) =>
    spanOf(utc(Number(year), (number ? Number(number) - 1 : (ordinal[word] ?? 0)) * 3), "quarter"),
  ),
  rule(`(?:q([1-4])|(first|second|third|fourth) quarter)`, ([number, word = ""], now) =>
    spanOf(utc(now.getUTCFullYear(), (number ? Number(number) - 1 : (ordinal[word] ?? 0)) * 3), "quarter"),
  ),
  rule(`(first|second) half of ${YEAR}`, ([half, year]) =>
    spanOf(utc(Number(year), half === "first" ? 0 : 6), "month", 6),
  ),
  rule(`(?:start|beginning) of ${YEAR}`, ([year]) => spanOf(utc(Number(year)), "day")),
  rule(`end of ${YEAR}`, ([year]) => spanOf(utc(Number(year), 11, 31), "day")),
  rule(`${MONTH} ${DAY}(?: ,)? ${YEAR}`, ([month = "", day, year]) =>
    validDay(Number(year), monthOf(month), Number(day)),
  ),
  rule(`${DAY}(?: of)? ${MONTH}(?: ,)? ${YEAR}`, ([day, month = "", year]) =>
    validDay(Number(year), monthOf(month), Number(day)),
  ),
  rule(`${MONTH}(?: of| ,)? ${YEAR}`, ([month = "", year]) =>
    spanOf(utc(Number(year), monthOf(month)), "month"),
  ),
  rule(`${MONTH} ${DAY}`, ([month = "", day], now) =>
    validDay(latestYear(monthOf(month), now), monthOf(month), Number(day)),
  ),
  rule(`${DAY}(?: of)? ${MONTH}`, ([day, month = ""], now) =>
    validDay(latestYear(monthOf(month), now), monthOf(month), Number(day)),
  ),
  rule(`(?!may )${MONTH}(?! \\d)`, ([month = ""], now) =>
    spanOf(utc(latestYear(monthOf(month), now), monthOf(month)), "month"),
  ),
  rule(`(?:year )?${YEAR}`, ([year]) => spanOf(utc(Number(year)), "year")),
]

const readPoint = (text: string, now: Date): { span: Span; length: number } | undefined => {
  for (const [pattern, read] of points) {
    const match = pattern.exec(text)
    const span = match && read(match.slice(1), now)
    if (match && span) return { span, length: match[0].length }
  }
  return undefined
}

interface Opening {
  readonly pattern: RegExp
  readonly range: (span: Span) => DateRange
}

const openings: readonly Opening[] = [
  {
    pattern: /^(?:since|from|starting(?: from| in| on)?|as of|beginning(?: in| on)?) /,
    range: ({ from }) => ({ from, to: null }),
  },
  { pattern: /^(?:on or after|not before) /, range: ({ from }) => ({ from, to: null }) },
  {
    pattern: /^(?:on or before|until|till|up to|through|by(?: the end of)?|no later than) /,
    range: ({ to }) => ({ from: null, to }),
  },
  { pattern: /^(?:after|later than|following) /, range: ({ to }) => ({ from: to, to: null }) },
  {
    pattern: /^(?:before|prior to|earlier than|older than) /,
    range: ({ from }) => ({ from: null, to: from }),
  },
  {
    pattern: /^(?:in|on|during|within|for|over|throughout|of|at|dated|this)(?: the(?: year| month of)?)? /,
    range: span => span,
  },
]

const readAgo = (text: string, now: Date): DateReading | undefined => {
  const match = new RegExp(`^(more|less|longer|over|fewer) (?:than )?(\\d+) ${UNIT} ago\\b`).exec(text)
  if (!match) return undefined
  const at = shift(floor(now, "day"), -Number(match[2]), match[3] as Unit)
  const before = /more|longer|over/.test(match[1] ?? "")
  return { range: before ? { from: null, to: at } : { from: at, to: null }, length: match[0].length }
}

const readBetween = (text: string, now: Date): DateReading | undefined => {
  const open = /^(?:between|from) /.exec(text)
  const start = open && readPoint(text.slice(open[0].length), now)
  if (!open || !start) return undefined
  const middle = open[0].length + start.length
  const link = (open[0] === "between " ? /^ and / : /^ (?:to|until|till|through|and) /).exec(
    text.slice(middle),
  )
  if (!link) return undefined
  const rest = middle + link[0].length
  const end = readPoint(text.slice(rest), now)
  if (!end) return undefined
  let { from } = start.span
  // `between January and March 2023`: the year stands once, at the end.
  if (from > end.span.from) from = shift(from, end.span.from.getUTCFullYear() - from.getUTCFullYear(), "year")
  return { range: { from, to: end.span.to }, length: rest + end.length }
}

/**
 * Reads a date or a range at the start of the text, with its preposition. A bare year needs one, since it may be any
 * number; pass `bare` where the place in the question makes it a date.
 */
export const readDates = (text: string, now: Date, bare = false): DateReading | undefined => {
  const whole = readAgo(text, now) ?? readBetween(text, now)
  if (whole) return whole
  for (const { pattern, range } of openings) {
    const open = pattern.exec(text)
    const point = open && readPoint(text.slice(open[0].length), now)
    if (open && point) return { range: range(point.span), length: open[0].length + point.length }
  }
  const point = readPoint(text, now)
  if (!point || (!bare && /^\d+$/.test(text.slice(0, point.length)))) return undefined
  return { range: point.span, length: point.length }
}

/** As a literal of PostgreSQL: a date where no time of day matters, else a timestamp with its zone. */
export const dateLiteral = (date: Date): string => {
  const iso = date.toISOString()
  return iso.endsWith("T00:00:00.000Z") ? iso.slice(0, 10) : `${iso.slice(0, 19).replace("T", " ")}+00`
}
