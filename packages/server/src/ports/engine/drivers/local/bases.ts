import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { readControlFile } from "./control-file.ts"
import { syncFileSystem } from "./copy.ts"
import { copyAtRest, copyRunning, type Image, madeWhole } from "./images.ts"
import type { Records } from "./records.ts"
import type { Host, Volume } from "./volume.ts"
import { parseLsn } from "./wal/position.ts"

/**
 * A new image is worth its copy when replaying from the last one would take long, or when the last one is so old that
 * history behind it cannot be dropped.
 */
const REPLAY_MB_MAX = 64
/** A database that was only read writes less than this. */
const CHANGED_MB_MIN = 1
const AGE_MS_MAX = 12 * 3_600_000

/** Images of a volume's data directory, from which it is restored. Nothing starts or stops the volume meanwhile. */
export interface Bases {
  take(volume: Volume): Promise<void>
  takeWhenDue(volume: Volume): Promise<void>
}

export const createBases = (host: Host, records: Records): Bases => {
  const { layout } = host

  const take = async (volume: Volume): Promise<void> => {
    const { id } = volume.record
    const dataDir = layout.dataDir(id)
    // Out of reach of the server, which could otherwise change its own history.
    const owners = { source: volume.owner, owner: undefined }
    const name = `base-${Date.now()}`
    await mkdir(layout.basesDir(id), { recursive: true, mode: 0o700 })
    const image: Image = await madeWhole(join(layout.basesDir(id), name), draft =>
      volume.state === "active"
        ? copyRunning({ socketDir: volume.socketDir, password: host.adminPassword }, dataDir, draft, owners)
        : copyAtRest(dataDir, draft, owners),
    )
    // Copies rely on it as soon as it is on record.
    await syncFileSystem(layout.basesDir(id))
    const record = await records.get(id)
    const { redo, timeline, consistent } = image
    const base = { name, redo, timeline, consistent, consistentAt: image.takenAt.toISOString() }
    await records.save({ ...record, bases: [...record.bases, base] })
  }

  const isDue = async (volume: Volume): Promise<boolean> => {
    const last = (await records.get(volume.record.id)).bases.at(-1)
    if (!last) return true
    const now = volume.follower?.flushedLsn ?? (await readControlFile(layout.dataDir(volume.record.id))).redo
    const replayedMb = Number(parseLsn(now) - parseLsn(last.redo)) / 1024 ** 2
    if (replayedMb > REPLAY_MB_MAX) return true
    return replayedMb > CHANGED_MB_MIN && Date.now() - new Date(last.consistentAt).getTime() > AGE_MS_MAX
  }

  /** Destroyed volumes have no record. */
  const exists = async (volume: Volume) => (await records.find(volume.record.id)) !== undefined

  return {
    take: volume =>
      volume.alone(async () => {
        if (await exists(volume)) await take(volume)
      }),
    takeWhenDue: volume =>
      volume.alone(async () => {
        if ((await exists(volume)) && (await isDue(volume))) await take(volume)
      }),
  }
}
