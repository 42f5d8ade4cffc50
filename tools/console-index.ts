/** The contract as the console reads it: packages/console/src/model.ts has the shapes. */
import { type Area, allAreas, isList, isScoped, type Operation, refusesReadOnly } from "@svc/contract"
import type {
  AreaFile,
  AreaRow,
  Caller,
  Details,
  EffectLetter,
  ListShape,
  OperationTuple,
  Schema,
} from "../packages/console/src/model.ts"

/** Where an area stands in the navigation. One that is not named here stands under "More" until it is. */
const GROUPS: Readonly<Record<string, string>> = {
  Data: "databases sql schema advice storage s3 kv vectors search encryption",
  Run: "functions services deployments computers sandboxes cron builds registry runs workflows",
  Messages: "email events webhooks notifications",
  Users: "auth",
  Intelligence: "ai aiText aiDocuments rag research mcp",
  Edge: "domains loadBalancers lb waf firewalls networks vpc integrations",
  Organization:
    "keys approvals organizations projects usage billing compliance audit connectedApps oauth oauthPages support account identity me",
}

const groupOf = (name: string): string =>
  Object.entries(GROUPS).find(([, names]) => names.split(" ").includes(name))?.[0] ?? "More"

const CALLERS: Readonly<Record<string, Caller>> = { public: "p", publishable: "k", "end-user": "u" }

const callerOf = ({ scope }: Operation): Caller => (typeof scope === "string" ? (CALLERS[scope] ?? "s") : "s")

const effectOf = (operation: Operation): EffectLetter => {
  if (operation.effect === "destroy") return "d"
  return operation.effect === "read" || !refusesReadOnly(operation) ? "r" : "w"
}

const successOf = ({ replies }: Operation): Schema | undefined =>
  Object.values(replies).find(reply => reply !== null) as Schema | undefined

/** What tells rows apart comes first, then how they are, what they are, how large, and when. */
const RANKS = [
  /^(name|title|email|subject|path|key|slug|label|host|domain)$/,
  /^(status|state|health|active|enabled|ready)$/,
  /(^|_)(type|kind|role|plan|engine|method|action|event|model|runtime|scopes|url|provider|event_types)$/,
  /(bytes|size|count|total|version|number)$/,
  /^(last_|expires_|next_).*_at$/,
  /^(created|updated|sent|started|finished)_at$/,
  /^id$/,
  /_at$/,
]
/** Other things' ids, and what only fills the row. */
const LAST = RANKS.length + 1
const rankOf = (name: string, { type }: Schema): number => {
  const rank = RANKS.findIndex(pattern => pattern.test(name))
  if (rank >= 0) return rank
  return /_id$/.test(name) || type === "object" || type === "array" ? LAST : RANKS.length
}

const COLUMNS_MAX = 7

const columnsOf = (row: Schema | undefined): readonly string[] =>
  Object.entries(row?.properties ?? {})
    .map(([name, schema], at) => ({ name, rank: rankOf(name, schema), at }))
    .sort((one, other) => one.rank - other.rank || one.at - other.at)
    .slice(0, COLUMNS_MAX)
    .map(({ name }) => name)

const LISTS = /^(list|search)|List$|History$/

/** The field of the reply whose rows are the reply. */
const listOf = (operation: Operation): ListShape | undefined => {
  const reply = successOf(operation)
  if (!reply) return undefined
  const lists = Object.entries(reply.properties ?? {}).filter(
    ([, { type, items }]) =>
      type === "array" && (items?.type === "object" || items?.properties !== undefined),
  )
  const whole = isList(reply as Parameters<typeof isList>[0])
  const found = whole
    ? lists.find(([name]) => name === "data")
    : LISTS.test(operation.id)
      ? lists[0]
      : undefined
  return found && { field: found[0], columns: columnsOf(found[1].items) }
}

/** Leaves out what is not there, so that the files stay small. */
const compact = (details: { readonly [Name in keyof Details]: Details[Name] | undefined }): Details =>
  Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined)) as unknown as Details

const detailsOf = (operation: Operation): Details => {
  const { description, params, query, headers, body, bodyAs, content, example, secrets } = operation
  const isMutation = operation.effect === "write" || operation.effect === "destroy"
  return compact({
    description,
    scopes: isScoped(operation) ? ([operation.scope].flat() as string[]) : undefined,
    params: params as Schema | undefined,
    query: query as Schema | undefined,
    headers: headers as Schema | undefined,
    body: body as Schema | undefined,
    bodyAs,
    sends: content?.request,
    replies: content?.reply,
    subprotocol: operation.subprotocol,
    envelope: operation.envelope,
    rest: operation.rest,
    project: operation.project !== "none",
    risk: operation.risk === undefined ? undefined : true,
    keyed:
      isMutation && (operation.idempotency ?? "idempotency-key") === "idempotency-key" ? true : undefined,
    secrets,
    example,
    list: listOf(operation),
  })
}

type Row = Omit<AreaRow, "file">

export interface RenderedAreas {
  readonly areas: readonly Row[]
  readonly operations: readonly OperationTuple[]
  /** In the order of `areas`. */
  readonly details: readonly { readonly area: string; readonly file: AreaFile }[]
}

const tupleOf = (operation: Operation, area: number): OperationTuple => [
  operation.id,
  operation.key,
  area,
  operation.method,
  operation.path,
  operation.summary,
  effectOf(operation),
  callerOf(operation),
  listOf(operation) ? 1 : 0,
]

export const renderAreas = (areas: readonly Area[] = allAreas): RenderedAreas => ({
  areas: areas.map(({ name, title, summary }) => ({ name, title, summary, group: groupOf(name) })),
  operations: areas.flatMap((area, at) =>
    Object.values(area.operations).map(operation => tupleOf(operation, at)),
  ),
  details: areas.map(area => ({
    area: area.name,
    file: Object.fromEntries(
      Object.values(area.operations).map(operation => [operation.id, detailsOf(operation)]),
    ),
  })),
})
