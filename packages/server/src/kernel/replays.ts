import { randomUUID } from "node:crypto"
import type { Reply } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "./db/database.ts"

export interface ClaimKey {
  readonly tenantId: string
  readonly callerId: string
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
}

export type Claim =
  | { readonly state: "claimed"; readonly token: string }
  | { readonly state: "in_flight" }
  | { readonly state: "mismatch" }
  | {
      readonly state: "done"
      readonly reply: Reply
      /** SHA-256 of the bytes that came with the first request, where they are compared. */
      readonly bodyDigest?: Buffer
    }

/** `digest` holds the SHA-256 of a request's input, and once it is answered that of its body where that is bytes. */
const DIGEST_BYTES = 32

/** Specification 8.5. */
const KEPT_MS = 24 * 3600 * 1000
/** A process that died held its claim; after this long the caller may try again. */
const CLAIM_MS = 60_000
const PRUNE_STEP_MAX = 1_000

/** Rows of kernel.replays: which request holds an Idempotency-Key, and what it was answered. */
export const createReplays = (db: Db) => {
  const row = (key: ClaimKey) =>
    ({
      tenant_id: key.tenantId,
      caller_id: key.callerId,
      method: key.method,
      path: key.path,
      idempotency_key: key.idempotencyKey,
    }) as const

  return {
    /** Takes the key for this request, or says who has it. */
    async claim(key: ClaimKey, digest: Buffer, nowMs: number): Promise<Claim> {
      const token = randomUUID()
      const fresh = {
        digest,
        token,
        claimed_until: new Date(nowMs + CLAIM_MS),
        expires_at: new Date(nowMs + KEPT_MS),
        status: null,
        headers: null,
        body: null,
      }
      const taken = await db
        .insertInto("kernel.replays")
        .values({ ...row(key), ...fresh })
        .onConflict(conflict =>
          conflict
            .columns(["tenant_id", "caller_id", "method", "path", "idempotency_key"])
            .doUpdateSet(fresh)
            // Free again: a day has passed, or the request that held it died without an answer.
            .where(eb =>
              eb.or([
                eb("kernel.replays.expires_at", "<=", new Date(nowMs)),
                eb.and([
                  eb("kernel.replays.status", "is", null),
                  eb("kernel.replays.claimed_until", "<=", new Date(nowMs)),
                  eb("kernel.replays.digest", "=", digest),
                ]),
              ]),
            ),
        )
        .returning("token")
        .executeTakeFirst()
      if (taken) return { state: "claimed", token }
      return this.read(key, digest)
    },

    async read(key: ClaimKey, digest: Buffer): Promise<Claim> {
      const held = await db
        .selectFrom("kernel.replays")
        .select(["digest", "status", "headers", "body"])
        .where(eb => eb.and(row(key)))
        .executeTakeFirst()
      // Released in between: to the caller that is the same as in flight, and a retry will claim it.
      if (!held) return { state: "in_flight" }
      if (!digest.equals(held.digest.subarray(0, DIGEST_BYTES))) return { state: "mismatch" }
      if (held.status === null) return { state: "in_flight" }
      return {
        state: "done",
        reply: {
          status: held.status,
          body: held.body ?? undefined,
          headers: (held.headers ?? {}) as Record<string, string>,
        },
        ...(held.digest.length > DIGEST_BYTES && { bodyDigest: held.digest.subarray(DIGEST_BYTES) }),
      }
    },

    /** Stores the answer, in the transaction of the effect it describes. False when the claim was lost to a retry. */
    async settle(tx: Db, key: ClaimKey, token: string, reply: Reply, bodyDigest?: Buffer): Promise<boolean> {
      const { numUpdatedRows } = await tx
        .updateTable("kernel.replays")
        .set({
          ...(bodyDigest && { digest: sql<Buffer>`digest || ${bodyDigest}` }),
          status: reply.status,
          headers: JSON.stringify(reply.headers ?? {}),
          body: reply.body === undefined ? null : JSON.stringify(reply.body),
        })
        .where(eb => eb.and({ ...row(key), token }))
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    },

    /** Gives the key back: the request had no effect worth remembering. */
    async release(key: ClaimKey, token: string): Promise<void> {
      await db
        .deleteFrom("kernel.replays")
        .where(eb => eb.and({ ...row(key), token }))
        .where("status", "is", null)
        .execute()
    },

    /** Deletes expired records. Each step is short, so that concurrent claims of keys do not wait. */
    async prune(nowMs: number, stepMax = PRUNE_STEP_MAX): Promise<void> {
      for (;;) {
        const { numAffectedRows = 0n } = await sql`
          DELETE FROM kernel.replays WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM kernel.replays WHERE expires_at <= ${new Date(nowMs)}
            LIMIT ${stepMax} FOR UPDATE SKIP LOCKED))`.execute(db)
        if (numAffectedRows < stepMax) return
      }
    },
  }
}

export type Replays = ReturnType<typeof createReplays>
