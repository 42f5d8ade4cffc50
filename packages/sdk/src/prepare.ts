import { writeNumbers } from "./numbers.ts"
import type { Route } from "./route.ts"
import type { Settings } from "./settings.ts"
import type { CallOptions, RequestBody } from "./surface.ts"

type Fields = Readonly<Record<string, unknown>>
type Options = CallOptions & { readonly body?: RequestBody | undefined }

/** A request that can be sent as often as its `repeatable` allows: each time the same bytes and the same key. */
export interface Prepared {
  readonly url: string
  readonly init: RequestInit
  readonly route: Route
  readonly repeatable: boolean
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
}

const acceptOf = { json: "application/json", sse: "text/event-stream, application/json" } as const

const typeOf: Readonly<Record<string, string>> = {
  json: "application/json",
  bytes: "application/octet-stream",
  form: "application/x-www-form-urlencoded",
  gzip: "application/gzip",
}

/** Splits the flat input over path, query and body. Throws TypeError on a path parameter that cannot travel. */
export const prepare = (settings: Settings, route: Route, input: Fields, options: Options): Prepared => {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = fillPath(route, rest)
  const query = takeQuery(route, rest)
  const body = bodyOf(route, rest, options)
  const streamed = body instanceof ReadableStream

  return {
    url: `${settings.baseUrl}${path}${query}`,
    init: {
      method: route.method,
      headers: headersOf(settings, route, body, options),
      ...(body === undefined ? {} : { body: body }),
      ...(takesFields(route) || body === undefined ? {} : asItIsRead),
      ...(streamed ? { duplex: "half" } : {}),
      ...(settings.credentials ? { credentials: settings.credentials } : {}),
    } as RequestInit,
    route,
    repeatable: !route.once && !streamed,
    signal: options.signal,
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
  }
}

/** Whether fields of the input travel in the body. */
const takesFields = ({ body }: Route): boolean => body === "json" || body === "form"

const bodyOf = (route: Route, rest: ReadonlyMap<string, unknown>, options: Options) => {
  if (route.body === "json") return jsonBody(route, rest)
  return route.body === "form" ? formBody(rest) : options.body
}

const formBody = (rest: ReadonlyMap<string, unknown>): string => {
  const fields = new URLSearchParams()
  for (const [name, value] of rest)
    for (const item of Array.isArray(value) ? value : [value]) fields.append(name, queryText(item))
  return fields.toString()
}

/** Fields beside the one that is the whole body have no place to travel in. */
const jsonBody = ({ method, path, bodyAs }: Route, rest: ReadonlyMap<string, unknown>): string => {
  const fields = Object.fromEntries(rest)
  if (bodyAs === undefined) return writeNumbers(fields)
  const surplus = Object.keys(fields).find(name => name !== bodyAs)
  if (surplus !== undefined) throw new TypeError(`${method} ${path} has no field ${surplus}`)
  return writeNumbers(fields[bodyAs] ?? {})
}

const fillPath = (route: Route, rest: Map<string, unknown>): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name) ?? "")
    rest.delete(name)
    // URL parsers resolve dot segments even when escaped, and an empty one is another route.
    if (value === "" || value === "." || value === "..")
      throw new TypeError(`${route.method} ${route.path} cannot carry ${JSON.stringify(value)} as ${name}`)
    return encodeURIComponent(value)
  })

const takeQuery = (route: Route, rest: Map<string, unknown>): string => {
  // A field that the table does not know travels too: the platform names it in its refusal.
  const names = takesFields(route) ? (route.query ?? []) : [...rest.keys()]
  const search = new URLSearchParams()
  for (const name of names) {
    const value = rest.get(name)
    rest.delete(name)
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, queryText(item))
  }
  return search.size > 0 ? `?${search}` : ""
}

const queryText = (value: unknown): string =>
  typeof value === "object" ? writeNumbers(value) : String(value)

const headersOf = (
  settings: Settings,
  route: Route,
  body: RequestBody | undefined,
  options: Options,
): Headers => {
  const project = options.project ?? settings.project
  // Repeating some operations changes nothing more; a key would only cost the platform a record. A given one is sent.
  const idempotencyKey = options.idempotencyKey ?? (route.keyed ? crypto.randomUUID() : undefined)
  const type = body === undefined || body instanceof FormData ? undefined : typeOf[route.body ?? ""]
  return mergeHeaders(
    { accept: route.reply ? (route.reply === "sse" ? acceptOf.sse : "*/*") : acceptOf.json },
    type ? { "content-type": type } : {},
    settings.headers,
    project && route.project ? { "x-svc-project": project } : {},
    idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    options.headers ?? {},
  )
}

/**
 * By the Fetch standard a body is copied in case the request is redirected or a window is asked for credentials, and
 * the copy that nobody reads is held whole. Nothing here ever redirects an upload.
 */
export const asItIsRead = { redirect: "error", window: null } as const

/** Later headers replace earlier ones of the same name, in whatever case it is written. */
export const mergeHeaders = (...sources: readonly Readonly<Record<string, string>>[]): Headers => {
  const headers = new Headers()
  for (const source of sources) for (const [name, value] of Object.entries(source)) headers.set(name, value)
  return headers
}
