/** Valid inputs of the operations of retrieval, for the tests that hold for every operation. */
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"
import { uploadBytes } from "./world.ts"

let made = 0

const newDocument = async ({ key }: SampleWorld) => {
  made++
  const { doc_id } = await uploadBytes(key, `note-${made}.txt`, `Note ${made} of the samples.`)
  return { doc_id }
}

export const samples = {
  "rag.deleteDocument": newDocument,
} satisfies Readonly<Record<string, Sample>>

export const unsampled: Unsampled = {
  "rag.upload": "is a form; areas/ai-rag/rag.test.ts has it",
}
