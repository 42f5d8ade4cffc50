import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { Lsn, PgVersion, Tier } from "../../port.ts"

/** An image of the data directory from which replay can begin. */
export interface Base {
  /** Its folder in the volume's `bases`, or `template.2` and the like: the one that the volume was copied from. */
  readonly name: string
  /** Where replay begins. */
  readonly redo: Lsn
  readonly timeline: number
  /** Up to where replay must come before the files are consistent, and so the earliest position to restore to. */
  readonly consistent: Lsn
  /** The earliest time it can be restored to: its files are consistent from here on. */
  readonly consistentAt: string
}

/** What must be known of a volume when nothing runs. Written whole or not at all. */
export interface VolumeRecord {
  readonly id: string
  readonly pgVersion: PgVersion
  readonly tier: Tier
  /** Its number among the volumes of this host: the server's user and socket follow from it. */
  readonly slot: number
  readonly bases: readonly Base[]
  /**
   * Present while the files of a copy may not be on disk: the start of the machine (its boot id) in which it was made.
   * After another one it is made again from its history, which is.
   */
  readonly unsyncedSince?: string
  /** See `EnginePort.setReadOnly`. */
  readonly readOnly?: boolean
  /** Where a copy parted from its source. */
  readonly from?: { readonly volumeId: string; readonly lsn: Lsn; readonly time: string }
}

export interface Records {
  find(volumeId: string): Promise<VolumeRecord | undefined>
  get(volumeId: string): Promise<VolumeRecord>
  save(record: VolumeRecord): Promise<void>
  remove(volumeId: string): Promise<void>
  /** A number that no other volume has; the volume has it until it is removed. */
  takeSlot(volumeId: string): number
}

export const RECORD_FILE = "volume.json"

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT"

const readRecord = async (directory: string): Promise<VolumeRecord | undefined> => {
  try {
    return JSON.parse(await readFile(join(directory, RECORD_FILE), "utf8"))
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

export const syncDirectory = async (directory: string): Promise<void> => {
  const opened = await open(directory, "r")
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

const writeWhole = async (directory: string, text: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const draft = join(directory, `${RECORD_FILE}.${randomUUID()}`)
  const file = await open(draft, "w", 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(directory, RECORD_FILE))
  await syncDirectory(directory)
}

export const openRecords = async (options: {
  recordsDir: string
  recordDir: (volumeId: string) => string
}): Promise<Records> => {
  const { recordsDir, recordDir } = options
  const known = new Map<string, VolumeRecord>()
  /** Who has which. */
  const slots = new Map<number, string>()
  for (const id of existsSync(recordsDir) ? await readdir(recordsDir) : []) {
    const record = await readRecord(join(recordsDir, id))
    if (!record) continue
    known.set(id, record)
    slots.set(record.slot, id)
  }

  const find = async (volumeId: string) => known.get(volumeId)

  return {
    find,
    async get(volumeId) {
      const record = await find(volumeId)
      if (!record) throw new PortError("missing", `there is no volume ${volumeId}`)
      return record
    },
    async save(record) {
      await writeWhole(recordDir(record.id), `${JSON.stringify(record, undefined, 2)}\n`)
      known.set(record.id, record)
      slots.set(record.slot, record.id)
    },
    async remove(volumeId) {
      known.delete(volumeId)
      await rm(recordDir(volumeId), { recursive: true, force: true, maxRetries: 3 })
      for (const [slot, id] of slots) if (id === volumeId) slots.delete(slot)
    },
    takeSlot(volumeId) {
      let slot = 0
      while (slots.has(slot)) slot += 1
      slots.set(slot, volumeId)
      return slot
    },
  }
}
