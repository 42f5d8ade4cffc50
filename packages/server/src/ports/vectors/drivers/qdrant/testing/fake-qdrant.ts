/** As much of Qdrant's HTTP API as the driver uses, after its documentation: every search compares all points. */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"

type Fields = Record<string, unknown>

interface Point {
  readonly id: string
  readonly vector: number[]
  readonly payload: Fields
}

interface Collection {
  readonly distance: string
  readonly points: Map<string, Point>
}

const list = (value: unknown): unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

const inRange = (value: unknown, range: Fields): boolean =>
  typeof value === "number" &&
  (range.gt === undefined || value > Number(range.gt)) &&
  (range.gte === undefined || value >= Number(range.gte)) &&
  (range.lt === undefined || value < Number(range.lt)) &&
  (range.lte === undefined || value <= Number(range.lte))

const matches = (value: unknown, match: Fields): boolean => {
  if ("any" in match) return list(match.any).includes(value)
  if ("except" in match) return !list(match.except).includes(value)
  return value === match.value
}

const holds = (condition: Fields, point: Point): boolean => {
  if ("has_id" in condition) return list(condition.has_id).includes(point.id)
  if ("is_empty" in condition) {
    return list(point.payload[(condition.is_empty as { key: string }).key]).length === 0
  }
  if (!("key" in condition)) return fits(condition, point)
  const values = list(point.payload[String(condition.key)])
  if (condition.range) return values.some(value => inRange(value, condition.range as Fields))
  return values.some(value => matches(value, condition.match as Fields))
}

const fits = (filter: Fields, point: Point): boolean => {
  const of = (name: string) => list(filter[name]) as Fields[]
  const should = of("should")
  const min = filter.min_should as { conditions: Fields[]; min_count: number } | undefined
  return (
    of("must").every(condition => holds(condition, point)) &&
    !of("must_not").some(condition => holds(condition, point)) &&
    (should.length === 0 || should.some(condition => holds(condition, point))) &&
    (!min || min.conditions.filter(condition => holds(condition, point)).length >= min.min_count)
  )
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0)

const scoreOf = (distance: string, a: readonly number[], b: readonly number[]): number => {
  if (distance === "Dot") return dot(a, b)
  if (distance === "Cosine") return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
  return Math.hypot(...a.map((value, n) => value - (b[n] ?? 0)))
}

const queryOf = ({ distance, points }: Collection, body: Fields): { points: unknown[] } => {
  const nearest = distance === "Euclid" ? 1 : -1
  const found = [...points.values()]
    .filter(point => fits((body.filter ?? {}) as Fields, point))
    .map(point => ({ ...point, score: scoreOf(distance, body.query as number[], point.vector) }))
    .sort((a, b) => nearest * (a.score - b.score))
  return { points: found.slice(0, Number(body.limit)) }
}

const scroll = ({ points }: Collection, { filter, limit, offset }: Fields) => {
  const found = [...points.values()]
    .filter(point => fits((filter ?? {}) as Fields, point))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const from = offset === undefined ? 0 : found.findIndex(({ id }) => id === offset)
  const to = from + Number(limit)
  return { points: found.slice(from, to), next_page_offset: found[to]?.id ?? null }
}

const onPoints = (collection: Collection, act: string, body: Fields): unknown => {
  const { points } = collection
  switch (act) {
    case "PUT ":
      for (const point of body.points as Point[]) points.set(point.id, point)
      return { status: "completed" }
    case "POST /delete":
      for (const id of body.points as string[]) points.delete(id)
      return { status: "completed" }
    case "POST ":
      return list(body.ids).flatMap(id => points.get(String(id)) ?? [])
    case "POST /query":
      return queryOf(collection, body)
    case "POST /scroll":
      return scroll(collection, body)
    case "POST /count":
      return {
        count: [...points.values()].filter(point => fits((body.filter ?? {}) as Fields, point)).length,
      }
  }
  return undefined
}

export interface FakeQdrant extends AsyncDisposable {
  readonly url: string
  readonly collections: ReadonlyMap<string, Collection>
  /** Refuses every request from now on, or serves again. */
  fail(failing: boolean): void
  /** Loses everything it holds. */
  wipe(): void
}

export const startFakeQdrant = async (key: string): Promise<FakeQdrant> => {
  const collections = new Map<string, Collection>()
  let failing = false

  const answer = async (request: IncomingMessage): Promise<[number, unknown]> => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost")
    const body = (request.headers["content-type"] ? await json(request) : {}) as Fields
    if (failing) return [503, undefined]
    if (request.headers["api-key"] !== key) return [401, undefined]
    if (pathname === "/collections") return [200, { collections: [] }]
    const [, name = "", rest] = /^\/collections\/([\w-]+)(?:\/points(.*))?$/.exec(pathname) ?? []
    const collection = collections.get(name)
    if (rest === undefined && request.method === "PUT") {
      if (collection) return [409, undefined]
      collections.set(name, {
        distance: (body.vectors as { distance: string }).distance,
        points: new Map(),
      })
      return [200, true]
    }
    if (rest === undefined && request.method === "DELETE") return [200, collections.delete(name)]
    if (!collection) return [404, undefined]
    if (rest === undefined) return [200, { status: "green" }]
    const result = onPoints(collection, `${request.method} ${rest}`, body)
    return result === undefined ? [404, undefined] : [200, result]
  }

  const server = createServer(async (request, response) => {
    const [status, result] = await answer(request)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ result }))
  })
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    collections,
    fail(value) {
      failing = value
    },
    wipe: () => collections.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
