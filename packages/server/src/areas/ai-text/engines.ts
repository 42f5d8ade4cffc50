/** The embedded engines, each in a thread that is started at its first use and ends when idle. */

import { createThreadPool, TaskFailure } from "../../kernel/concurrency/thread-pool.ts"
import { fault } from "../../kernel/fault.ts"
import type { TextResults, TextTask } from "./engines/tasks.ts"

export interface Engines extends AsyncDisposable {
  /** Throws `invalid_parameter` where the text takes too much time or memory. */
  run<Kind extends TextTask["kind"]>(
    tenantId: string,
    task: Extract<TextTask, { kind: Kind }>,
  ): Promise<TextResults[Kind]>
}

const THREADS_MAX = 2
const MEMORY_MB = 256
const IDLE_MS = 60_000
const TIMEOUT_MS = 10_000

export const createEngines = (): Engines => {
  const pool = createThreadPool<TextTask, TextResults[TextTask["kind"]]>({
    name: "ai-text",
    file: new URL("./engines/worker.ts", import.meta.url),
    threadsMax: THREADS_MAX,
    memoryMb: MEMORY_MB,
    idleMs: IDLE_MS,
    timeoutMs: () => TIMEOUT_MS,
  })
  return {
    async run<Kind extends TextTask["kind"]>(tenantId: string, task: Extract<TextTask, { kind: Kind }>) {
      try {
        return (await pool.run(tenantId, task)) as TextResults[Kind]
      } catch (error) {
        if (!(error instanceof TaskFailure)) throw error
        throw fault("invalid_parameter", { reason: `the text cannot be processed: ${error.message}` })
      }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
