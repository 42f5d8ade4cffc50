/** What programs print, by line: written many at once, and kept within a bound. */
import { StringDecoder } from "node:string_decoder"
import type { Db } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Instance } from "./instance.ts"
import { type LogOwner, type LogQuery, type LogRow, logStore, type NewLog } from "./log-store.ts"
import type { InstanceEnd } from "./spec.ts"

export interface ProgramLogs {
  /** In the order in which they were written. */
  list(owner: LogOwner, query: LogQuery): Promise<LogRow[]>
  remove(db: Db, owner: LogOwner): Promise<void>
}

/** What the engine tells. A crash of the platform loses what gathered in the last moment. */
export interface LogWriter extends ProgramLogs {
  printed(instance: Instance, stream: "stdout" | "stderr", chunk: Buffer): void
  ended(instance: Instance, end: InstanceEnd): void
  /** Removes what is beyond the bounds. */
  trim(): Promise<void>
  /** Resolves once all that was given so far is stored. */
  flush(): Promise<void>
}

/** Of one service. */
export const LINES_KEPT = 10_000
export const LINES_KEPT_MS = 7 * 86_400_000
const LINE_LENGTH_MAX = 8_192
const GATHER_MS = 200
const BATCH_MAX = 2_000
/** Beyond, what comes is dropped and counted: the database is slower than the programs, or away. */
const PENDING_MAX = 50_000
/** Lines that one instance may print at once, and for each second on. */
const BURST = 2_000
const PER_SECOND = 200

interface Printing {
  readonly streams: Readonly<Record<"stdout" | "stderr", { rest: string; readonly decoder: StringDecoder }>>
  left: number
  countedMs: number
  dropped: number
}

const newStream = () => ({ rest: "", decoder: new StringDecoder("utf8") })

const idOf = ({ id, place }: Instance): string => place?.id ?? id

export const createLogWriter = (needs: {
  readonly db: Db
  readonly log: Logger
  readonly nowMs: () => number
}): LogWriter => {
  const { db, log, nowMs } = needs
  const store = logStore(db)
  const printings = new Map<Instance, Printing>()
  /** Those that printed since the last look at how much is kept. */
  const written = new Map<string, LogOwner>()
  const pending: NewLog[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const write = async () => {
    timer = undefined
    while (pending.length > 0) {
      const some = pending.splice(0, BATCH_MAX)
      try {
        await store.insert(some)
      } catch (error) {
        log.error({ err: error, lines: some.length }, "writing output of programs failed; lines lost")
      }
    }
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }

  const add = (instance: Instance, stream: string, text: string) => {
    const { organizationId: organization_id, serviceId: service_id } = instance.spec
    written.set(service_id, { id: service_id, organization_id })
    pending.push({
      ...{ organization_id, service_id, instance_id: idOf(instance), at: new Date(nowMs()), stream },
      message: text.slice(0, LINE_LENGTH_MAX).replaceAll("\0", "").replace(/\r$/, "").toWellFormed(),
    })
    timer ??= setTimeout(() => void flush(), GATHER_MS)
  }

  const printingOf = (instance: Instance): Printing => {
    const known = printings.get(instance)
    if (known) return known
    const made = {
      streams: { stdout: newStream(), stderr: newStream() },
      ...{ left: BURST, countedMs: nowMs(), dropped: 0 },
    }
    printings.set(instance, made)
    return made
  }

  const print = (instance: Instance, printing: Printing, stream: string, text: string) => {
    const now = nowMs()
    printing.left = Math.min(BURST, printing.left + ((now - printing.countedMs) / 1_000) * PER_SECOND)
    printing.countedMs = now
    if (printing.left < 1 || pending.length >= PENDING_MAX) {
      printing.dropped += 1
      return
    }
    printing.left -= 1
    if (printing.dropped > 0)
      add(instance, "platform", `${printing.dropped} lines were dropped: too many at once`)
    printing.dropped = 0
    add(instance, stream, text)
  }

  return {
    flush,
    async list(owner, query) {
      await flush()
      return store.list(owner, query)
    },
    remove: (tx, owner) => logStore(tx).remove(owner),
    printed(instance, stream, chunk) {
      const printing = printingOf(instance)
      const state = printing.streams[stream]
      const lines = (state.rest + state.decoder.write(chunk)).split("\n")
      state.rest = (lines.pop() ?? "").slice(0, LINE_LENGTH_MAX)
      for (const line of lines) print(instance, printing, stream, line)
    },
    ended(instance, { reason, isExpected }) {
      const printing = printingOf(instance)
      for (const stream of ["stdout", "stderr"] as const) {
        const { rest } = printing.streams[stream]
        if (rest !== "") print(instance, printing, stream, rest)
      }
      printings.delete(instance)
      if (printing.dropped > 0)
        add(instance, "platform", `${printing.dropped} lines were dropped: too many at once`)
      if (!isExpected) add(instance, "platform", reason)
    },
    async trim() {
      const owners = [...written.values()]
      written.clear()
      for (const owner of owners) await store.trim(owner, LINES_KEPT)
      await store.prune(new Date(nowMs() - LINES_KEPT_MS))
    },
  }
}
