import { randomBytes } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import {
  HISTORY_RETENTION_SECONDS_DEFAULT,
  PG_VERSION_DEFAULT,
  SUSPEND_TIMEOUT_SECONDS_DEFAULT,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { type Database, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { projectOf } from "./lookup.ts"
import type { Making } from "./making.ts"
import { TIER_DEFAULT } from "./rules.ts"
import { databaseStore } from "./store.ts"

/** The default database of a project, made by whoever asks first. */
export interface Provision {
  /** `password` only for the one caller who made it. */
  getOrCreate(call: Call): Promise<{ id: string; branchId: string; password?: string }>
}

const DEFAULT_NAME = "default"
/** Another process may be making it; that takes a second, and is given up when its maker died. */
const WAIT_MS = 20_000
const LOOK_EVERY_MS = 100

export const createProvision = (needs: { database: Database; making: Making }): Provision => {
  const { making } = needs
  const store = databaseStore(needs.database.db)

  const make = async (call: Call, name: string) => {
    const made = await making.database({
      organizationId: call.organization.id,
      projectId: projectOf(call),
      name,
      pgVersion: PG_VERSION_DEFAULT,
      tier: TIER_DEFAULT,
      isDefault: true,
      suspendTimeoutSeconds: SUSPEND_TIMEOUT_SECONDS_DEFAULT,
      historyRetentionSeconds: HISTORY_RETENTION_SECONDS_DEFAULT,
      now: call.now,
    })
    return { id: made.id, branchId: made.branchId, password: made.credentials.owner }
  }

  /** Another project of the organization may have the name, or a deleted database that can still come back. */
  const makeNamed = (call: Call) =>
    make(call, DEFAULT_NAME).catch(error => {
      if (!isFault(error, "name_taken")) throw error
      return make(call, `${DEFAULT_NAME}-${randomBytes(6).toString("hex")}`)
    })

  return {
    async getOrCreate(call) {
      const deadline = performance.now() + WAIT_MS
      while (performance.now() < deadline) {
        const found = await store.findDefault(call.organization.id, projectOf(call))
        if (found?.state === "active") return { id: found.id, branchId: found.default_branch_id }
        if (!found) {
          try {
            return await makeNamed(call)
          } catch (error) {
            if (!isUniqueViolation(error, "databases_default")) throw error
          }
        }
        await delay(LOOK_EVERY_MS, undefined, { signal: call.signal })
      }
      throw fault("service_unavailable", { reason: "the default database is being created" })
    },
  }
}
