/**
 * Threads for work that takes processor time: started on first use, ended when nobody needs them, replaced when a task takes
 * too much time or memory. A thread has one task at a time. Its file calls `answerTasks`.
 */
import { Worker } from "node:worker_threads"
import { fault } from "../fault.ts"
import { type Answer, READY } from "./thread-side.ts"

export interface ThreadPool<Task, Result> extends AsyncDisposable {
  /** Throws `invalid_parameter` with what is wrong with the task, and `rate_limited` where too many wait. */
  run(tenantId: string, task: Task): Promise<Result>
}

export interface ThreadPoolOptions<Task> {
  readonly name: string
  readonly file: URL
  readonly threadsMax: number
  readonly memoryMb: number
  readonly idleMs: number
  /** Begins the reason of a task's failure, for its author: "the template cannot be used". */
  readonly refusal: string
  /** Counted from when the thread is ready. */
  timeoutMs(task: Task): number
}

const WAITING_MAX = 1_000
const STACK_MB = 4
/** What a task is answered that the pool ended before. */
const CLOSED = "closed"
const STOPPING = "the server is shutting down"

interface QueuedTask<Task, Result> {
  readonly tenantId: string
  readonly task: Task
  readonly settle: (answer: Answer<Result> | typeof CLOSED) => void
}

interface Thread<Task, Result> {
  readonly worker: Worker
  isReady: boolean
  idleTimer: NodeJS.Timeout | undefined
  current: QueuedTask<Task, Result> | undefined
  deadline: NodeJS.Timeout | undefined
}

export const createThreadPool = <Task, Result>(
  options: ThreadPoolOptions<Task>,
): ThreadPool<Task, Result> => {
  const { name, file, threadsMax, memoryMb, idleMs, refusal, timeoutMs } = options
  const threads = new Set<Thread<Task, Result>>()
  let waiting: QueuedTask<Task, Result>[] = []
  let isClosing = false

  const finish = (thread: Thread<Task, Result>, answer: Answer<Result> | typeof CLOSED) => {
    clearTimeout(thread.deadline)
    const { current } = thread
    thread.current = undefined
    current?.settle(answer)
  }

  /** From now on it is given nothing: a thread takes a moment to end. */
  const end = (thread: Thread<Task, Result>) => {
    threads.delete(thread)
    return thread.worker.terminate()
  }

  /** The time limit of a task does not count how long its thread takes to start, which is long on a busy machine. */
  const watch = (thread: Thread<Task, Result>) => {
    if (!thread.isReady || !thread.current) return
    thread.deadline = setTimeout(end, timeoutMs(thread.current.task), thread)
    thread.deadline.unref()
  }

  const start = (): Thread<Task, Result> => {
    const worker = new Worker(file, {
      name,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: STACK_MB },
    })
    worker.unref()
    const none = { idleTimer: undefined, current: undefined, deadline: undefined }
    const thread: Thread<Task, Result> = { worker, isReady: false, ...none }
    worker.on("message", (answer: Answer<Result> | typeof READY) => {
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
      finish(thread, isClosing ? CLOSED : { problem: "it takes too much time or memory" })
      dispatch()
    })
    threads.add(thread)
    return thread
  }

  const give = (thread: Thread<Task, Result>, next: QueuedTask<Task, Result>) => {
    clearTimeout(thread.idleTimer)
    thread.current = next
    watch(thread)
    thread.worker.postMessage(next.task)
  }

  /** The oldest of a tenant that has nothing running: slow tasks hold up their own tenant's alone. */
  const dispatch = () => {
    for (;;) {
      const busy = new Set([...threads].map(({ current }) => current?.tenantId))
      const next = waiting.find(({ tenantId }) => !busy.has(tenantId))
      const free = [...threads].find(({ current }) => current === undefined)
      if (!next || (!free && threads.size >= threadsMax)) break
      waiting = waiting.filter(entry => entry !== next)
      give(free ?? start(), next)
    }
    for (const thread of threads) {
      if (thread.current) continue
      clearTimeout(thread.idleTimer)
      thread.idleTimer = setTimeout(end, idleMs, thread)
      thread.idleTimer.unref()
    }
  }

  return {
    async run(tenantId, task) {
      if (isClosing) throw fault("service_unavailable", { reason: STOPPING })
      if (waiting.length >= WAITING_MAX)
        throw fault("rate_limited", undefined, { headers: { "retry-after": "1" } })
      const answer = await new Promise<Answer<Result> | typeof CLOSED>(settle => {
        waiting.push({ tenantId, task, settle })
        dispatch()
      })
      if (answer === CLOSED) throw fault("service_unavailable", { reason: STOPPING })
      if ("problem" in answer) throw fault("invalid_parameter", { reason: `${refusal}: ${answer.problem}` })
      return answer.result
    },
    async [Symbol.asyncDispose]() {
      isClosing = true
      for (const { settle } of waiting.splice(0)) settle(CLOSED)
      await Promise.all([...threads].map(end))
    },
  }
}
