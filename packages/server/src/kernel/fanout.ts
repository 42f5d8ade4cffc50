/**
 * Wakes the other processes of this installation: what is new is in the database, and this only says where to look.
 * News may be lost, and who hears them also looks by itself now and then.
 */
export interface Fanout {
  /** At most `FANOUT_IDS_MAX` ids, none with a comma. */
  tell(topic: string, ids: readonly string[]): Promise<void>
  /** `undefined`: anything may be new. */
  subscribe(topic: string, hear: (ids: readonly string[] | undefined) => void): void
}

/** A NOTIFY of PostgreSQL takes less than 8,000 bytes, and a UUID has 37 with its comma. */
export const FANOUT_IDS_MAX = 200
