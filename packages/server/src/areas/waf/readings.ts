/** The parts of a request in which rules look: each as it was sent, and as a server behind may read it. */
import type { WafTarget } from "@svc/contract"
import type { Seen } from "../../services/proxy/inspector.ts"

/** One way to read a part of a request. */
export interface Reading {
  readonly text: string
  readonly lower: string
}

export interface Part {
  /** As events name it. */
  readonly name: string
  readonly readings: readonly Reading[]
}

/** What is encoded over and over is decoded this often; a server that decodes more often is none that we know. */
const DECODINGS_MAX = 3

class LazyReading implements Reading {
  readonly text: string
  #lower: string | undefined

  constructor(text: string) {
    this.text = text
  }

  get lower(): string {
    this.#lower ??= this.text.toLowerCase()
    return this.#lower
  }
}

const readingsOf = (texts: Iterable<string>): Reading[] =>
  [...new Set(texts)].map(text => new LazyReading(text))

const unescapeBytes = (text: string): string =>
  text
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, run => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"))
    // As IIS reads it.
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** The text, and what it becomes when it is decoded once and again. */
const decodings = (text: string): string[] => {
  const found = [text]
  for (let last = text; found.length <= DECODINGS_MAX && last.includes("%"); ) {
    const next = unescapeBytes(last)
    if (next === last) break
    found.push(next)
    last = next
  }
  return found
}

/** In forms a plus is a space. */
const formDecodings = (text: string): string[] => {
  const spaced = text.includes("+") ? decodings(text.replaceAll("+", " ")) : []
  return [...decodings(text), ...spaced]
}

/** Without dots, doubled slashes and backslashes. */
const normalPath = (path: string): string => {
  const kept: string[] = []
  const segments = path.replaceAll("\\", "/").split("/")
  for (const segment of segments) {
    if (segment === "..") kept.pop()
    else if (segment !== "." && segment !== "") kept.push(segment)
  }
  const last = segments.at(-1)
  const isFolder = kept.length > 0 && (last === "" || last === "." || last === "..")
  return `/${kept.join("/")}${isFolder ? "/" : ""}`
}

const ODD_PATH = /[\\.%]|\/\//

const pathReadings = (path: string): Reading[] => {
  if (!ODD_PATH.test(path)) return readingsOf([path])
  const decoded = decodings(path)
  return readingsOf([...decoded, ...decoded.map(normalPath)])
}

const unescapeJson = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll("\\/", "/")

const bodyReadings = ({ request, body }: Seen): Reading[] => {
  if (body === undefined || body.length === 0) return []
  const text = body.toString("utf8")
  const isForm = request.headers["content-type"]?.includes("urlencoded") === true
  const decoded = isForm ? formDecodings(text) : decodings(text)
  return readingsOf(text.includes("\\") ? [...decoded, unescapeJson(text)] : decoded)
}

const headerParts = ({ request: { rawHeaders } }: Seen): Part[] => {
  const parts: Part[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase()
    if (name === "cookie") continue
    parts.push({
      name: `header:${name}`,
      readings: readingsOf(decodings(`${name}: ${rawHeaders[at + 1] ?? ""}`)),
    })
  }
  return parts
}

const cookieParts = ({ request }: Seen): Part[] =>
  (request.headers.cookie ?? "").split(";").flatMap(pair => {
    const text = pair.trim()
    if (text === "") return []
    return [{ name: `cookie:${text.split("=", 1)[0] ?? ""}`, readings: readingsOf(decodings(text)) }]
  })

const one = (name: string, readings: Reading[]): Part[] => (readings.length === 0 ? [] : [{ name, readings }])

const queryOf = (target: string): string | undefined => {
  const at = target.indexOf("?")
  return at < 0 ? undefined : target.slice(at + 1)
}

export const pathOf = (target: string): string => target.split("?", 1)[0] ?? ""

const READERS: Readonly<Record<WafTarget, (seen: Seen) => Part[]>> = {
  path: ({ target }) => one("path", pathReadings(pathOf(target))),
  query({ target }) {
    const query = queryOf(target)
    return query === undefined ? [] : one("query", readingsOf(formDecodings(query)))
  },
  headers: headerParts,
  cookies: cookieParts,
  body: seen => one("body", bodyReadings(seen)),
  user_agent: ({ request }) => {
    const agent = request.headers["user-agent"]
    return agent === undefined ? [] : one("header:user-agent", readingsOf(decodings(agent)))
  },
  method: ({ request }) => one("method", readingsOf([request.method ?? ""])),
  ip: ({ address }) => one("ip", readingsOf([address])),
}

/** The parts of a request that are of one kind. */
export const readParts = (target: WafTarget, seen: Seen): readonly Part[] => READERS[target](seen)
