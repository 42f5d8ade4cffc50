/** Makes documents of what users wrote. What they can break is this thread, and it is replaced. */
import { DOCUMENT_FILE_BYTES_MAX } from "@svc/contract"
import { answerTasks } from "../../../kernel/concurrency/thread-side.ts"
import { renderDocument } from "../formats/render.ts"
import { type ComposedDocument, DocumentProblem, type DocumentTask } from "./blocks.ts"
import { composeDocument, countWords } from "./compose.ts"

const TREE_LENGTH_MAX = 4 * 1024 * 1024

const treeOf = (task: DocumentTask) => {
  if (task.kind === "render") return task.tree
  const tree = composeDocument(task.source, task.earlierEdits)
  if (JSON.stringify(tree).length > TREE_LENGTH_MAX) throw new DocumentProblem("it becomes too large")
  return tree
}

const perform = async (task: DocumentTask): Promise<ComposedDocument> => {
  const tree = treeOf(task)
  const bytes = await renderDocument(tree, task.format, task.createdAt)
  if (bytes.byteLength > DOCUMENT_FILE_BYTES_MAX) throw new DocumentProblem("its file becomes too large")
  return { tree, words: countWords(tree.blocks), bytes }
}

const PROBLEM_LENGTH_MAX = 300

const problemOf = (error: unknown): string => {
  if (error instanceof RangeError) return "it is nested too deeply or too large"
  const message = error instanceof Error ? error.message : String(error)
  return (error instanceof DocumentProblem ? message : `it cannot be made: ${message}`)
    .slice(0, PROBLEM_LENGTH_MAX)
    .toWellFormed()
}

answerTasks(perform, problemOf)
