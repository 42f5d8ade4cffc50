import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { FailureEvent } from "./events.ts"
import { type EndedInvocation, type NewLog, writeRecords } from "./invocation-store.ts"

/** Writes invocations and what they printed, many at once. A crash loses what gathered in the last moment. */
export interface Recorder extends AsyncDisposable {
  /** `failure` is told to who wants to know, with the record. */
  invocation(row: EndedInvocation, failure?: FailureEvent): void
  line(line: NewLog): void
  /** Resolves once all that was given so far is stored. */
  flush(): Promise<void>
}

const GATHER_MS = 200
/** Beyond, what comes is dropped and counted: the database is slower than the functions, or away. */
const ROWS_MAX = 20_000
const LINES_MAX = 50_000
const BATCH_MAX = 2_000

interface RecorderNeeds {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly log: Logger
}

export const createRecorder = ({ database, platformEvents, log }: RecorderNeeds): Recorder => {
  const ended: { readonly row: EndedInvocation; readonly failure: FailureEvent | undefined }[] = []
  const lines: NewLog[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let dropped = 0

  const writeBatch = async (some: typeof ended, someLines: readonly NewLog[]) => {
    const someRows = some.map(({ row }) => row)
    const wanted = some
      .flatMap(({ failure }) => failure ?? [])
      .filter(({ organizationId, type }) => platformEvents.isWanted(organizationId, type))
    if (wanted.length === 0) return await writeRecords(database.db, someRows, someLines)
    await database.transaction(async tx => {
      await writeRecords(tx, someRows, someLines)
      await platformEvents.emit(tx, ...wanted)
    })
  }

  const write = async () => {
    while (ended.length + lines.length > 0) {
      const some = ended.splice(0, BATCH_MAX)
      const someLines = lines.splice(0, BATCH_MAX)
      try {
        await writeBatch(some, someLines)
      } catch (error) {
        log.error(
          { err: error, invocations: some.length },
          "writing function invocations and logs failed; records lost",
        )
      }
    }
    if (dropped > 0)
      log.warn(
        { dropped },
        "function records are over their limit; invocations or log lines were not recorded",
      )
    dropped = 0
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }
  const plan = () => {
    timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  return {
    invocation(row, failure) {
      if (ended.length < ROWS_MAX) ended.push({ row, failure })
      else dropped += 1
      plan()
    },
    line(line) {
      if (lines.length < LINES_MAX) lines.push(line)
      else dropped += 1
      plan()
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}
