/** Names in place of ids, and ids that the key itself knows. */
import type { Operation } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { commandOf, kebab } from "./commands.ts"
import { allPages } from "./extras/pages.ts"
import { UsageError } from "./terminal.ts"

type Input = Readonly<Record<string, unknown>>
type Row = Readonly<Record<string, unknown>>

interface Collection {
  /** Operations whose path begins so address one member. */
  readonly path: string
  /** Field of the path that takes its id. */
  readonly field: string
  /** Operation that lists the members, and the fields that it needs. */
  readonly list: string
  readonly listFields?: readonly string[]
  /** Field of a member that has its name. */
  readonly name?: string
  readonly what: string
}

/** Without functions and buckets, whose names the platform takes itself. */
const collections: readonly Collection[] = [
  { path: "/v1/computers/{id}", field: "id", list: "computers.list", what: "computer" },
  { path: "/v1/sandboxes/{id}", field: "id", list: "sandboxes.list", what: "sandbox" },
  { path: "/v1/databases/{id}", field: "id", list: "databases.list", what: "database" },
  {
    path: "/v1/databases/{id}/branches/{branch_id}",
    field: "branch_id",
    list: "databases.listBranches",
    listFields: ["id"],
    what: "branch",
  },
  { path: "/v1/cron/schedules/{id}", field: "id", list: "cron.list", what: "schedule" },
  { path: "/v1/events/topics/{topic_id}", field: "topic_id", list: "events.listTopics", what: "topic" },
  { path: "/v1/projects/{id}", field: "id", list: "projects.list", what: "project" },
  { path: "/v1/keys/{id}", field: "id", list: "keys.list", what: "key" },
  { path: "/v1/email/domains/{id}", field: "id", list: "email.listDomains", name: "domain", what: "domain" },
  { path: "/v1/email/templates/{id}", field: "id", list: "email.listTemplates", what: "template" },
  { path: "/v1/search/sources/{id}", field: "id", list: "search.listSources", what: "source" },
]

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The organization of the key. */
const OWN_ORGANIZATION = ["tenant_id", "org_id"]

/** Whether a field of the path may be left out, because the key says what it is. */
export const isKnownByKey = ({ params }: Operation, name: string): boolean =>
  OWN_ORGANIZATION.includes(name) && params?.properties[name] !== undefined

const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`)

const rowsOf = (reply: unknown): { data: readonly Row[]; total: number } => {
  const fields = reply as Row
  const data = Object.values(fields).find(Array.isArray) as readonly Row[] | undefined
  return { data: data ?? [], total: Number(fields.total ?? 0) }
}

const findId = async (svc: Svc, collection: Collection, input: Input, word: string): Promise<string> => {
  const { list, listFields = [], name = "name", what } = collection
  const fixed = Object.fromEntries(listFields.map(field => [field, input[field]]))
  const all = await allPages(async page => rowsOf((await svc.request(list, { ...fixed, ...page })).data))
  const found = all.filter(row => row[name] === word)
  const [only] = found
  if (found.length > 1) throw new UsageError(`there are ${found.length} of the name ${word}; give the id`)
  if (typeof only?.id === "string") return only.id
  const [area = "", operation = ""] = list.split(".")
  throw new UsageError(`there is no ${what} ${word}; svc ${kebab(area)} ${kebab(operation)} shows them`)
}

/** The id of a sandbox that is named by it or by its name. */
export const sandboxId = async (svc: Svc, word: string): Promise<string> => {
  const sandboxes = collections.find(({ what }) => what === "sandbox")
  return sandboxes && !UUID.test(word) ? findId(svc, sandboxes, {}, word) : word
}

/** Puts ids in place of names, and the organization of the key where none is given. */
export const resolveNames = async (svc: Svc, operation: Operation, given: Input): Promise<Input> => {
  const input: Record<string, unknown> = { ...given }
  for (const name of OWN_ORGANIZATION) {
    if (!isKnownByKey(operation, name) || input[name] !== undefined) continue
    const { organization } = await svc.identity.me()
    if (!organization) throw new UsageError(`missing --${kebab(name)}`, commandOf(operation))
    input[name] = organization.id
  }
  for (const collection of collections) {
    const word = input[collection.field]
    if (!isBelow(operation.path, collection.path) || typeof word !== "string" || UUID.test(word)) continue
    input[collection.field] = await findId(svc, collection, input, word)
  }
  return input
}
