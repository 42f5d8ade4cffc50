/** Threads that run templates. */
import { createThreadPool } from "../../../kernel/concurrency/thread-pool.ts"
import { toTexts } from "../../../kernel/exact-json.ts"
import type { ResultOf, TemplateTask } from "./messages.ts"

export interface Renderer extends AsyncDisposable {
  /** Throws `invalid_parameter` with what is wrong with the template. */
  run<Task extends TemplateTask>(tenantId: string, task: Task): Promise<ResultOf[Task["kind"]]>
}

const THREADS_MAX = 2
const MEMORY_MB_MAX = 256
/** Loading MJML takes a good second on a busy machine. */
const TIMEOUT_MS = { render: 4_000, check: 4_000, plain: 4_000, mjml: 15_000 } as const
const IDLE_MS = 60_000

/** Numbers that keep their digits are printed as texts: no other form of them reaches a thread. */
const withTexts = (task: TemplateTask): TemplateTask =>
  task.kind === "render" ? { ...task, data: toTexts(task.data) as typeof task.data } : task

export const createRenderer = (): Renderer => {
  const pool = createThreadPool<TemplateTask, ResultOf[TemplateTask["kind"]]>({
    name: "email-templates",
    file: new URL("./worker.ts", import.meta.url),
    threadsMax: THREADS_MAX,
    memoryMb: MEMORY_MB_MAX,
    idleMs: IDLE_MS,
    refusal: "the template cannot be used",
    timeoutMs: ({ kind }) => TIMEOUT_MS[kind],
  })
  return {
    run: async <Task extends TemplateTask>(tenantId: string, task: Task) =>
      (await pool.run(tenantId, withTexts(task))) as ResultOf[Task["kind"]],
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
