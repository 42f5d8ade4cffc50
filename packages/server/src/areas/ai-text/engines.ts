/** The embedded engines, each in a thread that is started at its first use and ends when idle. */

import { createThreadPool } from "../../kernel/concurrency/thread-pool.ts"
import type { Grammar } from "./engines/grammar.ts"
import type { GrammarTask, TextResults, TextTask } from "./engines/tasks.ts"

export interface Engines extends AsyncDisposable {
  /** Throws `invalid_parameter` where the text takes too much time or memory. */
  run<Kind extends TextTask["kind"]>(
    tenantId: string,
    task: Extract<TextTask, { kind: Kind }>,
  ): Promise<TextResults[Kind]>
  /** Undefined where the optional package is not installed. */
  checkGrammar(tenantId: string, task: GrammarTask): Promise<Grammar | undefined>
}

const THREADS_MAX = 2
const MEMORY_MB = 256
const IDLE_MS = 60_000
/** The first text of a kind waits until its engine is loaded, which takes long on a busy machine. */
const TIMEOUT_MS = 30_000
/** Beside Harper's own memory, which is outside of the thread's heap. */
const GRAMMAR_MEMORY_MB = 512
const GRAMMAR_TIMEOUT_MS = 60_000

const REFUSAL = "the text cannot be processed"

export const createEngines = (): Engines => {
  const pool = createThreadPool<TextTask, TextResults[TextTask["kind"]]>({
    name: "ai-text",
    file: new URL("./engines/worker.ts", import.meta.url),
    threadsMax: THREADS_MAX,
    memoryMb: MEMORY_MB,
    idleMs: IDLE_MS,
    refusal: REFUSAL,
    timeoutMs: () => TIMEOUT_MS,
  })
  const grammar = createThreadPool<GrammarTask, Grammar | null>({
    name: "ai-text-grammar",
    file: new URL("./engines/grammar-worker.ts", import.meta.url),
    threadsMax: 1,
    memoryMb: GRAMMAR_MEMORY_MB,
    idleMs: IDLE_MS,
    refusal: REFUSAL,
    timeoutMs: () => GRAMMAR_TIMEOUT_MS,
  })
  return {
    run: async <Kind extends TextTask["kind"]>(tenantId: string, task: Extract<TextTask, { kind: Kind }>) =>
      (await pool.run(tenantId, task)) as TextResults[Kind],
    checkGrammar: async (tenantId, task) => (await grammar.run(tenantId, task)) ?? undefined,
    async [Symbol.asyncDispose]() {
      await Promise.all([pool[Symbol.asyncDispose](), grammar[Symbol.asyncDispose]()])
    },
  }
}
