import { randomBytes } from "node:crypto"
import { open, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { dataPlaneScopes } from "@svc/contract"
import { sql } from "kysely"
import type { Database, Db } from "../kernel/db/database.ts"
import { newId } from "../kernel/id.ts"
import type { Passwords } from "./accounts/passwords.ts"
import { resetStore } from "./accounts/reset-store.ts"
import { accountStore } from "./accounts/store.ts"
import { newToken, tokenHash } from "./accounts/token.ts"
import { accountHash } from "./credentials/failure-store.ts"
import { mintKey, unrestricted } from "./keys/mint.ts"
import { foundOrganization } from "./organizations/service.ts"

/** What `first-run.json` holds. */
export interface FirstRun {
  readonly base_url: string
  readonly console_url: string
  /** Sets the first password of one's own, once and for a while. */
  readonly sign_in_url: string
  readonly email: string
  readonly password: string
  readonly organization_id: string
  readonly project_id: string
  readonly api_key: string
  readonly publishable_key: string
}

/** Any process may be the first; the others find its users and leave it at that. */
const ADVISORY_LOCK = 5_763_002

const EMAIL = "admin@localhost"

/** The password in the file works after it. */
const LINK_LIFETIME_MS = 15 * 60_000

/**
 * The link of the banner is a reset of the password, so it works once, and ends when a password is set another way. What
 * follows `#` reaches no log.
 */
const makeLink = async (db: Db, baseUrl: string, now: Date): Promise<string> => {
  const token = newToken("svc_reset_")
  await resetStore(db).insert({
    id: newId(now.getTime()),
    account: accountHash(EMAIL),
    source: "first run",
    email: EMAIL,
    token_hash: tokenHash(token),
    is_open: true,
    created_at: now,
    expires_at: new Date(now.getTime() + LINK_LIFETIME_MS),
  })
  return `${baseUrl}/console/first#${new URLSearchParams({ email: EMAIL, token })}`
}

/**
 * On an empty platform: a user, an organization on the Enterprise plan, a project, a full access key and a publishable
 * key, written to `first-run.json`. Undefined when there are users already, unless they come from a first start that
 * was cut short before it could tell their credentials.
 */
export const firstRun = async (needs: {
  config: { readonly dataDir: string; readonly baseUrl: string }
  database: Database
  passwords: Passwords
  now: Date
}): Promise<FirstRun | undefined> => {
  const { config, database, now } = needs
  const interrupted = await findInterrupted(config.dataDir, database.db)
  if (interrupted) await settle(config.dataDir)
  if (interrupted || (await hasUsers(database.db))) return interrupted
  const password = randomBytes(15).toString("base64url")
  const passwordHash = await needs.passwords.hash(password)

  const first = await database.transaction(async tx => {
    await sql`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(tx)
    if (await hasUsers(tx)) return undefined
    const userId = newId(now.getTime())
    await accountStore(tx).insertUser({
      id: userId,
      email: EMAIL,
      name: "Administrator",
      password_hash: passwordHash,
      created_at: now,
    })
    const founded = await foundOrganization(tx, { name: "My organization", userId, plan: "enterprise", now })
    const key = await mintKey(tx, now, {
      ...unrestricted,
      organization_id: founded.organizationId,
      project_id: founded.projectId,
      // One key for a whole cloud.
      organization_reach: true,
      type: "full_access",
      name: "first key",
      scopes: [...dataPlaneScopes],
      created_by: userId,
    })
    const made: FirstRun = {
      base_url: config.baseUrl,
      console_url: `${config.baseUrl}/console`,
      sign_in_url: await makeLink(tx, config.baseUrl, now),
      email: EMAIL,
      password,
      organization_id: founded.organizationId,
      project_id: founded.projectId,
      api_key: key.secret,
      publishable_key: founded.publishableKey,
    }
    // Before the commit, because credentials that exist nowhere else must not be lost between the two.
    await writeDraft(config.dataDir, made)
    return made
  })
  if (first) await settle(config.dataDir)
  return first
}

const hasUsers = async (db: Db): Promise<boolean> =>
  (await db.selectFrom("core.users").select("id").limit(1).executeTakeFirst()) !== undefined

const pathOf = (dataDir: string): string => join(dataDir, "first-run.json")
/** What is not yet known to be committed. */
const draftOf = (dataDir: string): string => `${pathOf(dataDir)}.draft`

/** On disk when it resolves, name and all. */
const writeDraft = async (dataDir: string, made: FirstRun): Promise<void> => {
  await writeFile(draftOf(dataDir), `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600, flush: true })
  await using directory = await open(dataDir)
  await directory.sync()
}

const settle = (dataDir: string): Promise<void> => rename(draftOf(dataDir), pathOf(dataDir))

/** The draft that a start left behind which died around its commit; one that was never committed is removed. */
const findInterrupted = async (dataDir: string, db: Db): Promise<FirstRun | undefined> => {
  const text = await readFile(draftOf(dataDir), "utf8").catch(() => undefined)
  if (text === undefined) return undefined
  const draft = parseDraft(text)
  if (draft && (await hasOrganization(db, draft.organization_id))) return draft
  await rm(draftOf(dataDir))
  return undefined
}

/** A power cut may have left half of it, and then it was not committed either. */
const parseDraft = (text: string): FirstRun | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const hasOrganization = async (db: Db, id: string): Promise<boolean> =>
  (await db.selectFrom("core.organizations").select("id").where("id", "=", id).executeTakeFirst()) !==
  undefined
