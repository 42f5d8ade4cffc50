/** The threads that make documents. */
import { createThreadPool } from "../../../kernel/concurrency/thread-pool.ts"
import type { ComposedDocument, DocumentTask } from "./blocks.ts"

export interface Maker extends AsyncDisposable {
  /** Throws `invalid_parameter` with what is wrong with the document. */
  make(tenantId: string, task: DocumentTask): Promise<ComposedDocument>
}

const THREADS_MAX = 2
const MEMORY_MB_MAX = 512
const TIMEOUT_MS = 15_000
const IDLE_MS = 60_000

export const createMaker = (): Maker => {
  const pool = createThreadPool<DocumentTask, ComposedDocument>({
    name: "documents",
    file: new URL("./worker.ts", import.meta.url),
    threadsMax: THREADS_MAX,
    memoryMb: MEMORY_MB_MAX,
    idleMs: IDLE_MS,
    refusal: "the document cannot be made",
    timeoutMs: () => TIMEOUT_MS,
  })
  return {
    make: pool.run,
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
