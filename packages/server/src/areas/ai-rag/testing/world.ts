/** What the tests of retrieval share. */
import type { RagDocumentPayload } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"

export interface UploadOptions {
  readonly type?: string
  readonly name?: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

export const uploadBytes = (
  svc: Svc,
  fileName: string,
  bytes: Uint8Array<ArrayBuffer> | string,
  { type = "application/octet-stream", name, metadata }: UploadOptions = {},
): Promise<RagDocumentPayload> => {
  const form = new FormData()
  form.set("file", new Blob([bytes], { type }), fileName)
  if (name !== undefined) form.set("name", name)
  if (metadata !== undefined) form.set("metadata", JSON.stringify(metadata))
  return svc.rag.upload({}, { body: form })
}

/** The document once it is read, or failed. */
export const settled = async (svc: Svc, docId: string): Promise<RagDocumentPayload> =>
  await eventually(`document ${docId} is read`, async () => {
    const { data } = await svc.rag.documents({ limit: 200 })
    return data.find(({ doc_id, status }) => doc_id === docId && (status === "ready" || status === "failed"))
  })

/** Uploads and waits until it is read. */
export const ingested = async (...given: Parameters<typeof uploadBytes>): Promise<RagDocumentPayload> => {
  const { doc_id } = await uploadBytes(...given)
  return settled(given[0], doc_id)
}
