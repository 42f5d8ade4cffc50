/** Which channels a session listens on, from its statements and their tags. */

const CHANNELS_MAX = 1_000
const MENTIONS = /\b(un)?listen\s+("(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*|\*)/giu

export interface Channels {
  /** A command was completed; `sql` is the text it came with, maybe one of several in it. */
  completed(tag: string, sql: string): void
  readonly any: boolean
}

/**
 * When in doubt a session listens: a LISTEN that is rolled back counts until the session ends, because to sleep through
 * a notification is worse than to stay awake.
 */
export const createChannels = (): Channels => {
  const names = new Set<string>()

  return {
    completed(tag, sql) {
      if (tag === "DISCARD ALL") return names.clear()
      if (tag !== "LISTEN" && tag !== "UNLISTEN") return
      const before = names.size
      for (const [, un, written = ""] of sql.matchAll(MENTIONS)) {
        const name = written.startsWith('"') ? written.slice(1, -1) : written.toLowerCase()
        if (un === undefined && tag === "LISTEN" && names.size < CHANNELS_MAX) names.add(name)
        if (un !== undefined && tag === "UNLISTEN") {
          if (name === "*") names.clear()
          else names.delete(name)
        }
      }
      if (tag === "LISTEN" && before === 0 && names.size === 0) names.add("")
    },
    get any() {
      return names.size > 0
    },
  }
}
