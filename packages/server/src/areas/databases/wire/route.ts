/** Which branch a connection is for, and what its server is to see of the startup packet. */
import { isUuid } from "../../../kernel/id.ts"
import { DATABASE_NAME, PLATFORM_ROLE_PREFIX } from "../../../ports/engine/port.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import type { StartupParameters } from "./startup-packet.ts"

export interface Route {
  /** Lower case. */
  readonly branchId: string
  readonly user: string
  readonly database: string
  readonly applicationName: string
  /** The parameters to send on: without what named the branch. */
  readonly parameters: StartupParameters
}

const UUID_LENGTH = 36

/** `name.uuid` in its two parts; a text without such an ending is all name. */
const splitSuffix = (text: string): { name: string; branchId: string | undefined } => {
  const dot = text.length - UUID_LENGTH - 1
  const suffix = text.slice(dot + 1)
  return dot > 0 && text[dot] === "." && isUuid(suffix)
    ? { name: text.slice(0, dot), branchId: suffix.toLowerCase() }
    : { name: text, branchId: undefined }
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

const pickBranch = (candidates: readonly (string | undefined)[]): string => {
  const named = new Set(candidates.filter(candidate => candidate !== undefined))
  const [branchId] = named
  if (branchId === undefined) {
    throw refuse(
      "the connection does not say which database branch it is for",
      "Connect as user <role>.<branch id>, or add options=endpoint=<branch id>.",
    )
  }
  if (named.size > 1) throw refuse("the connection names more than one database branch")
  return branchId
}

const databaseOf = (
  given: string | undefined,
  user: string,
): { name: string; branchId?: string | undefined } => {
  // Clients that are given no database send the name of the user, suffix and all.
  if (given === undefined || given === "" || given === user) return { name: DATABASE_NAME }
  if (isUuid(given)) return { name: DATABASE_NAME, branchId: given.toLowerCase() }
  return splitSuffix(given)
}

const REPLICATION_OFF: ReadonlySet<string> = new Set(["false", "off", "no", "0"])

/**
 * Finds the branch in the user (`owner.<uuid>`), the options (`endpoint=<uuid>`), the database (`app.<uuid>` or
 * `<uuid>`) or the first label of the host name the client asked TLS for. Throws a `WireRefusal` of 28000.
 */
export const route = (given: StartupParameters, sni: string | undefined): Route => {
  const login = given.get("user") ?? ""
  if (login === "") throw refuse("no PostgreSQL user name specified in startup packet")
  const user = splitSuffix(login)
  const database = databaseOf(given.get("database"), login)
  const { endpoint, rest } = takeEndpoint(given.get("options") ?? "")
  if (endpoint !== undefined && !isUuid(endpoint)) throw refuse("the endpoint is not a branch id")
  const explicit = [user.branchId, endpoint?.toLowerCase(), database.branchId]
  const label = sni?.split(".", 1)[0]
  const host = label !== undefined && isUuid(label) ? label.toLowerCase() : undefined
  const branchId = pickBranch([...explicit, host])

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
    user: decode(user.name),
    database: decode(database.name),
    applicationName: decode(given.get("application_name") ?? ""),
    parameters,
  }
}
