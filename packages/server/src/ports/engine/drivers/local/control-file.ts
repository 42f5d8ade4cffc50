import { open } from "node:fs/promises"
import { join } from "node:path"
import type { Lsn } from "../../port.ts"
import { formatLsn } from "./wal/position.ts"

export interface ControlFile {
  /** Where replay begins. */
  readonly redo: Lsn
  readonly timeline: number
  /** True when the server was shut down in order, so that the files are consistent as they are. */
  readonly shutDown: boolean
}

/** Offsets in `ControlFileData` of PostgreSQL 13 to 18 (src/include/catalog/pg_control.h), 64-bit little-endian builds. */
const STATE_AT = 16
const REDO_AT = 40
const TIMELINE_AT = 48
const BYTES = 56
const DB_SHUTDOWNED = 1

/** What `global/pg_control` of a data directory says of its last checkpoint. */
export const readControlFile = async (dataDir: string): Promise<ControlFile> => {
  const file = await open(join(dataDir, "global", "pg_control"))
  try {
    const { buffer } = await file.read(Buffer.alloc(BYTES), 0, BYTES, 0)
    return {
      redo: formatLsn(buffer.readBigUInt64LE(REDO_AT)),
      timeline: buffer.readUInt32LE(TIMELINE_AT),
      shutDown: buffer.readUInt32LE(STATE_AT) === DB_SHUTDOWNED,
    }
  } finally {
    await file.close()
  }
}
