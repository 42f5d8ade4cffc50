/** Writes what a build says: in order, in few statements, and so much of it. */
import { BUILD_LOG_LINES_MAX } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { buildStore, type LineRow } from "./store.ts"

export interface BuildLog {
  line(step: number, stream: LineRow["stream"], message: string): void
  /** Resolves once all lines so far can be read. */
  flush(): Promise<void>
}

const BATCH_MAX = 500
// biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL's text has no null character.
const NUL = /\u0000/g

export const createBuildLog = async (
  needs: { readonly db: Db; readonly clock: Clock; readonly mask: (text: string) => string },
  projectId: string,
  buildId: string,
): Promise<BuildLog> => {
  const { clock, mask } = needs
  const store = buildStore(needs.db)
  let number = await store.lastLine(projectId, buildId)
  let waiting: LineRow[] = []
  let writing: Promise<void> | undefined

  const write = async () => {
    while (waiting.length > 0) {
      const lines = waiting.slice(0, BATCH_MAX)
      waiting = waiting.slice(BATCH_MAX)
      await store.addLines(projectId, buildId, lines)
    }
  }
  const begin = () => {
    writing ??= write().finally(() => {
      writing = undefined
    })
    return writing
  }

  return {
    line(step, stream, message) {
      if (number > BUILD_LOG_LINES_MAX) return
      number += 1
      const isLast = number > BUILD_LOG_LINES_MAX
      const text = isLast ? "further lines are not kept" : mask(message).replace(NUL, "")
      const kind = isLast ? "system" : stream
      waiting.push({ number, at: new Date(clock.now()), step, stream: kind, message: text })
      // A failure is told by the next flush, which somebody waits for.
      begin().catch(() => undefined)
    },
    async flush() {
      await begin()
      if (waiting.length > 0) await begin()
    },
  }
}
