import type { areas, Input, Output } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { isFault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { contentCheck } from "../../kernel/validation.ts"
import type { Context } from "./context.ts"
import { firebaseHash, readHash } from "./imported-hashes.ts"
import { sealImported } from "./imported-proof.ts"
import { type Metadata, mergeMetadata } from "./rules.ts"
import { callerOf, newUser } from "./sign-in-handlers.ts"
import { type UserRow, userStore } from "./store.ts"

type Specs = typeof areas.auth.specs
type ImportInput = Input<Specs["importUsers"]>
type ImportRow = ImportInput["users"][number]
type Outcome = Output<Specs["importUsers"]>["users"][number]

const EPOCH = new Date(0)

const addressProblem = contentCheck({ type: "string", format: "email", maxLength: 254 })

/** Why a row is not taken. */
class RowProblem extends Error {}

const metadataOf = (field: string, given: Metadata | undefined): Metadata => {
  try {
    return mergeMetadata(field, {}, given)
  } catch (error) {
    if (isFault(error, "validation_failed")) throw new RowProblem(`${field} is too large`)
    throw error
  }
}

/** As its system exports it, in one text. */
const hashOf = (
  { password_hash, password_salt }: ImportRow,
  firebase: ImportInput["firebase_scrypt"],
): string | undefined => {
  if (password_hash === undefined) return undefined
  if (password_salt !== undefined && firebase === undefined)
    throw new RowProblem("password_salt takes firebase_scrypt of the request")
  const hash =
    password_salt === undefined || firebase === undefined
      ? password_hash
      : firebaseHash({ salt_separator: "", ...firebase }, password_salt, password_hash)
  const read = readHash(hash)
  if (typeof read === "string") throw new RowProblem(read)
  return hash
}

const timesOf = ({ created_at, banned_until, email_confirmed }: ImportRow, now: Date) => {
  const created = created_at === undefined ? now : new Date(created_at)
  if (created > now || created < EPOCH) throw new RowProblem("created_at is not a time of the past")
  const banned = banned_until === undefined ? undefined : new Date(banned_until)
  return {
    created_at: created,
    email_confirmed_at: email_confirmed ? created : null,
    banned_until: banned && banned > now ? banned : null,
  }
}

export const importHandlers = (context: Context): Pick<Handlers<Specs>, "importUsers"> => {
  const userOf = async (row: ImportRow, { firebase_scrypt }: ImportInput, call: Call): Promise<UserRow> => {
    if (addressProblem(row.email) !== undefined) throw new RowProblem("email is not an e-mail address")
    const hash = hashOf(row, firebase_scrypt)
    const user = newUser(callerOf(call), {
      id: row.id?.toLowerCase() ?? newId(call.now.getTime()),
      email: row.email,
      password_hash: null,
      signup_source: null,
      user_metadata: metadataOf("user_metadata", row.user_metadata),
      app_metadata: metadataOf("app_metadata", row.app_metadata),
      ...timesOf(row, call.now),
    })
    return hash === undefined ? user : { ...user, password_hash: await sealImported(context, user, hash) }
  }

  const read = async (row: ImportRow, input: ImportInput, call: Call): Promise<UserRow | string> => {
    try {
      return await userOf(row, input, call)
    } catch (error) {
      if (error instanceof RowProblem) return error.message
      throw error
    }
  }

  return {
    async importUsers(input, call) {
      const { projectId } = call.projectTenant
      const rows: (UserRow | string)[] = []
      for (const row of input.users) rows.push(await read(row, input, call))
      const users = rows.filter(row => typeof row !== "string")
      const store = userStore(call.db, projectId)
      // One statement: all are written or none.
      const created = await store.insertNew(users)
      const others = users.filter(({ id }) => !created.has(id))
      const taken = await store.listTaken(
        users.map(({ id }) => id),
        others.map(({ email }) => email?.toLowerCase() ?? ""),
      )
      const byId = new Set(taken.map(({ id }) => id))
      const byEmail = new Map(taken.map(({ id, email }) => [email, id]))
      const seen = new Set<string>()

      const outcomeOf = (row: UserRow | string, index: number): Outcome => {
        const failed = (error: string): Outcome => ({ index, status: "failed", id: null, error })
        if (typeof row === "string") return failed(row)
        // The same id twice in one request: the first row is what was written.
        const isFirst = created.has(row.id) && !seen.has(row.id)
        seen.add(row.id)
        if (isFirst) return { index, status: "created", id: row.id, error: null }
        const id = byId.has(row.id) ? row.id : byEmail.get(row.email?.toLowerCase() ?? null)
        return id === undefined
          ? failed("the id is taken by a user elsewhere")
          : { index, status: "existing", id, error: null }
      }

      const outcomes = rows.map(outcomeOf)
      const count = (status: Outcome["status"]) => outcomes.filter(one => one.status === status).length
      call.describe({ targets: [{ type: "project", id: projectId }] })
      return {
        created: count("created"),
        existing: count("existing"),
        failed: count("failed"),
        users: outcomes,
      }
    },
  }
}
