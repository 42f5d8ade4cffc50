/** Runs the embedded engines, each loaded at its first use. A hostile text can break only this thread, which is then replaced. */
import { answerTasks } from "../../../kernel/concurrency/thread-side.ts"
import type { TextResults, TextTask } from "./tasks.ts"

const perform = async (task: TextTask): Promise<TextResults[TextTask["kind"]]> => {
  if (task.kind === "detect") return (await import("./language.ts")).detectLanguage(task.text)
  if (task.kind === "sentiment") return (await import("./sentiment.ts")).sentimentOf(task.text)
  if (task.kind === "bm25") return (await import("./bm25.ts")).bm25(task.query, task.texts)
  if (task.kind === "complete") return (await import("./autocomplete.ts")).complete(task)
  return (await import("./summary.ts")).summarize(task.text, task.limits)
}

answerTasks(perform)
