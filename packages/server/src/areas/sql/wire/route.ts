/** Which branch a connection is for, and what its server is to see of the startup packet. */

import { isUuid } from "../../../kernel/id.ts"
import { DATABASE_NAME, PLATFORM_ROLE_PREFIX } from "../../../ports/engine/port.ts"
import { POOLER_SUFFIX } from "../../../services/postgres/client-port.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import type { StartupParameters } from "./startup-packet.ts"

export interface Route {
  /** Lower case. */
  readonly branchId: string
  /** Whether the client shares server connections with others. */
  readonly isPooled: boolean
  readonly user: string
  readonly database: string
  readonly applicationName: string
  /** The parameters to send on: without what named the branch. */
  readonly parameters: StartupParameters
}

/** A branch as clients name it: its id, lower case, and maybe the suffix. */
type BranchName = string

const branchNameOf = (text: string): BranchName | undefined => {
  const name = text.toLowerCase()
  return isUuid(name.endsWith(POOLER_SUFFIX) ? name.slice(0, -POOLER_SUFFIX.length) : name) ? name : undefined
}

/** `name.branch` in its two parts; a text without such an ending is all name. */
const splitSuffix = (text: string): { name: string; branch: BranchName | undefined } => {
  const dot = text.lastIndexOf(".")
  const branch = dot > 0 ? branchNameOf(text.slice(dot + 1)) : undefined
  return { name: branch === undefined ? text : text.slice(0, dot), branch }
}

/** The words of an `options` text: parted by white space, which a backslash takes its meaning (`pg_split_opts`). */
const words = (options: string): string[] => options.match(/(?:\\[\s\S]|[^\s\\]|\\$)+/g) ?? []

const ENDPOINT = /^(?:-c|--)?endpoint=(.*)$/s

/** Takes `endpoint=…`, `-c endpoint=…`, `-cendpoint=…` and `--endpoint=…` out of the options, and leaves the rest. */
const takeEndpoint = (options: string): { endpoint: string | undefined; rest: string } => {
  const given = words(options)
  const rest: string[] = []
  let endpoint: string | undefined
  for (let index = 0; index < given.length; index++) {
    const word = given[index] ?? ""
    const next = given[index + 1]
    const apart = word === "-c" && next !== undefined
    const found = ENDPOINT.exec(apart ? next : word)
    if (found) endpoint = found[1] ?? ""
    else rest.push(word, ...(apart ? [next] : []))
    if (apart) index += 1
  }
  return { endpoint, rest: rest.join(" ") }
}

const refuse = (message: string, hint?: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.notAuthorized, message, hint })

const decode = (latin1: string): string => Buffer.from(latin1, "latin1").toString("utf8")

const pickBranch = (candidates: readonly (BranchName | undefined)[]) => {
  const given = candidates.filter(candidate => candidate !== undefined)
  const isPooled = given.some(name => name.endsWith(POOLER_SUFFIX))
  const named = new Set(given.map(name => name.replace(POOLER_SUFFIX, "")))
  const [branchId] = named
  if (branchId === undefined) {
    throw refuse(
      "the connection does not say which database branch it is for",
      "Connect as user <role>.<branch id>, or add options=endpoint=<branch id>.",
    )
  }
  if (named.size > 1) throw refuse("the connection names more than one database branch")
  return { branchId, isPooled }
}

const databaseOf = (
  given: string | undefined,
  user: string,
): { name: string; branch?: BranchName | undefined } => {
  // Clients that are given no database send the name of the user, suffix and all.
  if (given === undefined || given === "" || given === user) return { name: DATABASE_NAME }
  const branch = branchNameOf(given)
  return branch === undefined ? splitSuffix(given) : { name: DATABASE_NAME, branch }
}

const REPLICATION_OFF: ReadonlySet<string> = new Set(["false", "off", "no", "0"])

/**
 * Finds the branch in the user (`owner.<uuid>`), the options (`endpoint=<uuid>`), the database (`app.<uuid>` or
 * `<uuid>`) or the first label of the host name the client asked TLS for; `-pooler` behind it asks for the pooler. Throws a `WireRefusal` of 28000.
 */
export const route = (given: StartupParameters, sni: string | undefined): Route => {
  const login = given.get("user") ?? ""
  if (login === "") throw refuse("no PostgreSQL user name specified in startup packet")
  const user = splitSuffix(login)
  const database = databaseOf(given.get("database"), login)
  const { endpoint, rest } = takeEndpoint(given.get("options") ?? "")
  const option = endpoint === undefined ? undefined : branchNameOf(endpoint)
  if (endpoint !== undefined && option === undefined) throw refuse("the endpoint is not a branch id")
  const [label = ""] = sni?.split(".", 1) ?? []
  const { branchId, isPooled } = pickBranch([user.branch, option, database.branch, branchNameOf(label)])

  if (user.name.startsWith(PLATFORM_ROLE_PREFIX)) throw refuse(`role "${decode(user.name)}" is reserved`)
  const replication = given.get("replication")
  if (replication !== undefined && !REPLICATION_OFF.has(replication.toLowerCase()))
    throw refuse("replication connections are not offered")

  const parameters = new Map(given).set("user", user.name).set("database", database.name)
  if (endpoint !== undefined) {
    if (rest === "") parameters.delete("options")
    else parameters.set("options", rest)
  }
  return {
    branchId,
    isPooled,
    user: decode(user.name),
    database: decode(database.name),
    applicationName: decode(given.get("application_name") ?? ""),
    parameters,
  }
}
