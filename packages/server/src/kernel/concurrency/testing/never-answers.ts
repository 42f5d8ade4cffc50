/** A thread of a pool whose tasks never end. */
import { answerTasks } from "../thread-side.ts"

answerTasks(() => new Promise<never>(() => undefined))
