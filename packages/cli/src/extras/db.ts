/** `svc db`: databases by their names, for people. Everything it does, an operation of the API does too. */
import { spawn } from "node:child_process"
import type { Svc } from "@svc/sdk"
import type { OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { printJson, printReply } from "../output.ts"
import { exitCodes, type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import { findProgram } from "./machine.ts"
import { allPages } from "./pages.ts"
import { runSqlShell } from "./sql-shell.ts"

export const dbFlags: OwnFlags = {
  "pg-version": { type: "string", about: "16, 17 or 18" },
  isolation: { type: "string", about: "shared, isolated or dedicated" },
  from: { type: "string", about: "The branch to copy" },
  at: { type: "string", about: "The time to copy the branch at" },
  to: { type: "string", about: "The time to restore to" },
  name: { type: "string", about: "The name of the restored database" },
  branch: { type: "string", about: "The branch to connect to" },
}

export const dbUsage = `svc db list
svc db create <name> [--pg-version 16|17|18] [--isolation <tier>]
svc db branch <database> <branch> [--from <branch>] [--at <time>]
svc db restore <database> --to <time> [--name <new name>]    a new database; without --to, a deleted one
svc db psql <database> [--branch <branch>]    psql when PGPASSWORD is set, else SQL over HTTP with your key
svc db ca    the certificate authority of the PostgreSQL port, for sslmode=verify-full`

type Databases = Svc["databases"]
type Database = Awaited<ReturnType<Databases["get"]>>
type Branch = Awaited<ReturnType<Databases["getBranch"]>>
type Flags = Readonly<Record<string, string>>

/** What may follow `svc db`. */
export const dbActions = ["list", "create", "branch", "restore", "psql", "ca"] as const

const findDatabase = async (
  svc: Svc,
  name: string | undefined,
  includeDeleted = false,
): Promise<Database> => {
  if (name === undefined) throw new UsageError("name a database", "db")
  const all = await allPages(page => svc.databases.list({ ...page, include_deleted: includeDeleted }))
  const found = all.find(database => database.name === name || database.id === name)
  if (!found) throw new UsageError(`there is no database ${name}; svc db list shows them`)
  return found
}

const findBranch = async (svc: Svc, { id, name }: Database, branch: string): Promise<Branch> => {
  const all = await allPages(page => svc.databases.listBranches({ id, ...page }))
  const found = all.find(candidate => candidate.name === branch || candidate.id === branch)
  if (!found) throw new UsageError(`${name} has no branch ${branch}`)
  return found
}

const timeOf = (text: string): string => {
  if (Number.isNaN(Date.parse(text))) throw new UsageError(`not a time: ${text}`, "db")
  return new Date(text).toISOString()
}

const branchFrom = async (svc: Svc, [database, name]: readonly string[], { from, at }: Flags) => {
  const parent_timestamp = at === undefined ? undefined : timeOf(at)
  const found = await findDatabase(svc, database)
  return svc.databases.createBranch({
    id: found.id,
    ...(name !== undefined && { name }),
    ...(from !== undefined && { parent_id: (await findBranch(svc, found, from)).id }),
    ...(parent_timestamp !== undefined && { parent_timestamp }),
  })
}

const restore = async (svc: Svc, [database]: readonly string[], { to, name }: Flags) => {
  if (to === undefined) return svc.databases.restore({ id: (await findDatabase(svc, database, true)).id })
  const target_time = timeOf(to)
  const { id } = await findDatabase(svc, database)
  return svc.databases.pitr({
    id,
    target_time,
    ...(name !== undefined && { name }),
  })
}

const create = (svc: Svc, [name]: readonly string[], flags: Flags) => {
  if (name === undefined) throw new UsageError("name the database", "db")
  const version = flags["pg-version"]
  return svc.databases.create({
    name,
    ...(version !== undefined && { pg_version: Number(version) }),
    ...(flags.isolation !== undefined && { isolation: flags.isolation }),
  })
}

const list = async (svc: Svc) =>
  (await allPages(page => svc.databases.list(page))).map(
    ({ name, pg_version, isolation, compute_state, logical_size_bytes, created_at, id }) => ({
      ...{ name, pg_version, isolation, compute_state, logical_size_bytes, created_at, id },
    }),
  )

/** The password stays out of the argument list, which every user of the machine can read. */
const psql = async (svc: Svc, [database]: readonly string[], { branch }: Flags, terminal: Terminal) => {
  const found = await findDatabase(svc, database)
  const target = branch === undefined ? undefined : await findBranch(svc, found, branch)
  const program = await findProgram("psql", terminal.env.PATH)
  if (terminal.env.PGPASSWORD === undefined || program === undefined)
    return runSqlShell(svc, { databaseId: found.id, branchId: target?.id, name: found.name }, terminal)
  const { host, port, user, database: dbname } = (target ?? found).connection
  const child = spawn(program, ["-h", host, "-p", String(port), "-U", user, "-d", dbname], {
    stdio: "inherit",
  })
  return new Promise<number>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", code => resolve(code ?? exitCodes.refused))
  })
}

/** The certificate alone, so that it can be sent to a file. */
const printAuthority = async (svc: Svc, { out }: Terminal) => {
  const { certificate } = await svc.databases.certificateAuthority()
  if (certificate === null)
    throw new UsageError(
      "the port has a certificate of the operator's own; clients need no authority of ours",
    )
  out.line(certificate.trimEnd())
  return undefined
}

export const db: Extra = async (globals, [action = "list", ...words], terminal, flags) => {
  const svc = await connectWithKey(globals, terminal)
  if (action === "ca") return printAuthority(svc, terminal)
  if (action === "psql") return psql(svc, words, flags as Flags, terminal)
  const reply = await answer(svc, action, words, flags as Flags)
  if (globals.json) printJson(reply, terminal.out)
  else printReply(reply, terminal.out, terminal.err, globals.wide)
  return undefined
}

const answer = (svc: Svc, action: string, words: readonly string[], flags: Flags): Promise<unknown> => {
  switch (action) {
    case "list":
      return list(svc)
    case "create":
      return create(svc, words, flags)
    case "branch":
      return branchFrom(svc, words, flags)
    case "restore":
      return restore(svc, words, flags)
    default:
      throw new UsageError(`unknown action: db ${action}`, "db")
  }
}
