import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { KeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { type Database, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type { EnginePort, RecoveryPoint } from "../../ports/engine/port.ts"
import type { Compute } from "./compute.ts"
import { DATABASE_TOPIC, type Directory, type ReadyBranch, sealedFor } from "./directory.ts"
import type { NamesEarlierHistory } from "./earlier.ts"
import type { Making } from "./making.ts"
import { newCredentials } from "./passwords.ts"
import { keptName } from "./rules.ts"
import { databaseStore } from "./store.ts"

export interface SwapRequest {
  readonly branch: ReadyBranch
  /** Whose state it gets; it may be the branch itself. */
  readonly from: ReadyBranch
  readonly point: RecoveryPoint
  /** The name under which what the branch held is kept. What a branch restores from itself is always kept. */
  readonly preserveUnderName?: string | undefined
}

/** Gives a branch another state: a new volume beside the old one, then the branch points to it. */
export interface Swap {
  restore(call: Call, request: SwapRequest): Promise<void>
}

export const createSwap = (needs: {
  database: Database
  changes: Changes
  engine: EnginePort
  box: SecretBox
  compute: Compute
  directory: Directory
  making: Making
  namesEarlierHistory: NamesEarlierHistory
  /** By database: what gives a branch a volume or its passwords. */
  mutex: KeyedMutex
  log: Logger
}): Swap => {
  const { database, changes, engine, box, compute, making, mutex, log } = needs

  /** The branch's old volume, as a branch of its own with a password of its own. */
  const keep = async (branch: ReadyBranch, name: string, now: Date) => {
    const id = newId(now.getTime())
    const credentials = newCredentials()
    await engine.setCredentials(branch.volume, credentials)
    return {
      id,
      organization_id: branch.organizationId,
      database_id: branch.databaseId,
      name,
      parent_id: null,
      parent_lsn: null,
      parent_timestamp: now,
      protected: false,
      state: "ready",
      volume_id: branch.volume.id,
      credentials: await box.seal(branch.organizationId, sealedFor(id), JSON.stringify(credentials)),
      expires_at: null,
      created_at: now,
      updated_at: now,
    }
  }

  /** As they are when their turn has come: another request may have given them new volumes meanwhile. */
  const current = async (branch: ReadyBranch): Promise<ReadyBranch> => {
    const found = await needs.directory.findById(branch.branchId)
    if (!found) throw fault("branch_not_found")
    return found
  }

  const restore = async (call: Call, request: SwapRequest): Promise<void> => {
    const { point, preserveUnderName } = request
    const [branch, from] = [await current(request.branch), await current(request.from)]
    const { organizationId, databaseId, branchId } = branch
    const { now } = call
    const isOwn = branch.branchId === from.branchId
    const name = preserveUnderName ?? (isOwn ? keptName(branch.branchName, now) : undefined)
    const { credentials } = branch
    // Whoever connects to the branch goes on doing so.
    const roles = { asIn: branch.volume, others: isOwn ? "kept" : "cleared" } as const
    const copied = { volume: from.volume, point, roles }
    const volume = await needs.namesEarlierHistory(from, point, () =>
      making.volume({ organizationId, databaseId, from: copied, credentials, now }),
    )
    const kept = name === undefined ? undefined : await keep(branch, name, now)
    await database
      .transaction(async tx => {
        const rows = databaseStore(tx)
        if (kept) await rows.insertBranch(kept)
        else await rows.updateVolume(organizationId, branch.volume.id, { state: "doomed" })
        await rows.updateBranch(organizationId, branchId, {
          volume_id: volume.id,
          updated_at: now,
          ...(!isOwn && { parent_lsn: volume.lsn, parent_timestamp: volume.time }),
        })
        await changes.invalidate(tx, DATABASE_TOPIC, databaseId)
      })
      .catch(async error => {
        await databaseStore(database.db).updateVolume(organizationId, volume.id, { state: "doomed" })
        if (!isUniqueViolation(error, "branches_name")) throw error
        throw fault("name_taken", { resource: "branch", name: name ?? "" })
      })
    // Sessions of the old state end now; the next ones find the new. What is kept goes to rest in its own time.
    const ended = compute.suspend(branch)
    if (kept) {
      ended.catch(error =>
        log.warn(
          { err: error, volume: branch.volume.id },
          "stopping the previous state of a restored branch failed",
        ),
      )
      return
    }
    await ended
    await engine.destroy(branch.volume)
    await databaseStore(database.db).deleteVolume(organizationId, branch.volume.id)
  }

  return { restore: (call, request) => mutex.run(request.branch.databaseId, () => restore(call, request)) }
}
