/** Threads that run templates, started on first use, ended when nobody needs them, replaced when one is broken. */
import { Worker } from "node:worker_threads"
import { toTexts } from "../../../kernel/exact-json.ts"
import { fault } from "../../../kernel/fault.ts"
import { READY, type ResultOf, type TemplateAnswer, type TemplateTask } from "./messages.ts"

export interface Renderer extends AsyncDisposable {
  /** Throws `invalid_parameter` with what is wrong with the template. */
  run<Task extends TemplateTask>(tenantId: string, task: Task): Promise<ResultOf[Task["kind"]]>
}

const WORKER = new URL("./worker.ts", import.meta.url)
const THREADS_MAX = 2
const WAITING_MAX = 1_000
const MEMORY_MB_MAX = 256
/** Loading MJML takes a good second on a busy machine. */
const TIMEOUT_MS = { render: 4_000, check: 4_000, plain: 4_000, mjml: 15_000 } as const
const IDLE_MS = 60_000

interface QueuedTask {
  readonly tenantId: string
  readonly task: TemplateTask
  readonly settle: (answer: TemplateAnswer) => void
}

interface Thread {
  readonly worker: Worker
  isReady: boolean
  idleTimer: NodeJS.Timeout | undefined
  current: QueuedTask | undefined
  deadline: NodeJS.Timeout | undefined
}

/** Numbers that keep their digits are printed as texts: no other form of them reaches a thread. */
const withTexts = (task: TemplateTask): TemplateTask =>
  task.kind === "render" ? { ...task, data: toTexts(task.data) as typeof task.data } : task

export const createRenderer = (): Renderer => {
  const threads = new Set<Thread>()
  let waiting: QueuedTask[] = []

  const finish = (thread: Thread, answer: TemplateAnswer) => {
    clearTimeout(thread.deadline)
    const { current } = thread
    thread.current = undefined
    current?.settle(answer)
  }

  /** From now on it is given nothing: a thread takes a moment to end. */
  const end = (thread: Thread) => {
    threads.delete(thread)
    return thread.worker.terminate()
  }

  /** The time that a thread takes to begin, which is long on a busy machine, is none of the template's. */
  const watch = (thread: Thread) => {
    if (!thread.isReady || !thread.current) return
    thread.deadline = setTimeout(end, TIMEOUT_MS[thread.current.task.kind], thread)
    thread.deadline.unref()
  }

  const start = (): Thread => {
    const worker = new Worker(WORKER, {
      name: "email-templates",
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX, stackSizeMb: 4 },
    })
    worker.unref()
    const none = { idleTimer: undefined, current: undefined, deadline: undefined }
    const thread: Thread = { worker, isReady: false, ...none }
    worker.on("message", (answer: TemplateAnswer | typeof READY) => {
      if (answer === READY) {
        thread.isReady = true
        return watch(thread)
      }
      finish(thread, answer)
      dispatch()
    })
    worker.on("error", () => undefined)
    worker.on("exit", () => {
      threads.delete(thread)
      finish(thread, { problem: "it takes too much time or memory" })
      dispatch()
    })
    threads.add(thread)
    return thread
  }

  const give = (thread: Thread, next: QueuedTask) => {
    clearTimeout(thread.idleTimer)
    thread.current = next
    watch(thread)
    thread.worker.postMessage(next.task)
  }

  /** The oldest of a tenant that has nothing running: slow templates hold up their own tenant's alone. */
  const dispatch = () => {
    for (;;) {
      const busy = new Set([...threads].map(({ current }) => current?.tenantId))
      const next = waiting.find(({ tenantId }) => !busy.has(tenantId))
      const free = [...threads].find(({ current }) => current === undefined)
      if (!next || (!free && threads.size >= THREADS_MAX)) break
      waiting = waiting.filter(entry => entry !== next)
      give(free ?? start(), next)
    }
    for (const thread of threads) {
      if (thread.current) continue
      clearTimeout(thread.idleTimer)
      thread.idleTimer = setTimeout(end, IDLE_MS, thread)
      thread.idleTimer.unref()
    }
  }

  return {
    async run<Task extends TemplateTask>(tenantId: string, task: Task) {
      if (waiting.length >= WAITING_MAX)
        throw fault("rate_limited", undefined, { headers: { "retry-after": "1" } })
      const answer = await new Promise<TemplateAnswer>(settle => {
        waiting.push({ tenantId, task: withTexts(task), settle })
        dispatch()
      })
      if ("problem" in answer)
        throw fault("invalid_parameter", { reason: `the template cannot be used: ${answer.problem}` })
      return answer.result as ResultOf[Task["kind"]]
    },
    async [Symbol.asyncDispose]() {
      waiting = []
      await Promise.all([...threads].map(end))
    },
  }
}
