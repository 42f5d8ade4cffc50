/** What retrieval does for other areas. */
import type { Db } from "../../kernel/db/database.ts"
import type { Embedder } from "./embedder.ts"
import type { PassageFinder } from "./offers.ts"
import { findMatches } from "./query.ts"
import { readInThread } from "./reading/reader.ts"
import { sniff } from "./reading/sniff.ts"
import { UnreadableFile } from "./reading/text-blocks.ts"

export const createPassageFinder = (db: Db, embedder: Embedder): PassageFinder => ({
  async find(projectId, query, limit) {
    const { matches } = await findMatches({ db, projectId, embedder }, { query, top_k: limit })
    return matches.map(({ doc_id, document, text }) => ({ documentId: doc_id, document, text }))
  },

  async read(bytes, name, contentType, signal) {
    const format = sniff(Buffer.from(bytes), name, contentType)
    if (typeof format !== "string") return { problem: format.problem }
    try {
      const { chunks } = await readInThread(bytes, format, signal)
      return { passages: chunks.map(({ text }) => text) }
    } catch (error) {
      if (error instanceof UnreadableFile) return { problem: error.message }
      throw error
    }
  },
})
