/** Words for people, from names for programs. */

const CAPITALS = new Map(
  "ID IDs URL URLs IP IPs SQL TTL API MFA TOTP SSH HTTP HTTPS DNS AI CPU vCPUs MB GB ms HTML JSON CSV URI URIs JWKS SDK MCP RAG S3 OAuth SMTP TLS PII VCS CIDR"
    .split(" ")
    .map(word => [word.toLowerCase(), word]),
)

/** `event_types` → `Event types`, `tenant_id` → `Tenant ID`. */
export const labelOf = (name: string): string => {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[\s_.-]+/)
    .map(word => word.toLowerCase())
    .filter(word => word !== "")
    .map(word => CAPITALS.get(word) ?? word)
  const text = words.join(" ")
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const TITLE_LENGTH_MAX = 64

/** An operation's summary up to where it begins to explain. */
export const titleOf = (summary: string): string => {
  const plain = summary.replaceAll("`", "")
  if (plain.length <= TITLE_LENGTH_MAX) return plain
  const head = /^[^:;,(]{12,}/.exec(plain)?.[0].trim() ?? plain
  return head.length <= TITLE_LENGTH_MAX + 16
    ? head
    : `${head.slice(0, TITLE_LENGTH_MAX).replace(/\s\S*$/, "")}…`
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
]
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

export const agoOf = (time: string, now = Date.now()): string => {
  const seconds = (Date.parse(time) - now) / 1000
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const)
  return relative.format(Math.round(seconds / size), unit)
}

export const bytesOf = (bytes: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"]
  const at = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** at).toLocaleString("en", { maximumFractionDigits: at === 0 ? 0 : 1 })} ${units[at]}`
}
