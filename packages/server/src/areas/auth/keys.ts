/** Keys that projects sign access tokens with: one signs, the next one is published already, old ones still are. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { calculateJwkThumbprint, type JWK } from "jose"
import type { Selectable } from "kysely"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { ProjectTenant } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { fault } from "../../kernel/fault.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { NEXT_KEY_PUBLISHED_MS } from "./rules.ts"

type KeyRow = Selectable<Tables["auth.signing_keys"]>

const TOPIC = "auth.keys"
const CACHED_MAX = 10_000

export interface PublicKey {
  readonly kid: string
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y: string
  readonly alg: string
  readonly use: string
}

export interface ProjectKeys {
  readonly projectId: string
  readonly kid: string
  readonly signing: KeyObject
  readonly published: readonly PublicKey[]
}

const contextOf = ({ project_id, kid }: Pick<KeyRow, "project_id" | "kid">) =>
  `auth.signing_keys:${project_id}:${kid}`

const keyRows = (db: Db, projectId: string) =>
  db.selectFrom("auth.signing_keys").where("project_id", "=", projectId)

export const createKeys = (needs: {
  readonly database: Database
  readonly changes: Changes
  readonly box: SecretBox
}) => {
  const { database, changes, box } = needs

  const make = async (
    { organizationId, projectId }: ProjectTenant,
    state: "current" | "next",
    now: Date,
  ): Promise<KeyRow> => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const jwk = createPublicKey(privateKey).export({ format: "jwk" }) as JWK
    const kid = await calculateJwkThumbprint(jwk)
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
    return {
      project_id: projectId,
      kid,
      organization_id: organizationId,
      state,
      public_key: { ...jwk, kid, alg: "ES256", use: "sig" },
      private_key: await box.seal(organizationId, contextOf({ project_id: projectId, kid }), pem),
      created_at: now,
      current_at: state === "current" ? now : null,
      old_at: null,
    }
  }

  /** Of two processes that make the first keys at once, one makes each. */
  const insert = (db: Db, rows: readonly KeyRow[]) =>
    db
      .insertInto("auth.signing_keys")
      .values(rows.map(row => ({ ...row, public_key: JSON.stringify(row.public_key) })))
      .onConflict(conflict => conflict.doNothing())
      .execute()

  const read = async (projectId: string): Promise<ProjectKeys | undefined> => {
    const rows = await keyRows(database.db, projectId).selectAll().orderBy("created_at", "desc").execute()
    const current = rows.find(({ state }) => state === "current")
    if (!current) return undefined
    const pem = await box.open(current.organization_id, contextOf(current), current.private_key)
    return {
      projectId,
      kid: current.kid,
      signing: createPrivateKey(pem),
      published: rows.map(row => row.public_key as unknown as PublicKey),
    }
  }

  const cache = createPushedCache<ProjectKeys | undefined>({
    changes,
    topics: { [TOPIC]: "one" },
    read,
    idOf: keys => keys?.projectId,
    entriesMax: CACHED_MAX,
  })

  return {
    /** The project's keys; undefined before its first token. */
    find: (projectId: string) => cache.find(projectId),

    /** The project's keys; made at their first use. */
    async of(tenant: ProjectTenant, now: Date): Promise<ProjectKeys> {
      const known = await cache.find(tenant.projectId)
      if (known) return known
      const rows = [await make(tenant, "current", now), await make(tenant, "next", now)]
      await database.transaction(async tx => {
        await insert(tx, rows)
        await changes.invalidate(tx, TOPIC, tenant.projectId)
      })
      const made = await cache.find(tenant.projectId)
      if (!made) throw new Error("the keys of a project were made and are not there")
      return made
    },

    /** The next key signs from now on. Throws `conflict` where verifiers may not know it yet. */
    async rotate(tx: Db, tenant: ProjectTenant, now: Date): Promise<{ kid: string; nextKid: string }> {
      const next = await keyRows(tx, tenant.projectId)
        .where("state", "=", "next")
        .selectAll()
        .forUpdate()
        .executeTakeFirst()
      if (!next) throw fault("conflict", { reason: "the project has not signed a token yet" })
      if (next.created_at.getTime() + NEXT_KEY_PUBLISHED_MS > now.getTime())
        throw fault("conflict", { reason: "the next key was published less than 15 minutes ago" })
      const update = (state: string) =>
        tx
          .updateTable("auth.signing_keys")
          .where("project_id", "=", tenant.projectId)
          .where("state", "=", state)
      await update("current").set({ state: "old", old_at: now }).execute()
      await update("next").set({ state: "current", current_at: now }).execute()
      const after = await make(tenant, "next", now)
      await insert(tx, [after])
      await changes.invalidate(tx, TOPIC, tenant.projectId)
      return { kid: next.kid, nextKid: after.kid }
    },

    /** Deletes old keys whose tokens have expired. */
    async prune(db: Db, oldBefore: Date): Promise<void> {
      const deleted = await db
        .deleteFrom("auth.signing_keys")
        .where("state", "=", "old")
        .where("old_at", "<", oldBefore)
        .returning("project_id")
        .execute()
      for (const { project_id } of deleted) await changes.invalidate(db, TOPIC, project_id)
    },

    /** Projects whose key signs since before then. */
    aged: (db: Db, currentBefore: Date) =>
      db
        .selectFrom("auth.signing_keys")
        .where("state", "=", "current")
        .where("current_at", "<", currentBefore)
        .select(["project_id", "organization_id"])
        .limit(1_000)
        .execute(),
  }
}

export type SigningKeys = ReturnType<typeof createKeys>
