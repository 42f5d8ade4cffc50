/** Valid inputs of the operations of documents, for the tests that hold for every operation. */
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"
import { shared } from "../../../testing/sample-world.ts"

const newDocument = async ({ key }: SampleWorld) => {
  const { id } = await key.aiDocuments.create({ format: "md", content: "# Offer\n\nApples." })
  return { doc_id: id }
}

/** For all that neither change nor remove it. */
const sharedDocument = shared(newDocument)

export const samples = {
  "aiDocuments.create": async () => ({ format: "md", content: "# Offer\n\nApples." }),
  "aiDocuments.preview": async () => ({ content: "# Offer\n\nApples." }),
  "aiDocuments.download": sharedDocument,
  "aiDocuments.versions": sharedDocument,
  "aiDocuments.revise": async world => ({
    document_id: (await newDocument(world)).doc_id,
    edits: [{ op: "find_replace", find: "Apples", text: "Pears" }],
  }),
  "aiDocuments.delete": newDocument,
} satisfies Readonly<Record<string, Sample>>
