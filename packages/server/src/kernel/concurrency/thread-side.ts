/** The side of a pool's thread. It imports nothing, so that a thread is ready soon. */
import { parentPort } from "node:worker_threads"

/** What a thread says first of all: from now on its time is that of its tasks. */
export const READY = "ready"

/** A thread says this once about each task. */
export type Answer<Result> =
  | { readonly result: Result }
  /** What is wrong with the task, for its author. */
  | { readonly problem: string }

/** `problemOf` says what is wrong with a task whose `perform` threw. */
export const answerTasks = <Task, Result>(
  perform: (task: Task) => Result | Promise<Result>,
  problemOf: (error: unknown) => string = error => (error instanceof Error ? error.message : String(error)),
): void => {
  parentPort?.on("message", async (task: Task) => {
    try {
      parentPort?.postMessage({ result: await perform(task) } satisfies Answer<Result>)
    } catch (error) {
      parentPort?.postMessage({ problem: problemOf(error) } satisfies Answer<Result>)
    }
  })
  parentPort?.postMessage(READY)
}
