/** Which headers a proxy passes on (RFC 9110, 7.6.1), as Node has them: name, value, name, value… */
import { CONNECTION_HEADERS } from "../connection-headers.ts"
import { SESSION_COOKIES } from "../stages/authenticate.ts"

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...CONNECTION_HEADERS,
  ...["proxy-authenticate", "proxy-authorization"],
])

type Pair = readonly [name: string, value: string]

const pairsOf = (raw: readonly string[]): Pair[] =>
  raw.flatMap((name, at): Pair[] => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : []))

const endToEnd = (raw: readonly string[]): Pair[] => {
  const pairs = pairsOf(raw)
  const named = pairs
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) =>
      value
        .toLowerCase()
        .split(",")
        .map(option => option.trim()),
    )
  const dropped = new Set([...HOP_BY_HOP, ...named])
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()))
}

const FORWARDED = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-svc-.*)$/i
const isSession = (cookie: string): boolean =>
  SESSION_COOKIES.some(name => cookie.trim().startsWith(`${name}=`))

/** Without a session of the platform's own, wherever the browser got the idea to send it. */
const cookiesOf = (value: string): string =>
  value
    .split(";")
    .filter(cookie => !isSession(cookie))
    .join(";")
    .trim()

/** What the workload sees of a request. */
export const requestHeaders = (
  raw: readonly string[],
  client: {
    readonly address: string
    readonly scheme: string
    readonly host: string
    /** Of other headers, in lower case: what the client sent under them is replaced or left out. */
    readonly dropped?: ReadonlySet<string>
  },
): string[] => {
  const passed = endToEnd(raw)
    .filter(([name]) => !FORWARDED.test(name) && !client.dropped?.has(name.toLowerCase()))
    .map(([name, value]): Pair => [name, name.toLowerCase() === "cookie" ? cookiesOf(value) : value])
    .filter(([name, value]) => value !== "" || name.toLowerCase() !== "cookie")
  const { address, scheme, host } = client
  return [
    ...passed.flat(),
    ...["X-Forwarded-For", address, "X-Forwarded-Proto", scheme, "X-Forwarded-Host", host],
  ]
}

/** What the client sees of an answer. A cookie for the whole domain would be one for other workloads. */
export const responseHeaders = (raw: readonly string[]): string[] =>
  endToEnd(raw).flatMap(([name, value]) => [
    name,
    name.toLowerCase() === "set-cookie" ? value.replace(/;\s*domain\s*=[^;]*/gi, "") : value,
  ])
