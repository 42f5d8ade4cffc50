import { agoOf, bytesOf } from "../derived/labels.ts"

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/
const CELL_LENGTH_MAX = 80

/** Words that say how a thing is; with a mark, so that colour says nothing alone. */
const GOOD =
  /^(active|available|ready|running|succeeded|success|delivered|completed|healthy|verified|sent|approved|idle|enabled|paid|ok)$/
const BAD =
  /^(failed|error|failing|unhealthy|bounced|rejected|expired|revoked|dead|not_configured|complained)$/
const WAITS =
  /^(pending|queued|building|creating|starting|stopping|degraded|suspended|paused|scheduled|retrying|processing|running_setup)$/

const toneOf = (text: string): string | undefined => {
  if (GOOD.test(text)) return "good"
  if (BAD.test(text)) return "bad"
  return WAITS.test(text) ? "waits" : undefined
}

const MARKS: Readonly<Record<string, string>> = { good: "●", bad: "▲", waits: "◐" }

export const Status = ({ text }: { readonly text: string }) => {
  const tone = toneOf(text) ?? "neutral"
  return (
    <span className={`status ${tone}`}>
      <span aria-hidden="true">{MARKS[tone] ?? "○"}</span> {text.replaceAll("_", " ")}
    </span>
  )
}

export const Time = ({ time }: { readonly time: string }) => (
  <time dateTime={time} title={`${new Date(time).toLocaleString()} (${time})`}>
    {agoOf(time)}
  </time>
)

export const ShortId = ({ id }: { readonly id: string }) => (
  <code className="id" title={id}>
    {id.slice(0, 8)}
  </code>
)

const cut = (text: string) => (text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX)}…` : text)

const isBytes = (name: string) => /(^|_)(bytes|size)$/.test(name)

/** One value as people read it; of a large one the beginning. */
export const Value = ({
  name,
  value,
  whole,
}: {
  readonly name: string
  readonly value: unknown
  readonly whole?: boolean
}) => {
  if (value === null || value === undefined || value === "") return <span className="none">–</span>
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>
  if (typeof value === "number")
    return <span className="number">{isBytes(name) ? bytesOf(value) : value.toLocaleString("en")}</span>
  if (typeof value === "string") {
    if (UUID.test(value)) return whole ? <code className="id">{value}</code> : <ShortId id={value} />
    if (TIME.test(value) && !Number.isNaN(Date.parse(value))) return <Time time={value} />
    if (/^(status|state|health|result|outcome)$/.test(name)) return <Status text={value} />
    return <>{whole ? value : cut(value)}</>
  }
  if (Array.isArray(value) && value.every(item => typeof item === "string")) {
    const text = value.join(", ")
    return text === "" ? <span className="none">–</span> : whole ? text : cut(text)
  }
  const text = JSON.stringify(value, null, whole ? 2 : 0)
  return whole ? <pre className="inner">{text}</pre> : <code>{cut(text)}</code>
}
